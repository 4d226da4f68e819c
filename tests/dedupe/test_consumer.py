"""Faust's consumer fetches nothing that it would drop, and goes back to nothing."""

import asyncio
from asyncio import Future
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from faust.transport.consumer import Consumer, RecordMap
from faust.types import TP, ConsumerMessage

from benanza_backbone.kafka.connection import KafkaConnection
from benanza_dedupe import consumer as module
from benanza_dedupe.agent import create_app
from benanza_dedupe.consumer import PatientConsumer

LAYERS, OWNERS = TP("layers", 0), TP("dedupe-owners", 0)


class Fetcher:
    """What Faust uses of aiokafka's, with records of both partitions."""

    _closed = False
    _subscriptions = SimpleNamespace(fetch_context=nullcontext)

    def __init__(self) -> None:
        self.arrived: dict[TP, list[str]] = {}
        self.waiter: Future[None] = Future()

    def _create_fetch_waiter(self) -> Future[None]:
        return self.waiter

    async def fetched_records(
        self, partitions: set[TP], timeout: float = 0, max_records: int | None = None
    ) -> dict[TP, list[str]]:
        """As aiokafka's: no partitions are all of them."""
        if not self.arrived and timeout:
            await asyncio.wait((self.waiter,), timeout=timeout)
        return {at: self.arrived.pop(at) for at in partitions or [*self.arrived] if self.arrived}

    def arrive(self) -> None:
        self.arrived = {LAYERS: ["layer"], OWNERS: ["owner"]}
        self.waiter.set_result(None)


class Fetching:
    """A consumer at work that has asked for records of the table, of which none is there yet."""

    def __init__(self, folder: Path) -> None:
        app = create_app(KafkaConnection(bootstrap=("127.0.0.1:1",)), folder)
        app.finalize()
        self.consumer = cast(PatientConsumer, app.consumer)
        self.fetcher = Fetcher()
        self.subscription = SimpleNamespace(reassignment_in_progress=False)
        self._kafka = SimpleNamespace(
            _fetcher=self.fetcher, _subscription=self.subscription, _closed=False
        )
        self.consumer._set_active_tps({LAYERS, OWNERS})
        self.consumer.pause_partitions({LAYERS})

    async def fetched(self, meanwhile: Callable[[], object]) -> RecordMap:
        """What is fetched where this happens before the records come."""
        active = self.consumer._get_active_partitions()
        asked = asyncio.create_task(
            self.consumer._thread._fetch_records(self._kafka, active, 5.0, 1000)
        )
        await asyncio.sleep(0)
        meanwhile()
        self.fetcher.arrive()
        async with asyncio.timeout(5):
            return await asked


def run(folder: Path, test: Callable[[Fetching], Coroutine[Any, Any, None]]) -> None:
    async def made() -> None:
        await test(Fetching(folder))

    asyncio.run(made())


def test_what_is_active_is_fetched_as_it_comes(tmp_path: Path) -> None:
    async def test(there: Fetching) -> None:
        assert await there.fetched(lambda: None) == {OWNERS: ["owner"]}

    run(tmp_path, test)


def test_where_all_is_paused_meanwhile_nothing_is_fetched(tmp_path: Path) -> None:
    """aiokafka would give all that it has, Faust would drop it, and nobody would go back."""

    async def test(there: Fetching) -> None:
        assert not await there.fetched(lambda: there.consumer.pause_partitions({OWNERS}))
        assert there.fetcher.arrived

    run(tmp_path, test)


def test_while_partitions_change_hands_nothing_is_fetched(tmp_path: Path) -> None:
    async def test(there: Fetching) -> None:
        change = {"reassignment_in_progress": True}
        assert not await there.fetched(lambda: there.subscription.__dict__.update(change))
        assert there.fetcher.arrived

    run(tmp_path, test)


def test_an_assignment_begins_anew_and_waits_for_the_table(tmp_path: Path) -> None:
    """An offset that was noted late would make Faust drop what comes before it."""

    async def test(there: Fetching) -> None:
        consumer = there.consumer
        consumer._read_offset[LAYERS] = consumer._committed_offset[LAYERS] = 50
        consumer._acked[LAYERS] = [50]
        consumer._acked_index[LAYERS] = {50}
        assigned: list[set[TP]] = []

        async def note(partitions: set[TP], *_: int) -> None:
            assigned.append(partitions)

        consumer._on_partitions_assigned = note
        await consumer.on_partitions_assigned({LAYERS, OWNERS}, 2)
        assert assigned == [{LAYERS, OWNERS}]
        assert not consumer.flow_active
        assert consumer._read_offset[LAYERS] is consumer._committed_offset[LAYERS] is None
        assert (consumer._acked[LAYERS], consumer._acked_index[LAYERS]) == ([], set())

    run(tmp_path, test)


def test_it_does_not_go_back(tmp_path: Path) -> None:
    """Records on their way would count as behind a gap, and be committed with what is in it."""

    async def test(there: Fetching) -> None:
        there.consumer._read_offset[LAYERS] = 50
        await there.consumer.perform_seek()
        assert there.consumer._read_offset[LAYERS] == 50

    run(tmp_path, test)


class Producer:
    """Has something on its way."""

    failure: BaseException | None = None

    def __init__(self) -> None:
        self.durable = asyncio.Event()

    async def flush(self) -> None:
        await self.durable.wait()


@pytest.mark.parametrize("failure", [None, ConnectionError("the broker is away")])
def test_what_is_acknowledged_is_committed_once_all_that_was_sent_is_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException | None
) -> None:
    committed: list[object] = []

    async def commit(offsets: object) -> bool:
        committed.append(offsets)
        return True

    async def test(there: Fetching) -> None:
        consumer, producer = there.consumer, Producer()
        there.consumer.app.producer = producer  # type: ignore[misc, assignment]  # has all it needs
        monkeypatch.setattr(consumer._thread, "assignment", lambda: {LAYERS})
        monkeypatch.setattr(consumer._thread, "commit", commit)
        consumer._acked[LAYERS] = [3]
        commits = asyncio.create_task(consumer.commit())
        await asyncio.sleep(0.01)
        assert not committed
        producer.failure = failure
        producer.durable.set()
        async with asyncio.timeout(5):
            await commits
        assert committed == ([] if failure else [{LAYERS: 4}])
        assert consumer.crash_reason is failure

    run(tmp_path, test)


def test_what_comes_behind_a_gap_after_the_first_record_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def getmany(*_: object) -> AsyncIterator[tuple[TP, ConsumerMessage]]:
        yield LAYERS, large(5)

    monkeypatch.setattr(Consumer, "getmany", getmany)

    async def test(there: Fetching) -> None:
        consumer = there.consumer
        consumer._read_offset[LAYERS] = 0
        consumer._acked[LAYERS] = [0]
        [_ async for _ in consumer.getmany(1.0)]
        consumer._acked[LAYERS] += [5]
        assert consumer._new_offset(LAYERS) == 6

    run(tmp_path, test)


def test_a_large_record_that_waited_while_partitions_changed_hands_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_HELD_BYTES", 30_000)

    async def test(there: Fetching) -> None:
        consumer, app = there.consumer, there.consumer.app
        monkeypatch.setattr(app.topics, "acks_enabled_for", lambda _: True)
        app.consumer_generation_id = 1

        async def getmany(*_: object) -> AsyncIterator[tuple[TP, ConsumerMessage]]:
            for offset in range(3):
                yield LAYERS, large(offset)

        monkeypatch.setattr(Consumer, "getmany", getmany)
        taken = consumer.getmany(1.0)
        held = [await anext(taken)]
        waits = asyncio.ensure_future(anext(taken, None))
        await asyncio.sleep(0.05)
        assert not waits.done(), "there is no room"
        app.consumer_generation_id = 2
        held.clear()
        async with asyncio.timeout(5):
            assert await waits is None

    run(tmp_path, test)


def large(offset: int) -> ConsumerMessage:
    """As fetched in the first generation."""
    return ConsumerMessage(
        *("layers", 0, offset, 0.0, 0, [], b"key", bytes(20_000), None),
        tp=LAYERS,
        generation_id=1,
    )
