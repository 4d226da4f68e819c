"""A loop whose turn hangs, or which is given nothing while records wait, says so."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest

from benanza_backbone.event_log.event_log import Consumer
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service import standstill, step_loop
from benanza_backbone.service.processor import as_message
from benanza_backbone.service.step import Step
from benanza_backbone.service.step_loop import StepLoop
from benanza_schemas.consumer_groups import ConsumerGroup
from benanza_schemas.events import BenchmarkRequested, LayerSeen
from benanza_schemas.topics import LAYERS
from tests.backbone.service.test_step import relu

PATIENCE_S = 30.0


def until(so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_turn_that_hangs_is_neither_alive_nor_ready(tmp_path: Path) -> None:
    stop, released = Event(), Event()

    def hang(_: LayerSeen) -> list[BenchmarkRequested]:
        released.wait(PATIENCE_S)
        return []

    @contextmanager
    def opened() -> Iterator[Step]:
        with (
            SqliteEventLog(tmp_path / "events.sqlite") as log,
            Step(
                log, ConsumerGroup("service", (LAYERS,)), LayerSeen, hang, lambda: datetime.now(UTC)
            ) as step,
        ):
            yield step

    loop = StepLoop("service", opened, stop, limit=1, longest_turn_s=1.0)
    loop.start()
    until(lambda: loop.ready().ok)
    with SqliteEventLog(tmp_path / "events.sqlite") as log:
        log.append([as_message(relu(8))])
    until(lambda: not loop.alive().ok)
    ready = loop.ready()
    assert not ready.ok
    assert ready.detail.startswith("hangs")
    released.set()
    until(lambda: loop.ready().ok)
    stop.set()
    assert loop.join(PATIENCE_S)


class GivenNothing(SqliteEventLog):
    """A log whose consumers are given nothing, although records wait."""

    def consumer(self, group: str, topics: Sequence[str], whole: Sequence[str] = ()) -> Consumer:
        consumer = super().consumer(group, topics, whole)
        consumer.poll = lambda limit, timeout: []  # type: ignore[method-assign]
        return consumer


def test_a_step_that_is_given_nothing_while_records_wait_ends_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(standstill, "NOT_READY_S", 0.2)
    monkeypatch.setattr(standstill, "STANDSTILL_S", 1.0)
    monkeypatch.setattr(step_loop, "CHECK_S", 0.05)
    monkeypatch.setattr(step_loop, "POLL_S", 0.05)
    stop = Event()

    @contextmanager
    def opened() -> Iterator[Step]:
        with (
            GivenNothing(tmp_path / "events.sqlite") as log,
            Step(
                log, ConsumerGroup("service", (LAYERS,)), LayerSeen, list, lambda: datetime.now(UTC)
            ) as step,
        ):
            yield step

    loop = StepLoop("service", opened, stop, limit=1, longest_turn_s=60.0)
    loop.start()
    until(lambda: loop.ready().ok)
    with SqliteEventLog(tmp_path / "events.sqlite") as log:
        log.append([as_message(relu(8))])
    until(lambda: "none of 1 waiting records was processed" in loop.ready().detail)
    assert loop.join(PATIENCE_S)
    assert stop.is_set()
    assert loop.failed
    assert not loop.alive().ok
    (line,) = [each.getMessage() for each in caplog.records]
    assert line.startswith("service ends, and goes on when it is started again: none of 1 waiting")
