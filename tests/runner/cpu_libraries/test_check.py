"""Is a result right?"""

from math import inf

import numpy as np
import pytest

from benanza_runner.cpu_libraries.check import given_as_known, relative_error, why_wrong
from benanza_runner.cuda.reference import reference
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnx_layers.precision import retyped
from benanza_schemas.layer import Layer, Precision, Tensor
from tests.runner.layers import floats, gemm, relu, single, weights

ONES = np.ones(1_000, np.float32)


def test_a_model_has_the_numbers_of_the_reference_in_its_own_types() -> None:
    layer = gemm(4, 8, 2)
    known = reference(layer, "fp16", threads=1)
    model = given_as_known(layer_model(retyped(layer, "fp16")), known)
    for name, array in {**model.inputs, **model.constants}.items():
        assert array.dtype == np.float16
        assert np.array_equal(array, known.values[int(name.removeprefix("t"))])


@pytest.mark.parametrize(
    ("result", "wanted", "error"),
    [
        (ONES, ONES, 0.0),
        (2 * ONES, ONES, 1.0),
        (0 * ONES, 0 * ONES, 0.0),
        (np.array([1, -inf]), np.array([1, -inf]), 0.0),
        (np.array([2**40 + 1]), np.array([2**40]), 2**-40),
    ],
)
def test_the_error_is_that_of_the_norms(
    result: np.ndarray, wanted: np.ndarray, error: float
) -> None:
    assert relative_error(result, wanted) == pytest.approx(error, rel=1e-3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_wrong(bad: float) -> None:
    result = ONES.copy()
    result[3] = bad
    assert "wrong" in why_wrong({"t1": result}, [ONES], relu(1_000), "fp32")
    assert "wrong" in why_wrong({"t1": ONES}, [result], relu(1_000), "fp32")


def test_the_tolerance_is_that_of_the_precision() -> None:
    near = {"t1": ONES * np.float32(1.001)}
    assert "wrong" in why_wrong(near, [ONES], relu(1_000), "fp32")
    assert not why_wrong(near, [ONES], relu(1_000), "fp16")


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_what_was_computed_in_float32_is_no_result_in_float64(precision: Precision) -> None:
    wanted = np.random.default_rng(0).random(1_000)
    double = Tensor("float64", (1_000,))
    added = single("Add", 14, (double, double), (double,))
    assert not why_wrong({output(added): wanted * (1 + 1e-15)}, [wanted], added, precision)
    rounded = wanted.astype(np.float32).astype(np.float64)
    assert "wrong" in why_wrong({output(added): rounded}, [wanted], added, precision)


def test_a_result_of_another_size_is_wrong() -> None:
    reason = why_wrong({"t1": ONES[1:]}, [ONES], relu(1_000), "fp32")
    assert reason == "wrong result: it has the shape (999,) and not (1000,)"
    assert not why_wrong({"t1": ONES[None]}, [ONES], relu(1_000), "fp32")


def test_integers_may_be_the_next_ones_only_where_they_were_rounded() -> None:
    wanted = np.full(1_000, 40, np.int8)
    result = wanted.copy()
    result[::100] += 1
    eight = Tensor("int8", (1_000,))
    scale, zero = weights(), Tensor("int8", (), constant=True)
    rounded = single("QuantizeLinear", 13, (floats(1_000), scale, zero), (eight,))
    assert not why_wrong({output(rounded): result}, [wanted], rounded, "fp32")
    moved = single("Identity", 13, (eight,), (eight,))
    assert "wrong" in why_wrong({output(moved): result}, [wanted], moved, "fp32")


def output(layer: Layer) -> str:
    (index,) = layer.outputs
    return f"t{index}"
