"""The agent in Faust's own test harness: a real RocksDB table, and a producer that records."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import faust
import pytest

from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.service.circuit_breaker import MAX_IN_A_ROW, CircuitOpenError
from benanza_backbone.telemetry import REGISTRY
from benanza_dedupe.agent import DedupeAgent, create_app
from benanza_dedupe.owners import OwnersTableError
from benanza_schemas.codec import decode, encode
from benanza_schemas.events import (
    AnyEvent,
    BenchmarkRequested,
    DeadLetter,
    LayerKnown,
    LayerSeen,
    event_id,
)
from benanza_schemas.topics import DEDUPE_OWNERS
from tests.chaos.machine import Disk, disks_refused
from tests.dedupe.recording_producer import RecordingProducer
from tests.dedupe.test_core import chain, seen
from tests.schemas.samples import EVENTS

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
CONNECTION = KafkaConnection(bootstrap=("127.0.0.1:1",), prefix="test.")
RELU, TANH = chain(("Relu",), 8), chain(("Tanh",), 8)


def processed_ever() -> float:
    """How many events of the topic `layers` are done in this process."""
    return REGISTRY.get_sample_value("benanza_records_consumed_total", {"topic": "layers"}) or 0.0


class Harness:
    """The agent under test, and what becomes of the records put into it."""

    def __init__(self, app: faust.App, dedupe: DedupeAgent, failures: list[BaseException]) -> None:
        self.app = app
        self.dedupe = dedupe
        self.failures = failures
        self.producer = RecordingProducer()
        app.producer = self.producer  # type: ignore[assignment]  # has what Faust calls here
        self._agent: Any = None
        self._processed_before = processed_ever()

    def processed(self) -> float:
        """How many events are done."""
        return processed_ever() - self._processed_before

    async def put(self, value: bytes | None, key: bytes | None = b"key") -> faust.Event:
        """The next record of the topic `layers`, after the agent had it."""
        event: faust.Event = await self._agent.put(value, key=key)
        for _ in range(5):
            await asyncio.sleep(0)
        return event

    def written(self, topic: str) -> list[AnyEvent]:
        """The events sent to a topic."""
        return [decode(m.value) for m in self.producer.sent if m.topic == f"test.{topic}"]

    def owners(self) -> dict[bytes, bytes]:
        """What was sent to the changelog, the last for each key."""
        changes = [m for m in self.producer.sent if m.topic == f"test.{DEDUPE_OWNERS}"]
        return {change.key: change.value for change in changes}

    @asynccontextmanager
    async def started(self) -> AsyncIterator["Harness"]:
        """The agent at work."""
        async with self.dedupe.agent.test_context() as self._agent:
            yield self


@asynccontextmanager
async def harness(folder: Path) -> AsyncIterator[Harness]:
    """A new agent over the table in this folder."""
    failures: list[BaseException] = []
    app = create_app(CONNECTION, folder)
    app.finalize()
    dedupe = DedupeAgent(app, CONNECTION, lambda: NOON, failures.append)
    async with Harness(app, dedupe, failures).started() as started:
        yield started
    # Gives up the lock on the folder, as the end of a process does.
    for table in app.tables.values():
        await table.data.stop()


def run(folder: Path, test: Callable[[Harness], Coroutine[Any, Any, None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60), harness(folder) as started:
            await test(started)

    asyncio.run(limited())


def test_a_new_layer_becomes_a_job_and_has_an_owner(tmp_path: Path) -> None:
    first, second = seen(RELU, "alexnet"), seen(RELU, "vgg19")

    async def test(dedupe: Harness) -> None:
        taken = [await dedupe.put(encode(event)) for event in (first, second)]
        (job,) = dedupe.written("jobs")
        assert isinstance(job, BenchmarkRequested)
        assert job.layer == RELU
        assert dedupe.owners() == {first.fingerprint.encode(): first.event_id.encode()}
        assert [event.message.acked for event in taken] == [True, True]

    run(tmp_path, test)


def test_what_is_read_is_never_unpickled(tmp_path: Path) -> None:
    """Faust can do so, by codecs that are named for an app, a topic or a table."""

    async def test(dedupe: Harness) -> None:
        (table,) = dedupe.app.tables.values()
        for each in (table, table.changelog_topic):
            assert (each.key_serializer, each.value_serializer) == ("raw", "raw")
        conf = dedupe.app.conf
        assert (conf.key_serializer, conf.value_serializer) == ("raw", "json")

    run(tmp_path, test)


def test_the_same_event_again_gives_the_same_job_again(tmp_path: Path) -> None:
    async def test(dedupe: Harness) -> None:
        for _ in range(2):
            await dedupe.put(encode(seen(RELU, "alexnet")))
        first, second = dedupe.written("jobs")
        assert first == second

    run(tmp_path, test)


def test_the_event_in_work_is_told_once(tmp_path: Path) -> None:
    async def test(dedupe: Harness) -> None:
        dedupe.producer.held = True
        for name in ("alexnet", "vgg19"):
            event = await dedupe.put(encode(seen(RELU, name)))
        (begun,) = dedupe.dedupe.begun()
        assert begun.offset == event.message.offset
        assert begun.timestamp == datetime.fromtimestamp(event.message.timestamp, UTC)
        assert dedupe.dedupe.begun() == []
        dedupe.producer.release()

    run(tmp_path, test)


def test_an_event_that_comes_after_a_failure_is_left(tmp_path: Path) -> None:
    async def test(dedupe: Harness) -> None:
        dedupe.dedupe._fail(ConnectionError("the broker is away"))
        event = await dedupe.put(encode(seen(RELU, "alexnet")))
        assert event.message.acked, "else a stop waits for it"
        assert dedupe.processed() == 0
        assert dedupe.written("jobs") == []

    run(tmp_path, test)


def test_what_is_on_disk_is_known_to_the_next_process(tmp_path: Path) -> None:
    """As after a kill, also one before the job: its own event gives it again, others nothing."""

    async def first(dedupe: Harness) -> None:
        dedupe.producer.held = True
        await dedupe.put(encode(seen(RELU, "alexnet")))

    async def second(dedupe: Harness) -> None:
        await dedupe.put(encode(seen(RELU, "vgg19")))
        assert dedupe.written("jobs") == []
        await dedupe.put(encode(seen(RELU, "alexnet")))
        assert len(dedupe.written("jobs")) == 1

    run(tmp_path, first)
    run(tmp_path, second)


def test_a_producer_that_refuses_stops_the_service_and_leaves_the_event(tmp_path: Path) -> None:
    async def refuse(*_: object, **__: object) -> Any:
        raise ConnectionError("no broker")

    async def test(dedupe: Harness) -> None:
        dedupe.producer.send = refuse  # type: ignore[method-assign]  # a broker that is away
        event = await dedupe.put(encode(seen(RELU, "alexnet")))
        assert [str(error) for error in dedupe.failures] == ["no broker"]
        assert dedupe.processed() == 0
        assert event.message.acked, "else a stop waits for it"

    run(tmp_path, test)


def test_a_full_disk_stops_the_service_and_leaves_the_event(tmp_path: Path) -> None:
    if refused := disks_refused():
        pytest.skip(refused)

    async def test(dedupe: Harness) -> None:
        await dedupe.put(encode(seen(RELU, "alexnet")))
        disk.fill()
        size = 8
        # Some fit into the last page.
        while not dedupe.failures and size < 1000:
            await dedupe.put(encode(seen(chain(("Tanh",), size), "alexnet")))
            size += 1
        disk.free()
        (failure,) = dedupe.failures
        assert isinstance(failure, OwnersTableError)
        assert "No space left on device" in str(failure)
        # The last is among them or not: by what still fits, an owner or how far its changelog is.
        assert not dedupe.written("dead-letters")
        assert dedupe.processed() == len(dedupe.written("jobs"))

    (tmp_path / "disk").mkdir()
    with Disk(tmp_path / "disk") as disk:
        run(tmp_path / "disk", test)


def test_a_layer_known_from_elsewhere_needs_no_job(tmp_path: Path) -> None:
    relu = seen(RELU, "alexnet")
    known = LayerKnown(event_id=event_id("LayerKnown", "x"), fingerprint=relu.fingerprint)

    async def test(dedupe: Harness) -> None:
        taken = [await dedupe.put(encode(event)) for event in (known, relu)]
        assert dedupe.written("jobs") == []
        assert dedupe.owners() == {relu.fingerprint.encode(): known.event_id.encode()}
        assert [event.message.acked for event in taken] == [True, True]

    run(tmp_path, test)


def forged() -> bytes:
    """The fingerprint of another layer than its own."""
    relu, tanh = seen(RELU, "m"), seen(TANH, "m")
    return encode(
        LayerSeen(
            event_id=event_id("LayerSeen", "forged"),
            fingerprint=relu.fingerprint,
            layer=tanh.layer,
            model_id=tanh.model_id,
        )
    )


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"\xc1 no event", "not MessagePack"),
        (b"", "not MessagePack"),
        (None, "not MessagePack"),
        (encode(EVENTS[0]), "dedupe takes no ModelPublished"),
        (forged(), "Tanh has the fingerprint"),
    ],
    ids=["garbage", "empty", "tombstone", "another event", "forged"],
)
@pytest.mark.parametrize("key", [b"some key", None])
def test_what_is_no_layer_goes_to_the_dead_letters_and_the_stream_goes_on(
    tmp_path: Path, value: bytes | None, reason: str, key: bytes | None
) -> None:
    async def test(dedupe: Harness) -> None:
        bad = await dedupe.put(value, key)
        await dedupe.put(encode(seen(RELU, "alexnet")))
        (letter,) = dedupe.written("dead-letters")
        assert isinstance(letter, DeadLetter)
        assert letter.reason.startswith(reason)
        assert (letter.value, letter.key) == (value or b"", key or b"")
        assert (letter.topic, letter.service, letter.failed_at) == ("layers", "dedupe", NOON)
        assert bad.message.acked
        assert len(dedupe.written("jobs")) == 1
        assert not dedupe.failures

    run(tmp_path, test)


def test_poison_in_a_row_stops_the_service_with_all_of_it_in_the_dead_letters(
    tmp_path: Path,
) -> None:
    async def test(dedupe: Harness) -> None:
        for _ in range(MAX_IN_A_ROW + 5):
            await dedupe.put(b"\xc1")
        assert [type(error) for error in dedupe.failures] == [CircuitOpenError]
        assert dedupe.processed() == MAX_IN_A_ROW + 1
        assert len(dedupe.written("dead-letters")) == MAX_IN_A_ROW + 1

    run(tmp_path, test)
