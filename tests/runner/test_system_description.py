"""What a system can reach is measured once at each precision, and again where the way changed."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from benanza_backbone.event_log.event_log import EventLog, Message
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_runner.runtime import Runtime
from benanza_runner.system_description import describe_system
from benanza_schemas.codec import decode, encode
from benanza_schemas.events import Ceiling, SystemMeasured
from benanza_schemas.layer import Precision
from benanza_schemas.topics import RESULTS, topic_and_key
from tests.runner.fake_runtime import FakeRuntime

NOW = datetime(2026, 11, 22, tzinfo=UTC)


class CountingCeilings(FakeRuntime):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Precision] = []

    def ceilings(self, precision: Precision) -> tuple[Ceiling, ...]:
        self.asked.append(precision)
        return (Ceiling("bandwidth", precision, 1e9 * len(self.asked), 0.0),)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with SqliteEventLog(tmp_path / "events.sqlite") as log:
        yield log


def described(log: EventLog, runtime: Runtime, *precisions: Precision) -> SystemMeasured:
    """The last description, after one was asked for."""
    describe_system(log, runtime, precisions, lambda: NOW)
    *_, last = (decode(record.value) for record in log.records(RESULTS))
    assert isinstance(last, SystemMeasured)
    return last


def test_each_precision_is_measured_once(log: EventLog) -> None:
    runtime = CountingCeilings()
    described(log, runtime, "fp32")
    described(log, runtime, "fp32")
    last = described(log, runtime, "fp16", "fp32")
    assert runtime.asked == ["fp32", "fp16"]
    assert [ceiling.precision for ceiling in last.ceilings] == ["fp32", "fp16"]


def test_other_microbenchmarks_measure_all_that_is_known_again(
    log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = CountingCeilings()
    with monkeypatch.context() as before:
        before.setattr("benanza_runner.core.MICROBENCHMARKS", "1")
        described(log, runtime, "fp16", "fp32")
    last = described(log, runtime, "fp32")
    assert runtime.asked == ["fp16", "fp32", "fp32", "fp16"]
    assert {c.precision: c.value for c in last.ceilings} == {"fp32": 3e9, "fp16": 4e9}
    assert described(log, runtime, "fp32", "fp16") == last
    assert len(runtime.asked) == 4


def test_ceilings_that_were_imported_are_measured_here(tmp_path: Path, log: EventLog) -> None:
    """An import may be taken back."""
    with SqliteEventLog(tmp_path / "elsewhere.sqlite") as elsewhere:
        measured = described(elsewhere, CountingCeilings(), "fp16")
    imported = msgspec.structs.replace(measured, imported_from="a" * 64)
    log.append([Message(*topic_and_key(imported), encode(imported))])
    runtime = CountingCeilings()
    assert described(log, runtime, "fp32").imported_from == ""
    assert runtime.asked == ["fp32"]
