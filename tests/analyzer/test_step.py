"""What the analyzer remembers from one process to the next, and who takes over from it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from benanza.installation.embedded import drain
from benanza_analyzer.core import Analyzer, AnalyzerEvent, Moved
from benanza_analyzer.step import analyzer_step
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_dedupe.step import dedupe_step
from benanza_schemas.codec import decode
from benanza_schemas.events import (
    BenchmarkRequested,
    BoundUpdated,
    Ceiling,
    LayerSeen,
    ModelIngested,
    SystemMeasured,
    event_id,
)
from benanza_schemas.topics import BOUNDS, DEAD_LETTERS, GRAPHS, JOBS, LAYERS, RESULTS
from tests.steps import NOW, SYSTEM, append, clock, ingested, measurement, written


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with SqliteEventLog(tmp_path / "events.sqlite") as opened:
        yield opened


def test_the_analyzer_gives_the_same_bounds_however_often_it_starts(
    log: EventLog, tmp_path: Path
) -> None:
    ingested(log, "zoo:squeezenet", "zoo:zfnet512")
    with dedupe_step(log, clock) as step:
        drain(step)
    ceilings = (Ceiling("bandwidth", "fp32", 1e11, 0.0), Ceiling("flops", "fp32", 1e12, 0.0))
    system = SystemMeasured(
        event_id=event_id("SystemMeasured", SYSTEM.system_id),
        system=SYSTEM,
        measured_at=NOW,
        ceilings=ceilings,
    )
    jobs = [job for job in written(log, JOBS) if isinstance(job, BenchmarkRequested)]
    results = [measurement(job, 10.0 + at) for at, job in enumerate(jobs[:40])]
    graphs = written(log, GRAPHS)
    with SqliteEventLog(tmp_path / "other.sqlite") as other:
        append(other, *graphs)
        for events in ([system], results[:15], results[15:30], results[30:]):
            append(log, *events)
            append(other, *events)
            with analyzer_step(other, clock) as step:
                drain(step)
        with analyzer_step(log, clock) as step:
            drain(step)
        assert last_bounds(log) == last_bounds(other)
        assert len(written(log, BOUNDS)) == len(written(other, BOUNDS)) > 0


def last_bounds(log: EventLog) -> dict[bytes, BoundUpdated]:
    """The last version of each bound, but for when and by whom it was computed."""
    return {
        record.key: msgspec.structs.replace(event, computed_at=NOW, claim=0)
        for record in log.records(BOUNDS)
        if isinstance(event := decode(record.value), BoundUpdated)
    }


def test_the_last_version_of_a_bound_has_the_latest_time_whatever_the_clocks_say(
    log: EventLog,
) -> None:
    ingested(log, "zoo:squeezenet")
    with dedupe_step(log, clock) as step:
        drain(step)
    jobs = [job for job in written(log, JOBS) if isinstance(job, BenchmarkRequested)]
    ahead = NOW + timedelta(hours=14)
    times = iter([ahead, NOW, ahead + timedelta(hours=1), *[NOW] * 1000])
    for job, at in zip(jobs[:6], (ahead, NOW, NOW, ahead, NOW, NOW), strict=True):
        append(log, measurement(job, 10.0))
        with analyzer_step(log, lambda at=at: at) as step:  # type: ignore[misc]
            drain(step)
    append(log, *(measurement(job, 10.0) for job in jobs[6:12]))
    with analyzer_step(log, lambda: next(times)) as step:
        drain(step)
    versions: dict[bytes, list[datetime]] = {}
    for record in log.records(BOUNDS):
        event = decode(record.value)
        assert isinstance(event, BoundUpdated)
        versions.setdefault(record.key, []).append(event.computed_at)
    assert len(versions) == 4
    for of_one in versions.values():
        assert len(of_one) > 6
        assert of_one == sorted(set(of_one))


def test_each_analyzer_has_a_higher_claim_than_the_former_whatever_its_clock_says(
    log: EventLog,
) -> None:
    ingested(log, "zoo:squeezenet")
    with dedupe_step(log, clock) as step:
        drain(step)
    jobs = [job for job in written(log, JOBS) if isinstance(job, BenchmarkRequested)]
    day = timedelta(days=1)
    claims: list[int] = []
    for job, at in zip(jobs[:4], (NOW, NOW + day, NOW - day, NOW), strict=True):
        append(log, measurement(job, 10.0))
        written_before = len(written(log, BOUNDS))
        with analyzer_step(log, lambda at=at: at) as step:  # type: ignore[misc]
            drain(step)
        new = written(log, BOUNDS)[written_before:]
        (claim,) = {bound.claim for bound in new if isinstance(bound, BoundUpdated)}
        claims.append(claim)
    today_us = int(NOW.timestamp()) * 1_000_000
    tomorrow_us = today_us + 24 * 3600 * 1_000_000
    assert claims == [today_us, tomorrow_us, tomorrow_us + 1, tomorrow_us + 2]


def test_the_analyzer_starts_though_a_model_was_refused(log: EventLog) -> None:
    """What went to the dead letters is not to be read again as if it had been understood."""
    ingested(log, "zoo:alexnet")
    (graph,) = written(log, GRAPHS)
    assert isinstance(graph, ModelIngested)
    identity = event_id("broken")
    broken = msgspec.structs.replace(
        graph, model_id=identity, architecture_id=identity, edges=((0, len(graph.layers) + 7),)
    )
    append(log, broken)

    with analyzer_step(log, clock) as step:
        drain(step)
    assert len(written(log, DEAD_LETTERS)) == 1
    (job,) = [
        BenchmarkRequested(
            event_id=layer.event_id, fingerprint=layer.fingerprint, layer=layer.layer
        )
        for layer in written(log, LAYERS)[:1]
        if isinstance(layer, LayerSeen)
    ]
    append(log, measurement(job, 5.0))
    with analyzer_step(log, clock) as step:
        drain(step)
    bounds = [bound for bound in written(log, BOUNDS) if isinstance(bound, BoundUpdated)]
    assert {bound.architecture_id for bound in bounds} == {graph.architecture_id}
    assert len(written(log, RESULTS)) == 1


def test_the_analyzer_starts_though_an_event_met_a_defect(
    log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one event would end it, and each that is started after it."""
    take_in = Analyzer._apply

    def defective(self: Analyzer, event: AnalyzerEvent) -> Moved:
        if isinstance(event, SystemMeasured):
            raise ArithmeticError("a defect")
        return take_in(self, event)

    monkeypatch.setattr(Analyzer, "_apply", defective)
    ingested(log, "zoo:alexnet")
    system_id = event_id("SystemMeasured", SYSTEM.system_id)
    append(log, SystemMeasured(event_id=system_id, system=SYSTEM, measured_at=NOW, ceilings=()))
    for _ in range(2):
        with analyzer_step(log, clock) as step:
            drain(step)
    assert len(written(log, DEAD_LETTERS)) == 1


def test_an_analyzer_that_takes_over_knows_what_the_former_one_did(
    log: EventLog, tmp_path: Path
) -> None:
    ingested(log, "zoo:squeezenet", "zoo:zfnet512")
    with dedupe_step(log, clock) as step:
        drain(step)
    jobs = [job for job in written(log, JOBS) if isinstance(job, BenchmarkRequested)]
    results = [measurement(job, 10.0 + at) for at, job in enumerate(jobs[:40])]
    graphs = written(log, GRAPHS)
    standby = analyzer_step(log, clock)
    with SqliteEventLog(tmp_path / "other.sqlite") as other, standby:
        append(other, *graphs, *results)
        with analyzer_step(other, clock) as undisturbed:
            drain(undisturbed)
        standby.close()
        first = analyzer_step(log, clock)
        standby = analyzer_step(log, clock)
        append(log, *results[:20])
        drain(first)
        assert standby.turn(limit=10) == 0
        first.close()
        append(log, *results[20:])
        drain(standby)
        standby.close()
        assert last_bounds(log) == last_bounds(other)
        assert len(written(log, BOUNDS)) == len(written(other, BOUNDS)) > 0
