"""What results are compared with."""

import numpy as np
import pytest

from benanza_runner.cuda.reference import random_inputs, reference
from benanza_runner.onnx_layers.onnx_schemas import numpy_dtype
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision, Tensor
from tests.runner.cuda.layers.more import fixed, layer
from tests.runner.cuda.layers.regions import whole
from tests.runner.layers import floats


@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16"])
def test_constants_of_known_values_are_rounded_as_the_device_keeps_them(
    precision: Precision, opset: int
) -> None:
    x, scale, zero = (0, 1, 2)
    step = fixed(0.03, dtype="float32", scalar=True)
    zeros = fixed(70, dtype="uint8", scalar=True)
    inputs, output = (floats(2, 8, 9, 9), step, zeros), Tensor("uint8", (2, 8, 9, 9))
    given = reference(layer("QuantizeLinear", inputs, output, opset=opset), precision, threads=1)
    rounded = numpy_dtype(PRECISIONS[precision].element_type)
    assert given.values[scale] == np.float32(0.03).astype(rounded)
    quantised = np.rint(given.values[x] / given.values[scale]) + given.values[zero]
    assert np.array_equal(given.outputs[0], np.clip(quantised, 0, 255))


def test_what_is_float32_at_every_precision_stays() -> None:
    factors = fixed(1.0, 1.0, 1.3, 1.3, dtype="float32")
    enlarged = layer(
        "Resize", (floats(1, 2, 9, 9), fixed(dtype="float32"), factors), floats(1, 2, 11, 11)
    )
    assert random_inputs(enlarged, "bf16")[2][2] == np.float32(1.3)


def test_what_the_precision_cannot_hold_is_infinite() -> None:
    masked = layer("Add", (floats(2, 3), fixed(-3e38, dtype="float32")), floats(2, 3))
    assert random_inputs(masked, "fp16")[1] == -np.inf
    assert np.isfinite(random_inputs(masked, "bf16")[1])


def test_a_root_of_what_was_computed_is_of_positive_numbers() -> None:
    """Random numbers of either sign gave no number for some elements."""
    layer = whole("g (float[64] x) => (y) <float e = {0.5}> { a = Add(x, e) y = Sqrt(a) }")
    given = reference(layer, "fp32", threads=1)
    assert np.isfinite(given.outputs[0]).all()
