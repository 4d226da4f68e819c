"""Bounds of exported models, with a runtime that takes a microsecond for each operator."""

import gzip
import sys
from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest

from benanza_runner.core import in_tf32
from benanza_runner.runtime import Outcome
from benanza_schemas.events import BenchmarkRequested, System, identified
from benanza_schemas.layer import Layer, Precision
from benchmarks.pytorch import bounds as module
from benchmarks.pytorch.bounds import bounds, ingested, main, speed
from benchmarks.pytorch.measurements import Measurements
from benchmarks.pytorch.rows import Bounded
from tests.runner.fake_runtime import FakeRuntime

EXPORTED = Path(__file__).parents[2] / "data" / "exported"


def exported(name: str) -> bytes:
    return gzip.decompress((EXPORTED / f"torchvision-{name}.onnx.gz").read_bytes())


class WithoutPools(FakeRuntime):
    """Knows how often it was asked, and has no pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        self.asked += 1
        if any(operator.op_type == "MaxPool" for operator in layer.operators):
            return Outcome(failure="paper has no pools")
        return super().measure(layer, precision)


@pytest.fixture
def measured(tmp_path: Path) -> Measurements:
    """Nothing yet."""
    return Measurements(tmp_path / "layers.gz", FakeRuntime().system().system_id)


def always() -> bool:
    return True


def found(
    runtime: FakeRuntime, measured: Measurements, name: str, *precisions: Precision
) -> list[Bounded]:
    return list(bounds(runtime, measured, name, exported(name), precisions, 1, always))


def test_a_model_is_added_up_at_each_precision(measured: Measurements) -> None:
    model, jobs = ingested("resnet18", exported("resnet18"), 1)
    fp32, fp16 = found(FakeRuntime(), measured, "resnet18", "fp32", "fp16")
    assert (fp32.precision, fp16.precision) == ("fp32", "fp16")
    assert len(measured) == 2 * len(jobs)
    takes_time = [model.summaries[use.summary].kind != "view" for use in model.layers]
    assert fp32.counted == fp32.measured() == sum(takes_time)
    # Each operator takes a microsecond, in a group as alone.
    assert fp32.bound_us == sum(takes_time)
    assert fp32.parallel_us is not None
    assert fp32.parallel_us < fp32.bound_us
    assert fp32.failure == ""


def test_the_speed_counts_what_was_measured_now(measured: Measurements, tmp_path: Path) -> None:
    _, jobs = ingested("resnet18", exported("resnet18"), 1)
    found(FakeRuntime(), measured, "resnet18", "fp32")
    later = Measurements(tmp_path / "layers.gz", FakeRuntime().system().system_id)
    for event in measured.of((job.fingerprint for job in jobs[:3]), "fp32"):
        later.add(msgspec.structs.replace(event, environment={"device_seconds": "0.5"}))
    said = "3 layers in 2 s: 1.5 layers a second, the GPU in use for 75%"
    assert speed(later, 2.0) == said


def test_what_was_measured_for_one_model_is_not_measured_for_the_next(
    measured: Measurements,
) -> None:
    runtime = WithoutPools()
    first = found(runtime, measured, "resnet18", "fp32")
    asked = runtime.asked
    assert asked == len(ingested("resnet18", exported("resnet18"), 1)[1])
    assert found(runtime, measured, "resnet18", "fp32") == first
    assert runtime.asked == asked


def test_what_fails_is_named_by_its_operator_and_reason(measured: Measurements) -> None:
    (bound,) = found(WithoutPools(), measured, "resnet18", "fp32")
    (lacking,) = bound.lacking
    assert lacking.operators == {"MaxPool": 1}
    assert lacking.reason == "paper has no pools"
    assert bound.measured() == bound.counted - 1


def test_once_no_time_is_left_there_is_no_bound_and_the_next_run_goes_on(
    measured: Measurements, tmp_path: Path
) -> None:
    content = exported("resnet18")
    turns = iter([True, True, False])
    assert not list(
        bounds(
            FakeRuntime(),
            measured,
            "resnet18",
            content,
            ["fp32", "fp16"],
            1,
            lambda: next(turns),
        )
    )
    assert len(measured) == 2

    runtime = WithoutPools()
    later = Measurements(tmp_path / "layers.gz", runtime.system().system_id)
    (bound,) = found(runtime, later, "resnet18", "fp32")
    assert bound.bound_us is not None
    assert runtime.asked == len(later) - 2


def test_what_is_no_model_is_a_failure_at_each_precision(measured: Measurements) -> None:
    rows = list(
        bounds(FakeRuntime(), measured, "nothing", b"no model", ["fp32", "fp16"], 1, always)
    )
    assert [row.precision for row in rows] == ["fp32", "fp16"]
    assert all(row.failure and row.bound_us is None for row in rows)


def fingerprints(jobs: list[BenchmarkRequested]) -> list[str]:
    return [job.fingerprint for job in jobs]


class OnGpu(WithoutPools):
    """Has Tensor Cores."""

    def system(self) -> System:
        return identified(msgspec.structs.replace(super().system(), accelerator="paper GPU"))


def test_what_multiplies_nothing_is_not_measured_again_in_tf32(tmp_path: Path) -> None:
    runtime = OnGpu()
    measured = Measurements(tmp_path / "layers.gz", measured_by(runtime))
    _, jobs = ingested("resnet18", exported("resnet18"), 1)
    first, second = found(runtime, measured, "resnet18", "fp32", "tf32")
    in_fp32 = {event.fingerprint: event for event in measured.of(fingerprints(jobs), "fp32")}
    same = sum(in_tf32(job, in_fp32[job.fingerprint]) is not None for job in jobs)
    assert 0 < same < len(jobs)
    assert runtime.asked == measured.added == 2 * len(jobs) - same
    assert len(measured) == 2 * len(jobs)
    assert first.bound_us == second.bound_us
    assert len(Measurements(tmp_path / "layers.gz", measured_by(runtime))) == len(measured)


@pytest.mark.parametrize(("sides", "interleaved"), [("bounds", False), ("bounds,runs", True)])
def test_what_will_be_run_is_timed_interleaved(
    sides: str, interleaved: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def opened(_: Path, *, interleaved: bool) -> nullcontext[FakeRuntime]:
        asked.append(interleaved)
        return nullcontext(FakeRuntime())

    monkeypatch.setattr(module, "opened", opened)
    arguments = ["--models=resnet18", "--seconds=-1", f"--sides={sides}"]
    monkeypatch.setattr(sys, "argv", ["bounds", str(tmp_path / "out.jsonl"), *arguments])
    main()
    assert asked == [interleaved]


def test_the_measurements_of_another_system_do_not_count(
    measured: Measurements, tmp_path: Path
) -> None:
    found(FakeRuntime(), measured, "resnet18", "fp32")
    assert len(Measurements(tmp_path / "layers.gz", measured_by(FakeRuntime()))) == len(measured)
    assert len(Measurements(tmp_path / "layers.gz", measured_by(FakeRuntime(threads=2)))) == 0


def measured_by(runtime: FakeRuntime) -> str:
    return runtime.system().system_id
