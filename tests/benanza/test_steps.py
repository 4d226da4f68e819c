"""The cores over a real log: what they remember from one process to the next."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from benanza.embedded import drain
from benanza.publication import publications_of
from benanza.request import RunRequest
from benanza_analyzer.step import analyzer_step
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log import EventLog, Partition, Record
from benanza_backbone.processor import as_message
from benanza_backbone.sqlite_log import SqliteEventLog
from benanza_dedupe.step import dedupe_step
from benanza_ingest.limits import Limits
from benanza_ingest.step import ingest_step
from benanza_runner.core import Runner
from benanza_runner.runtime import Outcome
from benanza_runner.step import runner_step
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
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.topics import BOUNDS, DEAD_LETTERS, GRAPHS, JOBS, LAYERS, RESULTS
from tests.runner.fake_runtime import FakeRuntime

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
    return [decode(record.value) for record in log.records(topic)]


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


def _die(*arguments: object) -> None:
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
    return {record.key: decode(record.value) for record in log.records(BOUNDS)}


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


def test_an_analyzer_of_half_the_partitions_refuses_to_guess(log: EventLog) -> None:
    ingested(log, "zoo:squeezenet")
    with analyzer_step(log, clock) as step, pytest.MonkeyPatch.context() as patch:
        patch.setattr(step._consumer, "position", lambda: {Partition(GRAPHS, 0): 0})
        with pytest.raises(BenanzaError, match="`benanza topics`"):
            step.turn(limit=10)
    assert written(log, DEAD_LETTERS) == []


class CountingRuntime(FakeRuntime):
    """Remembers what it has measured."""

    def __init__(self) -> None:
        super().__init__()
        self.measured: list[Layer] = []

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        self.measured.append(layer)
        return super().measure(layer, precision)


def test_a_job_that_comes_twice_is_run_once(log: EventLog) -> None:
    ingested(log, "zoo:squeezenet")
    with dedupe_step(log, clock) as step:
        drain(step)
    jobs = [job for job in written(log, JOBS) if isinstance(job, BenchmarkRequested)]
    append(log, *jobs[:5])
    runtime = CountingRuntime()
    with runner_step(log, runtime, "fp32", clock) as step:
        for _ in range(3):
            step.turn(limit=1)
    append(log, *jobs[5:10])
    with runner_step(log, runtime, "fp32", clock) as step:
        drain(step)
    assert len(runtime.measured) == len(jobs)
    assert len(written(log, RESULTS)) == len(jobs)


def test_what_another_runner_of_the_system_has_measured_meanwhile_is_not_run(
    log: EventLog,
) -> None:
    ingested(log, "zoo:squeezenet")
    with dedupe_step(log, clock) as step:
        drain(step)
    jobs = [job for job in written(log, JOBS) if isinstance(job, BenchmarkRequested)]
    runtime = CountingRuntime()
    elsewhere = Runner(FakeRuntime(), ["fp32"], clock)
    other_system = Runner(FakeRuntime(threads=2), ["fp32"], clock)
    other_precision = Runner(FakeRuntime(), ["fp16"], clock)
    with runner_step(log, runtime, "fp32", clock) as step:
        step.turn(limit=1)
        for job in jobs[:5]:
            append(log, *elsewhere.handle(job))
        for job in jobs[5:10]:
            append(log, *other_system.handle(job), *other_precision.handle(job))
        drain(step)
    assert len(runtime.measured) == len(jobs) - 4


def test_a_layer_that_cannot_be_measured_is_not_tried_for_ever(log: EventLog) -> None:
    ingested(log, "zoo:squeezenet")
    with dedupe_step(log, clock) as step:
        drain(step)
    jobs = [job for job in written(log, JOBS) if isinstance(job, BenchmarkRequested)]
    append(log, *jobs)
    runtime = CountingRuntime()
    with runner_step(log, runtime, "bf16", clock) as step:
        drain(step)
    assert len(runtime.measured) == len(jobs)


def test_a_log_that_is_away_is_no_fault_of_the_job(log: EventLog) -> None:
    ingested(log, "zoo:squeezenet")
    with dedupe_step(log, clock) as step:
        drain(step)

    def away(*arguments: object) -> list[Record]:
        raise BenanzaError("no broker answers")

    with runner_step(log, FakeRuntime(), "fp32", clock) as step, pytest.MonkeyPatch.context() as p:
        p.setattr(log, "read", away)
        with pytest.raises(BenanzaError, match="no broker answers"):
            step.turn(limit=1)
    assert written(log, DEAD_LETTERS) == []
    assert written(log, RESULTS) == []
