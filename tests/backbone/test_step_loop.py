"""A loop whose turn hangs does no work, and says so."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

from benanza_backbone.processor import as_message
from benanza_backbone.sqlite_log import SqliteEventLog
from benanza_backbone.step import Step
from benanza_backbone.step_loop import StepLoop
from benanza_schemas.events import BenchmarkRequested, LayerSeen
from benanza_schemas.topics import LAYERS
from tests.backbone.test_step import relu

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
            Step(log, "service", [LAYERS], LayerSeen, hang, lambda: datetime.now(UTC)) as step,
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
