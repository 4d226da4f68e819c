"""So many events that can't be processed that the fault is hardly theirs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benanza_backbone.event_log.event_log import EventLog, Message
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.circuit_breaker import (
    MAX_IN_A_ROW,
    MAX_OF_RECENT,
    RECENT,
    CircuitOpenError,
)
from benanza_backbone.service.step import Step
from benanza_schemas.events import AnyEvent, LayerSeen
from benanza_schemas.topics import DEAD_LETTERS, LAYERS
from tests.backbone.service.test_step import job, publish, refuse_even, relu, step, written


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with SqliteEventLog(tmp_path / "events.sqlite") as log:
        yield log


def test_too_many_dead_letters_in_a_row_stop_the_service(log: EventLog) -> None:
    count = MAX_IN_A_ROW + 1
    log.append([Message(LAYERS, b"", b"no event")] * count)
    with step(log) as dedupe:
        assert dedupe.turn(limit=MAX_IN_A_ROW) == MAX_IN_A_ROW
        with pytest.raises(CircuitOpenError, match=f"none of the last {count} events"):
            dedupe.turn(limit=count)
    assert len(written(log, DEAD_LETTERS)) == count
    with step(log) as dedupe:
        assert dedupe.waiting() == 0


def test_as_many_dead_letters_in_a_row_as_may_be_stop_nothing(log: EventLog) -> None:
    log.append([Message(LAYERS, b"", b"no event")] * MAX_IN_A_ROW)
    publish(log, [relu(1)])
    with step(log) as dedupe:
        assert dedupe.turn(limit=MAX_IN_A_ROW + 1) == MAX_IN_A_ROW + 1


def test_what_was_read_with_too_many_dead_letters_is_left(log: EventLog) -> None:
    count = MAX_IN_A_ROW + 1
    log.append([Message(LAYERS, b"", b"no event")] * (count + 20))
    with step(log) as dedupe, pytest.raises(CircuitOpenError):
        dedupe.turn(limit=count + 20)
    assert len(written(log, DEAD_LETTERS)) == count
    with step(log) as dedupe:
        assert dedupe.waiting() == 20


def test_too_many_dead_letters_of_the_last_events_stop_the_service(log: EventLog) -> None:
    """Three of four fail: never many in a row."""
    count = RECENT * 3
    events = [relu(size) if size % 4 == 0 else relu(2) for size in range(1, count)]

    def refuse_two(event: LayerSeen) -> list[AnyEvent]:
        if event == relu(2):
            raise ValueError("two")
        return job(event)

    publish(log, events)
    with (
        step(log, refuse_two) as dedupe,
        pytest.raises(CircuitOpenError, match="not process 101 of"),
    ):
        one_by_one(dedupe)
    assert len(written(log, DEAD_LETTERS)) == MAX_OF_RECENT + 1


def one_by_one(dedupe: Step) -> None:
    while dedupe.turn(limit=1):
        pass


def test_half_of_the_events_may_fail(log: EventLog) -> None:
    publish(log, [relu(size) for size in range(RECENT * 2)])
    with step(log, refuse_even) as dedupe:
        while dedupe.turn(limit=7):
            pass
    assert len(written(log, DEAD_LETTERS)) == RECENT
