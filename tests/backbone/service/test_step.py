"""The shell of a service: it loses nothing, repeats under the same ids, and is not stopped."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgpack
import pytest

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Consumer, EventLog, Message, Partition
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.circuit_breaker import MAX_IN_A_ROW, CircuitOpenError
from benanza_backbone.service.processor import Refused, as_message
from benanza_backbone.service.step import Offsets, Step
from benanza_backbone.telemetry import REGISTRY
from benanza_schemas.codec import decode, encode
from benanza_schemas.consumer_groups import ConsumerGroup
from benanza_schemas.events import (
    SCHEMA_VERSION,
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
    return Step(log, ConsumerGroup("dedupe", (LAYERS,)), LayerSeen, handle, lambda: NOW)


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


def test_a_chosen_record_is_processed_and_the_group_goes_on_as_before(log: EventLog) -> None:
    publish(log, [relu(1), relu(2), relu(3)])
    _, second, third = log.records(LAYERS)
    with step(log, refuse_even) as dedupe:
        dedupe.process(third)
        dedupe.process(second)
    assert written(log, JOBS) == job(relu(3))
    assert len(written(log, DEAD_LETTERS)) == 1
    with step(log) as dedupe:
        dedupe.turn(limit=1)
    assert written(log, JOBS) == [*job(relu(3)), *job(relu(1))]


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
        Step(
            log,
            ConsumerGroup("dedupe", (LAYERS,)),
            LayerSeen,
            refuse_all,
            clock,
            stops_on=(BenanzaError,),
        ) as s,
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
    flushed: list[tuple[list[LayerSeen], Offsets]] = []

    def take(event: LayerSeen) -> list[AnyEvent]:
        taken.append(event)
        return []

    def stopped(offsets: Offsets) -> Refused:
        raise KeyboardInterrupt

    with (
        Step(
            log, ConsumerGroup("store", (LAYERS,)), LayerSeen, take, clock, flush=stopped
        ) as store,
        pytest.raises(KeyboardInterrupt),
    ):
        store.turn(limit=10)
    taken.clear()

    def flush(offsets: Offsets) -> Refused:
        flushed.append((list(taken), offsets))
        return {}

    with Step(log, ConsumerGroup("store", (LAYERS,)), LayerSeen, take, clock, flush=flush) as store:
        store.turn(limit=10)
        assert flushed == [([relu(1), relu(2)], log.end_offsets(LAYERS))]
        store.turn(limit=10)
    assert len(flushed) == 1


def test_what_cannot_be_made_durable_becomes_a_dead_letter(
    log: EventLog, caplog: pytest.LogCaptureFixture
) -> None:
    log.append([Message(LAYERS, b"key", b"no event")])
    publish(log, [relu(1), relu(2), relu(3)])

    def take(event: LayerSeen) -> list[AnyEvent]:
        return []

    def flush(offsets: Offsets) -> Refused:
        assert written(log, DEAD_LETTERS) != [], "what can't be read has its letter before"
        return {1: BenanzaError("no column\nholds \udc80")}

    group = ConsumerGroup("store", (LAYERS,))
    with Step(log, group, LayerSeen, take, clock, flush=flush) as store:
        assert store.turn(limit=10) == 4
        assert store.waiting() == 0
    unreadable, letter = written(log, DEAD_LETTERS)
    assert isinstance(unreadable, DeadLetter)
    assert isinstance(letter, DeadLetter)
    first, _, third, _ = log.read(Partition(LAYERS, 0), 0, 10)
    assert (unreadable.offset, letter.offset) == (first.offset, third.offset)
    assert (letter.service, letter.value) == ("store", encode(relu(2)))
    assert letter.key == relu(2).fingerprint.encode()
    assert letter.reason == r"no column\nholds \udc80"
    assert caplog.messages[-1].endswith(letter.reason), "in one line that can be written anywhere"


def test_letters_are_written_before_offsets_are_committed(log: EventLog) -> None:
    publish(log, [relu(1)])

    def take(event: LayerSeen) -> list[AnyEvent]:
        return []

    def flush(offsets: Offsets) -> Refused:
        return {0: BenanzaError("no column holds it")}

    group = ConsumerGroup("store", (LAYERS,))
    with (
        Step(log, group, LayerSeen, take, clock, flush=flush) as store,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(log, "append", _stop)
        with pytest.raises(KeyboardInterrupt):
            store.turn(limit=10)
    with Step(log, group, LayerSeen, take, clock, flush=flush) as store:
        assert store.turn(limit=10) == 1
    assert len(written(log, DEAD_LETTERS)) == 1


def _stop(*arguments: object) -> None:
    raise KeyboardInterrupt


def test_a_store_that_refuses_everything_stops_the_service(log: EventLog) -> None:
    publish(log, [relu(size) for size in range(1, MAX_IN_A_ROW + 2)])
    taken: list[LayerSeen] = []

    def take(event: LayerSeen) -> list[AnyEvent]:
        taken.append(event)
        return []

    def flush(offsets: Offsets) -> Refused:
        everything = dict.fromkeys(range(len(taken)), BenanzaError("no column holds it"))
        taken.clear()
        return everything

    group = ConsumerGroup("store", (LAYERS,))
    with Step(log, group, LayerSeen, take, clock, flush=flush) as store:
        assert [store.turn(limit=10) for _ in range(MAX_IN_A_ROW // 10)] == [10] * 10
        with pytest.raises(CircuitOpenError, match="store stops"):
            store.turn(limit=10)


def test_who_is_given_partitions_recovers_before_anything_is_processed(log: EventLog) -> None:
    events = [relu(size) for size in (1, 2, 3)]
    publish(log, events)
    with step(log) as dedupe:
        dedupe.turn(limit=1)
    told: list[Offsets] = []
    handled: list[LayerSeen] = []

    def handle(event: LayerSeen) -> list[AnyEvent]:
        assert told
        handled.append(event)
        return []

    def recover(offsets: Offsets, _: Consumer) -> Offsets:
        told.append(offsets)
        return {}

    with Step(
        log, ConsumerGroup("dedupe", (LAYERS,)), LayerSeen, handle, clock, recover=recover
    ) as dedupe:
        assert [dedupe.turn(limit=1) for _ in range(3)] == [1, 1, 0]
        assert dedupe.held() == 1
    second = log.read(Partition(LAYERS, 0), 0, 10)[1]
    assert told == [{second.partition: second.offset}]
    assert handled == events[1:]


@pytest.mark.parametrize("first", [0, 2, 4])
def test_recovery_says_where_to_go_on(log: EventLog, first: int) -> None:
    """Back to what the group has committed already, or past what it has not."""
    events = [relu(size) for size in range(5)]
    publish(log, events)
    with step(log) as dedupe:
        dedupe.turn(limit=2)
    records = log.read(Partition(LAYERS, 0), 0, 10)
    handled: list[LayerSeen] = []

    def handle(event: LayerSeen) -> list[AnyEvent]:
        handled.append(event)
        return []

    def recover(offsets: Offsets, _: Consumer) -> Offsets:
        return {records[first].partition: records[first].offset}

    with Step(
        log, ConsumerGroup("dedupe", (LAYERS,)), LayerSeen, handle, clock, recover=recover
    ) as dedupe:
        while dedupe.turn(limit=10) or dedupe.waiting():
            pass
    assert handled == events[first:]
    with step(log) as dedupe:
        assert dedupe.waiting() == 0


def test_nothing_is_processed_while_others_may_hold_the_partitions(log: EventLog) -> None:
    events = [relu(size) for size in range(3)]
    publish(log, events)
    answers: list[Offsets | None] = [None, None, {}]
    handled: list[LayerSeen] = []

    def handle(event: LayerSeen) -> list[AnyEvent]:
        assert not answers
        handled.append(event)
        return []

    def recover(offsets: Offsets, _: Consumer) -> Offsets | None:
        return answers.pop(0)

    with Step(
        log, ConsumerGroup("dedupe", (LAYERS,)), LayerSeen, handle, clock, recover=recover
    ) as dedupe:
        assert [dedupe.turn(limit=10) for _ in range(4)] == [0, 0, 3, 0]
    assert handled == events


def test_an_error_of_recovery_stops_the_step_before_anything_is_lost(log: EventLog) -> None:
    publish(log, [relu(1)])

    def recover(offsets: Offsets, _: Consumer) -> Offsets:
        raise BenanzaError("the store is away")

    with (
        Step(
            log, ConsumerGroup("dedupe", (LAYERS,)), LayerSeen, job, clock, recover=recover
        ) as dedupe,
        pytest.raises(BenanzaError, match="the store is away"),
    ):
        dedupe.turn(limit=10)
    assert written(log, DEAD_LETTERS) == []
    with step(log) as dedupe:
        assert dedupe.turn(limit=10) == 1


def test_check_asks_what_the_step_stands_on(log: EventLog) -> None:
    def probe() -> None:
        raise BenanzaError("the store is away")

    with (
        Step(log, ConsumerGroup("store", (LAYERS,)), LayerSeen, job, clock, probe=probe) as store,
        pytest.raises(BenanzaError, match="the store is away"),
    ):
        store.check()


def metric(name: str, **labels: str | int) -> float | None:
    return REGISTRY.get_sample_value(
        f"benanza_{name}", {name: str(value) for name, value in labels.items()}
    )


def test_a_metric_says_how_old_records_were_when_all_was_done(log: EventLog) -> None:
    publish(log, [relu(size) for size in range(3)])
    last = log.read(Partition(LAYERS, 0), 0, 3)[-1].timestamp
    group = ConsumerGroup("aged.here", (LAYERS,))
    of = {"service": "aged", "topic": LAYERS}
    with Step(log, group, LayerSeen, job, lambda: last + timedelta(seconds=20)) as aged:
        assert metric("record_age_seconds_count", **of) == 0
        aged.turn(limit=2)
    with Step(log, group, LayerSeen, job, lambda: last - timedelta(seconds=20)) as before:
        before.turn(limit=2)
    assert metric("record_age_seconds_count", **of) == 3
    assert metric("record_age_seconds_bucket", le="10.0", **of) == 1
    assert metric("record_age_seconds_bucket", le="30.0", **of) == 3
    assert metric("record_age_seconds_sum", **of) == pytest.approx(40, abs=10)


def test_metrics_say_what_was_done_and_what_waits(log: EventLog) -> None:
    publish(log, [relu(size) for size in range(5)])
    first = log.read(Partition(LAYERS, 0), 0, 1)[0]
    consumed = metric("records_consumed_total", topic=LAYERS) or 0
    produced = metric("records_produced_total", topic=JOBS) or 0
    failed = metric("dead_letters_total", topic=LAYERS, reason="ValueError") or 0
    timed = metric("process_duration_seconds_count", service="metrics") or 0
    of_group = {"topic": LAYERS, "group": "metrics.here"}
    with Step(
        log, ConsumerGroup("metrics.here", (LAYERS,)), LayerSeen, refuse_even, clock
    ) as counted:
        counted.turn(limit=4)
        counted.check()
        assert metric("consumer_lag_records", partition=0, **of_group) == 1
        oldest = metric("oldest_unprocessed_timestamp_seconds", **of_group)
        assert oldest == first.timestamp.timestamp()
        counted.turn(limit=4)
        counted.check()
        assert metric("consumer_lag_records", partition=0, **of_group) == 0
        assert metric("oldest_unprocessed_timestamp_seconds", **of_group) is None
    assert metric("consumer_lag_records", partition=0, **of_group) is None
    assert metric("records_consumed_total", topic=LAYERS) == consumed + 5
    assert metric("records_produced_total", topic=JOBS) == produced + 2
    assert metric("dead_letters_total", topic=LAYERS, reason="ValueError") == failed + 3
    assert metric("process_duration_seconds_count", service="metrics") == timed + 5


def test_what_a_turn_hangs_on_is_shown_to_wait(log: EventLog) -> None:
    publish(log, [relu(size) for size in range(3)])
    of_group = {"topic": LAYERS, "group": "hanging"}
    shown = []

    def hangs(_: LayerSeen) -> Sequence[AnyEvent]:
        shown.append(metric("consumer_lag_records", partition=0, **of_group))
        return []

    with Step(log, ConsumerGroup("hanging", (LAYERS,)), LayerSeen, hangs, clock) as step:
        step.turn(limit=3)
        step.check()
        assert metric("consumer_lag_records", partition=0, **of_group) == 0
    assert shown == [3, 3, 3]
    assert metric("consumer_lag_records", partition=0, **of_group) is None


def clock() -> datetime:
    return NOW


def test_bytes_that_are_no_event_become_a_dead_letter(log: EventLog) -> None:
    log.append([Message(LAYERS, b"key", b"\xc1 no event")])
    with step(log) as dedupe:
        assert dedupe.turn(limit=10) == 1
    (letter,) = written(log, DEAD_LETTERS)
    assert isinstance(letter, DeadLetter)
    assert letter.value == b"\xc1 no event"
    assert letter.reason.startswith("not MessagePack")
    assert letter.reason.endswith(
        "; in layers it should be LayerSeen or LayerKnown: drop this, and mend what wrote it"
    )


def test_an_event_of_a_newer_version_is_to_be_replayed_after_an_upgrade(log: EventLog) -> None:
    newer = msgpack.packb({"type": "LayerSeen", "schema_version": SCHEMA_VERSION + 1})
    log.append([Message(LAYERS, b"key", newer)])
    with step(log) as dedupe:
        dedupe.turn(limit=10)
    (letter,) = written(log, DEAD_LETTERS)
    assert isinstance(letter, DeadLetter)
    assert letter.reason.endswith("upgrade it, and then replay this")


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
    assert letter.reason == (
        "dedupe takes no ModelPublished; in layers it should be LayerSeen or LayerKnown: "
        "drop this, and mend what wrote it"
    )
