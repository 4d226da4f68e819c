"""Bounds of exported models, with a runtime that takes a microsecond for each operator."""

import gzip
from pathlib import Path

from benanza_runner.runtime import Outcome
from benanza_schemas.layer import Layer, Precision
from benchmarks.pytorch.bounds import Measured, bounds, ingested
from benchmarks.pytorch.report import Bounded
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


def always() -> bool:
    return True


def found(
    runtime: FakeRuntime, measured: Measured, name: str, *precisions: Precision
) -> list[Bounded]:
    return list(bounds(runtime, measured, name, exported(name), precisions, 1, always))


def test_a_model_is_added_up_at_each_precision() -> None:
    model, jobs = ingested("resnet18", exported("resnet18"), 1)
    measured: Measured = {}
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


def test_what_was_measured_for_one_model_is_not_measured_for_the_next() -> None:
    runtime, measured = WithoutPools(), Measured()
    first = found(runtime, measured, "resnet18", "fp32")
    asked = runtime.asked
    assert asked == len(ingested("resnet18", exported("resnet18"), 1)[1])
    assert found(runtime, measured, "resnet18", "fp32") == first
    assert runtime.asked == asked


def test_what_fails_is_named_by_its_operator_and_reason() -> None:
    (bound,) = found(WithoutPools(), {}, "resnet18", "fp32")
    (lacking,) = bound.lacking
    assert lacking.operators == {"MaxPool": 1}
    assert lacking.reason == "paper has no pools"
    assert bound.measured() == bound.counted - 1


def test_once_no_time_is_left_the_bound_says_what_it_lacks() -> None:
    turns = iter([True, True, *[False] * 1_000])
    measured: Measured = {}
    (bound,) = bounds(
        FakeRuntime(), measured, "resnet18", exported("resnet18"), ["fp32"], 1, lambda: next(turns)
    )
    assert len(measured) == 2
    assert bound.failure == ""
    assert 0 < bound.measured() < bound.counted


def test_with_nothing_measured_there_is_no_bound() -> None:
    (bound,) = bounds(
        FakeRuntime(), {}, "resnet18", exported("resnet18"), ["fp32"], 1, lambda: False
    )
    assert bound.bound_us is None
    assert bound.failure == "nothing of it was measured"


def test_what_is_no_model_is_a_failure_at_each_precision() -> None:
    rows = list(bounds(FakeRuntime(), {}, "nothing", b"no model", ["fp32", "fp16"], 1, always))
    assert [row.precision for row in rows] == ["fp32", "fp16"]
    assert all(row.failure and row.bound_us is None for row in rows)
