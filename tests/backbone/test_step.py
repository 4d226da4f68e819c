"""The shell of a service: it loses nothing, repeats under the same ids, and is not stopped."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log import EventLog, Message, Partition
from benanza_backbone.sqlite_log import SqliteEventLog
from benanza_backbone.step import MAX_DEAD_LETTERS_IN_A_ROW, Step, as_message
from benanza_schemas.codec import decode
from benanza_schemas.events import (
    AnyEvent,
    BenchmarkRequested,
    DeadLetter,
    LayerSeen,
    ModelPublished,
    event_id,
)
from benanza_schemas.identity import canonical, fingerprint
from benanza_schemas.layer import Layer, Operator, Tensor
from benanza_schemas.topics import DEAD_LETTERS, JOBS, LAYERS

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def relu(size: int) -> LayerSeen:
    layer = canonical(
        Layer(
            tensors=(Tensor(dtype="float32", shape=(size,)),) * 2,
            operators=(Operator("Relu", "", 14, (), (0,), (1,)),),
            outputs=(1,),
        )
    )
    return LayerSeen(
        event_id=event_id("LayerSeen", str(size)),
        fingerprint=fingerprint(layer),
        layer=layer,
        model_id=event_id("model"),
    )


def job(event: LayerSeen) -> list[AnyEvent]:
    return [
        BenchmarkRequested(
            event_id=event_id("BenchmarkRequested", event.fingerprint),
            fingerprint=event.fingerprint,
            layer=event.layer,
        )
    ]


def refuse_even(event: LayerSeen) -> list[AnyEvent]:
    if event.layer.tensors[0].shape[0] % 2 == 0:
        raise ValueError("an even number")
    return job(event)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with SqliteEventLog(tmp_path / "events.sqlite") as opened:
        yield opened


def step(log: EventLog, handle: object = job) -> Step:
    assert callable(handle)
    return Step(log, "dedupe", [LAYERS], LayerSeen, handle, lambda: NOW)


def written(log: EventLog, topic: str) -> list[AnyEvent]:
    return [decode(r.value) for r in log.read(Partition(topic, 0), 0, 10_000)]


def publish(log: EventLog, events: Sequence[AnyEvent]) -> None:
    log.append([as_message(event) for event in events])


def test_what_the_core_returns_is_written_in_order(log: EventLog) -> None:
    events = [relu(size) for size in (1, 2, 3)]
    publish(log, events)
    with step(log) as dedupe:
        assert dedupe.waiting() == 3
        assert dedupe.turn(limit=2) == 2
        assert dedupe.waiting() == 1
        assert dedupe.turn(limit=2) == 1
        assert dedupe.turn(limit=2) == 0
    assert written(log, JOBS) == [job(event)[0] for event in events]


def test_what_is_committed_is_not_processed_again(log: EventLog) -> None:
    publish(log, [relu(1)])
    for _ in range(2):
        with step(log) as dedupe:
            dedupe.turn(limit=10)
    assert len(written(log, JOBS)) == 1


def test_a_stop_in_the_middle_of_a_batch_loses_nothing(log: EventLog) -> None:
    publish(log, [relu(1), relu(2)])

    def stopped_at_the_second(event: LayerSeen) -> list[AnyEvent]:
        if event == relu(2):
            raise KeyboardInterrupt
        return job(event)

    with step(log, stopped_at_the_second) as dedupe, pytest.raises(KeyboardInterrupt):
        dedupe.turn(limit=10)
    with step(log) as dedupe:
        dedupe.turn(limit=10)
    assert written(log, JOBS) == [*job(relu(1)), *job(relu(2))]


def test_a_stop_between_write_and_commit_repeats_the_same_events(log: EventLog) -> None:
    publish(log, [relu(1)])
    dedupe = step(log)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dedupe._consumer, "commit", interrupt)
        with pytest.raises(KeyboardInterrupt):
            dedupe.turn(limit=10)
    dedupe.close()
    with step(log) as again:
        again.turn(limit=10)
    assert written(log, JOBS) == [*job(relu(1)), *job(relu(1))]


def interrupt() -> None:
    raise KeyboardInterrupt


def test_an_event_that_makes_the_core_raise_becomes_a_dead_letter(log: EventLog) -> None:
    publish(log, [relu(1), relu(2), relu(3)])
    with step(log, refuse_even) as dedupe:
        dedupe.turn(limit=10)
    assert written(log, JOBS) == [*job(relu(1)), *job(relu(3))]
    (letter,) = written(log, DEAD_LETTERS)
    assert isinstance(letter, DeadLetter)
    assert letter.reason == "an even number"
    assert letter.service == "dedupe"
    assert letter.topic == LAYERS
    assert decode(letter.value) == relu(2)
    assert letter.key == relu(2).fingerprint.encode()
    assert letter.failed_at == NOW


def test_a_defect_is_logged_with_where_it_arose(
    log: EventLog, caplog: pytest.LogCaptureFixture
) -> None:
    publish(log, [relu(0), relu(1)])
    with step(log, lambda event: [1 / event.layer.tensors[0].shape[0]]) as dedupe:
        dedupe.turn(limit=1)
    (entry,) = caplog.records
    assert entry.levelname == "ERROR"
    assert entry.exc_info
    assert entry.getMessage() == "dedupe could not process an event: division by zero"
    caplog.clear()
    with step(log, refuse_all) as dedupe:
        dedupe.turn(limit=1)
    (entry,) = caplog.records
    assert entry.levelname == "WARNING"
    assert not entry.exc_info


def refuse_all(event: LayerSeen) -> list[AnyEvent]:
    raise BenanzaError("not today")


def test_what_stops_the_step_leaves_the_event_for_the_next_one(log: EventLog) -> None:
    publish(log, [relu(1)])
    with (
        Step(log, "dedupe", [LAYERS], LayerSeen, refuse_all, clock, stops_on=(BenanzaError,)) as s,
        pytest.raises(BenanzaError, match="not today"),
    ):
        s.turn(limit=10)
    assert written(log, DEAD_LETTERS) == []
    with step(log) as dedupe:
        dedupe.turn(limit=10)
    assert written(log, JOBS) == job(relu(1))


def test_what_was_taken_in_is_flushed_before_it_is_committed(log: EventLog) -> None:
    publish(log, [relu(1), relu(2)])
    taken: list[LayerSeen] = []
    flushed: list[list[LayerSeen]] = []

    def take(event: LayerSeen) -> list[AnyEvent]:
        taken.append(event)
        return []

    with (
        Step(log, "store", [LAYERS], LayerSeen, take, clock, flush=interrupt) as store,
        pytest.raises(KeyboardInterrupt),
    ):
        store.turn(limit=10)
    taken.clear()

    def flush() -> None:
        flushed.append(list(taken))

    with Step(log, "store", [LAYERS], LayerSeen, take, clock, flush=flush) as store:
        store.turn(limit=10)
        assert flushed == [[relu(1), relu(2)]]
        store.turn(limit=10)
    assert len(flushed) == 1


def clock() -> datetime:
    return NOW


def test_bytes_that_are_no_event_become_a_dead_letter(log: EventLog) -> None:
    log.append([Message(LAYERS, b"key", b"\xc1 no event")])
    with step(log) as dedupe:
        assert dedupe.turn(limit=10) == 1
    (letter,) = written(log, DEAD_LETTERS)
    assert isinstance(letter, DeadLetter)
    assert letter.value == b"\xc1 no event"
    assert "not MessagePack" in letter.reason


def test_an_event_too_large_to_keep_becomes_a_dead_letter_all_the_same(log: EventLog) -> None:
    log.append([Message(LAYERS, b"k" * 200_000, bytes(17_000_000))])
    with step(log) as dedupe:
        dedupe.turn(limit=10)
    (letter,) = written(log, DEAD_LETTERS)
    assert isinstance(letter, DeadLetter)
    assert "17,000,000 bytes" in letter.reason


def test_an_event_of_another_kind_becomes_a_dead_letter(log: EventLog) -> None:
    stray = ModelPublished(event_id=event_id("stray"), name="m", sha256="0" * 64)
    log.append([Message(LAYERS, b"", as_message(stray).value)])
    with step(log) as dedupe:
        dedupe.turn(limit=10)
    (letter,) = written(log, DEAD_LETTERS)
    assert isinstance(letter, DeadLetter)
    assert letter.reason == "dedupe takes no ModelPublished"


def test_too_many_dead_letters_in_a_row_stop_the_service(log: EventLog) -> None:
    count = MAX_DEAD_LETTERS_IN_A_ROW + 1
    log.append([Message(LAYERS, b"", b"no event")] * count)
    with step(log) as dedupe, pytest.raises(BenanzaError, match="none of the last 1,001 events"):
        dedupe.turn(limit=count)
    assert len(written(log, DEAD_LETTERS)) == count
