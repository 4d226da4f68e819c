"""The cores over a real log: what they remember from one process to the next."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from benanza.embedded import drain
from benanza.publish import publications_of
from benanza.request import RunRequest
from benanza.steps import analyzer_step, dedupe_step, ingest_step, records
from benanza_backbone.event_log import EventLog, Partition
from benanza_backbone.sqlite_log import SqliteEventLog
from benanza_backbone.step import as_message
from benanza_ingest.limits import Limits
from benanza_schemas.codec import decode
from benanza_schemas.events import (
    AnyEvent,
    BenchmarkRequested,
    BoundUpdated,
    Ceiling,
    DeadLetter,
    LayerMeasured,
    LayerSeen,
    ModelIngested,
    System,
    SystemMeasured,
    Variant,
    event_id,
    identified,
)
from benanza_schemas.topics import BOUNDS, DEAD_LETTERS, GRAPHS, JOBS, LAYERS, RESULTS

LIMITS = Limits()
NOW = datetime(2026, 11, 21, tzinfo=UTC)
SYSTEM = identified(
    System(
        system_id="0" * 32,
        runtime="test",
        accelerator="",
        driver="",
        cuda="",
        cudnn="",
        cublas="",
        cpu="CPU",
        threads=1,
        libraries={},
        method="1",
    )
)


def clock() -> datetime:
    return NOW


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with SqliteEventLog(tmp_path / "events.sqlite") as opened:
        yield opened


def written(log: EventLog, topic: str) -> list[AnyEvent]:
    return [decode(record.value) for record in records(log, topic)]


def append(log: EventLog, *events: AnyEvent) -> None:
    log.append([as_message(event) for event in events])


def ingested(log: EventLog, *models: str) -> None:
    """Takes these models as far as their layers."""
    for model in models:
        for publication in publications_of(model, RunRequest(models=()), LIMITS):
            append(log, publication.event)
    with ingest_step(log, LIMITS, clock) as step:
        drain(step)


def measurement(job: BenchmarkRequested, time_us: float) -> LayerMeasured:
    variant = Variant(
        library="test",
        algorithm="only",
        samples_us=(time_us,),
        minimum_us=time_us,
        median_us=time_us,
        iqr_us=0.0,
    )
    return LayerMeasured(
        event_id=event_id("LayerMeasured", job.event_id, SYSTEM.system_id, "fp32"),
        fingerprint=job.fingerprint,
        system=SYSTEM,
        precision="fp32",
        measured_at=NOW,
        variants=(variant,),
    )


def test_records_are_all_there_across_reads(log: EventLog) -> None:
    ingested(log, "zoo:densenet121")
    count = log.end_offsets(LAYERS)[Partition(LAYERS, 0)]
    found = list(records(log, LAYERS))
    assert found == log.read(Partition(LAYERS, 0), 0, count)
    middle = found[len(found) // 2].offset
    assert list(records(log, LAYERS, {Partition(LAYERS, 0): middle})) == found[: len(found) // 2]
    assert list(records(log, LAYERS, {})) == []


def test_ingest_refuses_content_that_was_changed_on_the_way(log: EventLog) -> None:
    (publication,) = publications_of("zoo:alexnet", RunRequest(models=()), LIMITS)
    append(log, msgspec.structs.replace(publication.event, sha256="0" * 64))
    with ingest_step(log, LIMITS, clock) as step:
        drain(step)
    (letter,) = written(log, DEAD_LETTERS)
    assert isinstance(letter, DeadLetter)
    assert letter.reason.startswith("the content of alexnet has the SHA-256 ")
    assert written(log, GRAPHS) == []


def test_ingest_fetches_what_is_not_in_the_event(log: EventLog, tmp_path: Path) -> None:
    (publication,) = publications_of("zoo:alexnet", RunRequest(models=()), LIMITS)
    elsewhere = msgspec.structs.replace(publication.event, content=None)
    lost = msgspec.structs.replace(elsewhere, uri=(tmp_path / "lost.onnx").as_uri())
    append(log, lost, elsewhere)
    with ingest_step(log, LIMITS, clock) as step:
        drain(step)
    (graph,) = written(log, GRAPHS)
    assert isinstance(graph, ModelIngested)
    assert graph.model_id == publication.model_id
    (letter,) = written(log, DEAD_LETTERS)
    assert isinstance(letter, DeadLetter)
    assert "lost.onnx" in letter.reason


def test_dedupe_knows_the_layers_of_former_processes(log: EventLog) -> None:
    for models in (("zoo:squeezenet",), ("zoo:squeezenet", "zoo:zfnet512"), ("zoo:alexnet",)):
        ingested(log, *models)
        with dedupe_step(log, clock) as step:
            drain(step)
    jobs = [job.fingerprint for job in written(log, JOBS) if isinstance(job, BenchmarkRequested)]
    seen = {layer.fingerprint for layer in written(log, LAYERS) if isinstance(layer, LayerSeen)}
    assert len(jobs) == len(set(jobs))
    assert set(jobs) == seen


def test_dedupe_that_dies_between_write_and_commit_repeats_no_job(log: EventLog) -> None:
    ingested(log, "zoo:squeezenet")
    with dedupe_step(log, clock) as step, pytest.MonkeyPatch.context() as patch:
        patch.setattr(step._consumer, "commit", _die)
        with pytest.raises(KeyboardInterrupt):
            step.turn(limit=10)
    with dedupe_step(log, clock) as step:
        drain(step)
    jobs = [job.fingerprint for job in written(log, JOBS) if isinstance(job, BenchmarkRequested)]
    seen = {layer.fingerprint for layer in written(log, LAYERS) if isinstance(layer, LayerSeen)}
    assert sorted(jobs) == sorted(seen)


def _die() -> None:
    raise KeyboardInterrupt


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


def last_bounds(log: EventLog) -> dict[bytes, AnyEvent]:
    return {record.key: decode(record.value) for record in records(log, BOUNDS)}


def test_the_analyzer_starts_though_a_model_was_refused(log: EventLog) -> None:
    """What went to the dead letters is not to be read again as if it had been understood."""
    ingested(log, "zoo:alexnet")
    (graph,) = written(log, GRAPHS)
    assert isinstance(graph, ModelIngested)
    broken = msgspec.structs.replace(
        graph, model_id=event_id("broken"), edges=((0, len(graph.layers) + 7),)
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
    models = {bound.model_id for bound in written(log, BOUNDS) if isinstance(bound, BoundUpdated)}
    assert models == {graph.model_id}
    assert len(written(log, RESULTS)) == 1
