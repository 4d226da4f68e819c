"""Exported models run as their bounds say, with a runtime that runs nothing."""

import sys
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from benanza_runner.core import Runner
from benanza_runner.runtime import Outcome, RunResult
from benanza_runner.variants import timed_variant
from benanza_schemas.events import Ceiling, RunTimes
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.program import Program
from benanza_schemas.vocabulary import CacheState, StoppedBy
from benchmarks.pytorch import runs as module
from benchmarks.pytorch.arguments import export_path, parsed
from benchmarks.pytorch.bounds import bounds, ingested
from benchmarks.pytorch.covers import analyzer_of
from benchmarks.pytorch.measurements import Measurements
from benchmarks.pytorch.rows import Bounded, Ran, append
from benchmarks.pytorch.runs import main, runs, wanted
from tests.benchmarks.pytorch.test_bounds import WithoutPools, always, exported, measured_by
from tests.runner.fake_runtime import FakeRuntime

TIMES = {CacheState.WARM: 1.0, CacheState.INTERLEAVED: 1.25, CacheState.WEIGHTS_COLD: 2.0}
"""What an operator takes, in microseconds."""


class Witnessing(FakeRuntime):
    """Knows what it ran, has three ways of running a model, and fails in TF32."""

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self.ran: list[Program] = []

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        operators = len(layer.operators)
        return Outcome(
            tuple(
                timed_variant(
                    "fake", "best", (us * operators,) * 5, StoppedBy.CONVERGED, cache=cache
                )
                for cache, us in TIMES.items()
            )
        )

    def cache_bytes(self) -> int:
        """Of which resnet18's weights in float32 take about 0.37."""
        return 120 << 20

    def witness(self, program: Program, precision: Precision) -> RunResult:
        if precision == "tf32":
            raise RuntimeError("first line\nsecond line")
        self.ran.append(program)
        ways = (RunTimes(us, 0.0, (us,)) for us in (70.0, 60.0, 65.0))
        sequential, read_ahead, parallel = ways
        return RunResult(sequential, read_ahead, parallel, 49, 2, 1e-3, 2e-3)


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """A ResNet's."""
    found = export_path(tmp_path, "resnet18", 1)
    found.write_bytes(exported("resnet18"))
    return found


def bounded(
    runtime: FakeRuntime, folder: Path, *precisions: Precision
) -> tuple[Measurements, list[Bounded]]:
    """The ResNet's bounds, and the measurements that they are made of."""
    measured = Measurements(folder / "out.layers.gz", measured_by(runtime))
    content = exported("resnet18")
    return measured, list(bounds(runtime, measured, "resnet18", content, precisions, 1, always))


def test_a_model_is_run_with_the_variants_of_its_bound(export: Path, tmp_path: Path) -> None:
    runtime = Witnessing()
    measured, found = bounded(runtime, tmp_path, "fp32")
    (row,) = runs(runtime, measured, export, found, always)
    (program,) = runtime.ran
    choices = [step.choice for step in program.steps if step.choice]
    assert {(choice.library, choice.algorithm) for choice in choices} == {("fake", "best")}
    assert sum(choice.us for choice in choices) == pytest.approx(1.25 * (found[0].bound_us or 0.0))
    assert row.bound_us == found[0].bound_us
    assert (row.sequential_us, row.read_ahead_us, row.parallel_us) == (70.0, 60.0, 65.0)
    assert row.best_us() == 60.0
    assert (row.calls, row.error, row.allowed_error) == (49, 1e-3, 2e-3)
    assert not row.failed()


def test_the_estimate_is_the_analyzers(export: Path, tmp_path: Path) -> None:
    runtime = Witnessing()
    measured, found = bounded(runtime, tmp_path, "fp32")
    (row,) = runs(runtime, measured, export, found, always)
    now = datetime.now(UTC)
    model, jobs = ingested("resnet18", exported("resnet18"), 1)
    analyzer = analyzer_of(measured.of((job.fingerprint for job in jobs), "fp32"))
    described = Runner(Witnessing(), [], lambda: now).describe()
    ceiling = Ceiling(name="flops", precision="fp32", value=1e9, iqr=0.0)
    analyzer.restore(msgspec.structs.replace(described, ceilings=(ceiling,)))
    (bound,) = (
        each for each in analyzer.handle(model, now) if each.accounting == "full" and each.fusion
    )
    assert row.attainable_us == bound.attainable_us
    assert bound.sequential_us is not None
    # Some of the weights stay in the cache.
    assert 1.25 * bound.sequential_us < (row.attainable_us or 0.0) < 2.0 * bound.sequential_us


def test_without_interleaved_times_there_is_no_estimate(export: Path, tmp_path: Path) -> None:
    measured, found = bounded(FakeRuntime(), tmp_path, "fp32")
    (row,) = runs(FakeRuntime(), measured, export, found, always)
    assert not row.failed()
    assert row.attainable_us is None


def test_a_failure_is_a_row_and_the_next_is_run(export: Path, tmp_path: Path) -> None:
    runtime = Witnessing()
    measured, found = bounded(runtime, tmp_path, "tf32", "fp16")
    fails, right = runs(runtime, measured, export, found, always)
    assert (fails.precision, right.precision) == ("tf32", "fp16")
    assert fails.failed()
    assert fails.failure.startswith("RuntimeError: first line")
    assert not right.failed()
    export.write_bytes(b"no model")
    failed = [row.failure for row in runs(runtime, measured, export, found, always)]
    assert len(failed) == len(found)
    assert all(failed)
    export.unlink()
    failed = [row.failure for row in runs(runtime, measured, export, found, always)]
    assert len(failed) == len(found)
    assert all(failed)


def test_what_lacks_layers_is_not_run(export: Path, tmp_path: Path) -> None:
    measured, found = bounded(WithoutPools(), tmp_path, "fp32")
    found.append(Bounded(model="resnet18", precision="fp16", batch=1, failure="no export"))
    rows = runs(Witnessing(), measured, export, found, lambda: pytest.fail("nothing is begun"))
    assert [row.failure for row in rows] == ["its bound lacks layers", "it has no bound"]


def test_measurements_of_another_system_are_not_run(export: Path, tmp_path: Path) -> None:
    _, found = bounded(FakeRuntime(), tmp_path, "fp32")
    other = Witnessing(threads=2)
    measured = Measurements(tmp_path / "out.layers.gz", measured_by(other))
    (row,) = runs(other, measured, export, found, always)
    assert "not measured on this system" in row.failure
    assert not other.ran


def test_once_no_time_is_left_nothing_is_begun(export: Path, tmp_path: Path) -> None:
    runtime = Witnessing()
    measured, found = bounded(runtime, tmp_path, "fp32", "fp16")

    def turns(count: int) -> Callable[[], bool]:
        left = iter([True] * count)
        return lambda: next(left, False)

    assert not list(runs(runtime, measured, export, found, turns(0)))
    assert [row.precision for row in runs(runtime, measured, export, found, turns(2))] == ["fp32"]
    assert len(runtime.ran) == 1


def test_the_process_runs_what_has_a_bound_and_no_run(
    export: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runtime, file = Witnessing(), tmp_path / "out.jsonl"
    _, found = bounded(runtime, tmp_path, "fp32", "fp16")
    for bound in found:
        append(file, bound)
    append(file, Ran(model="resnet18", precision="fp16", batch=1, sequential_us=50.0))
    models = "--models=resnet18,resnet50", "--precision=fp32,fp16", "--sides=bounds,runs"
    arguments = [str(file), *models, f"--exports={tmp_path}"]
    asked = parsed("", arguments)
    assert wanted(asked) == {"resnet18": found[:1]}
    monkeypatch.setattr(module, "opened", lambda *_, **__: nullcontext(runtime))
    monkeypatch.setattr(sys, "argv", ["runs", *arguments])
    main()
    assert "resnet18 fp32: bound" in capsys.readouterr().out
    assert asked.last(Ran)["resnet18", "fp32", 1].sequential_us == 70.0
    assert asked.last(Ran)["resnet18", "fp16", 1].sequential_us == 50.0
    assert wanted(asked) == {}
