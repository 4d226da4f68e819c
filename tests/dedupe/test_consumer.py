"""Faust's consumer fetches nothing that it would drop, and goes back to nothing."""

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from faust.transport.consumer import RecordMap
from faust.types import TP, ConsumerMessage, Message
from mode import Service

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


class Reader:
    """Takes what the consumer hands on."""

    def __init__(self, there: Fetching, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken: list[int] = []
        self.there_is_room = asyncio.Event()
        self.there_is_room.set()
        there.consumer.callback = self.take
        there.consumer.app.consumer_generation_id = 1
        there.consumer.resume_flow()
        monkeypatch.setattr(there.consumer.app.topics, "acks_enabled_for", lambda _: True)

    async def take(self, message: Message) -> None:
        await self.there_is_room.wait()
        self.taken.append(message.offset)


def test_what_comes_behind_a_gap_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it is acknowledged, and not before; also behind offset 0."""

    async def test(there: Fetching) -> None:
        consumer, reader = there.consumer, Reader(there, monkeypatch)
        await consumer._hand_on(deque([(LAYERS, record(0)), (LAYERS, record(5))]))
        assert reader.taken == [0, 5]
        consumer._acked[LAYERS] = [0]
        assert consumer._new_offset(LAYERS) == 1
        consumer._committed_offset[LAYERS] = 1
        consumer._acked[LAYERS] = [5]
        assert consumer._new_offset(LAYERS) == 6

    run(tmp_path, test)


def test_what_was_handed_on_is_not_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(there: Fetching) -> None:
        reader = Reader(there, monkeypatch)
        there.consumer._read_offset[LAYERS] = 2
        await there.consumer._hand_on(deque((LAYERS, record(offset)) for offset in (0, 1, 2, 3)))
        assert reader.taken == [2, 3]

    run(tmp_path, test)


def test_a_record_for_which_there_is_no_room_is_given_up_when_partitions_change_hands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts as not read, and neither do those behind it."""

    async def test(there: Fetching) -> None:
        consumer, reader = there.consumer, Reader(there, monkeypatch)
        fetches = [[(LAYERS, record(offset)) for offset in range(3)]]

        async def getmany(*_: object, timeout: float) -> AsyncIterator[tuple[TP, Message]]:
            if not fetches:
                await asyncio.sleep(timeout)
            for entry in fetches.pop() if fetches else ():
                yield entry

        monkeypatch.setattr(consumer, "getmany", getmany)
        reader.there_is_room.clear()
        draining = asyncio.create_task(consumer._drain_messages(Service()))
        await asyncio.sleep(0.05)
        consumer.stop_flow()
        await asyncio.sleep(0.05)
        reader.there_is_room.set()
        await asyncio.sleep(0.05)
        assert reader.taken == []
        assert consumer._read_offset[LAYERS] is None
        draining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await draining

    run(tmp_path, test)


def test_a_large_record_waits_for_room_and_is_not_taken_where_partitions_changed_hands_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_HELD_BYTES", 30_000)

    async def test(there: Fetching) -> None:
        consumer, reader = there.consumer, Reader(there, monkeypatch)
        held = []

        async def take(message: Message) -> None:
            await reader.take(message)
            held.append(message)

        consumer.callback = take
        fetched: deque[tuple[TP, Message]] = deque(
            (LAYERS, record(offset, bytes(20_000))) for offset in range(3)
        )
        handing_on = asyncio.create_task(consumer._hand_on(fetched))
        await asyncio.sleep(0.05)
        assert reader.taken == [0], "there is no room"
        held.clear()
        await asyncio.sleep(0.05)
        assert reader.taken == [0, 1], "there is room for one"
        consumer.app.consumer_generation_id = 2
        held.clear()
        async with asyncio.timeout(5):
            await handing_on
        assert reader.taken == [0, 1]

    run(tmp_path, test)


@pytest.mark.parametrize("turns", range(8))
def test_what_is_handed_on_as_a_recovery_ends_is_not_cleared_away(
    turns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Faust resumes partitions, waits for some turns of the event loop, and empties the queues of
    agents. What they had by then would be lost: the next record that is done commits it.
    """

    async def test(there: Fetching) -> None:
        consumer, app = there.consumer, cast(Any, there.consumer.app)
        queue: asyncio.Queue[Message] = app.FlowControlQueue(0, clear_on_resume=True)
        consumer.callback = queue.put
        monkeypatch.setattr(consumer._thread, "assignment", lambda: {LAYERS})
        monkeypatch.setattr(app.topics, "acks_enabled_for", lambda _: True)
        monkeypatch.setattr(app._fetcher, "maybe_start", lambda: asyncio.sleep(0))
        fetched = [record(offset) for offset in range(3)]

        async def getmany(*_: object, timeout: float) -> AsyncIterator[tuple[TP, Message]]:
            await asyncio.sleep(0)
            while fetched and LAYERS in consumer._get_active_partitions():
                yield LAYERS, fetched.pop(0)

        monkeypatch.setattr(consumer, "getmany", getmany)
        app.consumer_generation_id = 1
        # Both for the records of the table, which are read by now.
        app.flow_control.resume()
        consumer.resume_flow()
        draining = asyncio.create_task(consumer._drain_messages(Service()))
        for _ in range(turns):
            await asyncio.sleep(0)
        assert len(fetched) == 3
        await app.tables.recovery.on_recovery_completed(1)
        async with asyncio.timeout(5):
            assert [(await queue.get()).offset for _ in range(3)] == [0, 1, 2]
        draining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await draining

    run(tmp_path, test)


def test_partitions_that_are_paused_again_do_not_come_with_the_flow(tmp_path: Path) -> None:
    """Where they change hands before that."""

    async def test(there: Fetching) -> None:
        consumer = there.consumer
        consumer.pause_partitions({OWNERS})
        consumer.resume_partitions({LAYERS, OWNERS})
        consumer.pause_partitions({LAYERS})
        consumer.resume_flow()
        assert LAYERS not in consumer._get_active_partitions()

    run(tmp_path, test)


def record(offset: int, value: bytes = b"layer") -> ConsumerMessage:
    """As fetched in the first generation."""
    return ConsumerMessage(
        *("layers", 0, offset, 0.0, 0, [], b"key", value, None),
        tp=LAYERS,
        generation_id=1,
    )
