"""Which jobs a runner does, and which it has done."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from benanza.installation.embedded import drain
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog, Partition
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.telemetry import REGISTRY
from benanza_dedupe.step import dedupe_step
from benanza_runner.core import Runner
from benanza_runner.measuring.busy import OTHERS
from benanza_runner.runtime import Outcome
from benanza_runner.step import Benchmarks, runner_step
from benanza_schemas.events import (
    MARK,
    BenchmarkRequested,
    LayerMeasured,
    RecordingWithdrawn,
    System,
    event_id,
    identified,
)
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.topics import DEAD_LETTERS, JOBS, RESULTS
from tests.backbone.sample_events import REQUESTED
from tests.runner.fake_runtime import FakeRuntime
from tests.steps import append, clock, ingested, written


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with SqliteEventLog(tmp_path / "events.sqlite") as opened:
        yield opened


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


def withdrawn(digest: str) -> RecordingWithdrawn:
    return RecordingWithdrawn(
        event_id=event_id("RecordingWithdrawn", digest), digest=digest, withdrawn_at=clock()
    )


def imported(event: LayerMeasured, digest: str) -> LayerMeasured:
    return msgspec.structs.replace(event, environment={MARK: digest})


def test_what_was_imported_is_done_until_it_is_taken_back(log: EventLog) -> None:
    """A result of this runner stays done, though it may have the id of an imported one."""
    runtime = CountingRuntime()
    job, other, *_ = REQUESTED
    made = Runner(runtime, ["fp32"], clock)
    (of_job,), (of_other,) = made.handle(job), made.handle(other)
    append(log, imported(of_job, "a" * 64), imported(of_other, "b" * 64))
    benchmarks = Benchmarks(log, runtime, "fp32", clock)
    assert not benchmarks.wait(job)
    append(log, withdrawn("a" * 64))
    assert benchmarks.wait(job)
    assert not benchmarks.wait(other)
    append(log, imported(of_job, "a" * 64))
    assert not benchmarks.wait(job)
    append(log, of_job, withdrawn("a" * 64), withdrawn("b" * 64))
    assert not benchmarks.wait(job)
    assert benchmarks.wait(other)


PRECISIONS: tuple[Precision, ...] = ("fp32", "tf32")


class OnGpu(CountingRuntime):
    """Has Tensor Cores."""

    def system(self) -> System:
        return identified(msgspec.structs.replace(super().system(), accelerator="paper GPU"))


def test_in_tf32_what_multiplies_nothing_is_not_measured_again(log: EventLog) -> None:
    ingested(log, "zoo:squeezenet")
    with dedupe_step(log, clock) as step:
        drain(step)
    runtime = OnGpu()
    for precision in PRECISIONS:
        with runner_step(log, runtime, precision, clock) as step:
            drain(step)
    results = [event for event in written(log, RESULTS) if isinstance(event, LayerMeasured)]
    jobs = [job for job in written(log, JOBS) if isinstance(job, BenchmarkRequested)]
    assert [event.precision for event in results] == ["fp32"] * len(jobs) + ["tf32"] * len(jobs)
    again = runtime.measured[len(jobs) :]
    assert 0 < len(again) < len(jobs)
    assert all("Conv" in layer.title() for layer in again)
    asked_again = msgspec.structs.replace(
        next(job for job in jobs if job.layer not in again),
        event_id="again",
        after=tuple(event.event_id for event in results),
    )
    Benchmarks(log, runtime, "tf32", clock).handle(asked_again)
    assert runtime.measured[-1] == asked_again.layer


class SlowedOnGpu(OnGpu):
    """Is never fast enough."""

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        outcome = super().measure(layer, precision)
        said = {"stable": "no", "slowed_by": "heat"}
        return msgspec.structs.replace(outcome, environment=said)


def test_what_follows_from_another_precision_is_not_seen_again(log: EventLog) -> None:
    """Another runner, on another GPU, may have measured it."""
    ingested(log, "zoo:squeezenet")
    with dedupe_step(log, clock) as step:
        drain(step)

    def slowed() -> float:
        return REGISTRY.get_sample_value("benanza_jobs_slowed_total", {"reason": "heat"}) or 0.0

    runtime, before = SlowedOnGpu(), slowed()
    for precision in PRECISIONS:
        with runner_step(log, runtime, precision, clock) as step:
            drain(step)
    assert slowed() - before == len(runtime.measured) < len(results(log))


class BusyRuntime(CountingRuntime):
    """On a machine that is busy for so many measurements."""

    def __init__(self, busy: int, reason: str = OTHERS) -> None:
        super().__init__()
        self._busy = busy
        self._reason = reason

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        outcome = super().measure(layer, precision)
        if len(self.measured) > self._busy:
            return outcome
        said = {"stable": "no", "slowed_by": f"power, {self._reason}"}
        return msgspec.structs.replace(outcome, environment=said)


def test_layers_that_were_timed_on_a_busy_machine_are_asked_for_again(log: EventLog) -> None:
    runtime = BusyRuntime(busy=3)
    benchmarks = Benchmarks(log, runtime, "fp32", clock)
    job = REQUESTED[0]
    append(log, *benchmarks.handle(job))
    (again,) = benchmarks.doubtful()
    assert again.fingerprint == job.fingerprint
    assert again.after == tuple(result.event_id for result in results(log))
    assert again.event_id != job.event_id
    append(log, *benchmarks.handle(again))
    (third,) = benchmarks.doubtful()
    assert third.after == tuple(result.event_id for result in results(log))
    assert benchmarks.handle(again) == []
    append(log, *benchmarks.handle(third))
    append(log, *benchmarks.handle(benchmarks.doubtful()[0]))
    assert benchmarks.doubtful() == []
    assert len(runtime.measured) == len({result.event_id for result in results(log)}) == 4


def test_a_limit_of_power_is_no_reason_to_ask_again(log: EventLog) -> None:
    """It would be the same the next time."""
    benchmarks = Benchmarks(log, BusyRuntime(busy=1, reason="heat"), "fp32", clock)
    benchmarks.handle(REQUESTED[0])
    assert benchmarks.doubtful() == []


def results(log: EventLog) -> list[LayerMeasured]:
    return [event for event in written(log, RESULTS) if isinstance(event, LayerMeasured)]


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

    def away(*arguments: object) -> dict[Partition, int]:
        raise BenanzaError("no broker answers")

    with runner_step(log, FakeRuntime(), "fp32", clock) as step, pytest.MonkeyPatch.context() as p:
        p.setattr(log, "end_offsets", away)
        with pytest.raises(BenanzaError, match="no broker answers"):
            step.turn(limit=1)
    assert written(log, DEAD_LETTERS) == []
    assert written(log, RESULTS) == []
