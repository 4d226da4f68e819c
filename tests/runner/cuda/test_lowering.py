"""Calls mean what their layers mean: computed in NumPy, against ONNX Runtime."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.cuda.calls import Convolution, Elementwise
from benanza_runner.cuda.lowering import lower
from benanza_runner.cuda.reference import reference
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.identity import canonical
from benanza_schemas.layer import Layer, Tensor
from tests.runner.cuda.numpy_calls import compute
from tests.runner.cuda.sample_layers import LAYERS, convolution
from tests.runner.layers import conv_group, floats, operator, single, weights

VECTOR = floats(3, 5)
UNARY = (
    "Abs Ceil Cos Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Log Mish Neg Reciprocal "
    "Relu Round Sigmoid Sin Softplus Softsign Sqrt Tanh"
).split()
BINARY = "Add Div Max Min Mul PRelu Pow Sub Sum".split()
VERSIONS = {
    "Cos": 7,
    "Elu": 6,
    "Gelu": 20,
    "HardSigmoid": 6,
    "HardSwish": 14,
    "LeakyRelu": 16,
    "Mish": 18,
    "PRelu": 16,
    "Round": 11,
    "Sin": 7,
    "Softplus": 1,
    "Softsign": 1,
}
"""The newest before opset 22, where they differ from 13."""


def check(layer: Layer, folder: Path) -> None:
    given = reference(layer, "fp32", threads=1)
    lowered = lower(layer, given.values)
    if isinstance(lowered.call, Elementwise) and shutil.which("cc") is None:
        pytest.skip("there is no C compiler here")
    operands = {name: array.astype(np.float64) for name, array in lowered.operands.items()}
    found = compute(lowered.call, operands, folder)
    np.testing.assert_allclose(found.reshape(given.outputs[0].shape), given.outputs[0], 1e-4, 1e-5)


@pytest.mark.parametrize("name", list(LAYERS))
def test_every_kind_of_layer(name: str, tmp_path: Path) -> None:
    check(LAYERS[name], tmp_path)


@pytest.mark.parametrize("op_type", UNARY)
def test_every_function_of_one_value(op_type: str, tmp_path: Path) -> None:
    version = VERSIONS.get(op_type, 13)
    check(single(op_type, version, (VECTOR,), (VECTOR,)), tmp_path)


@pytest.mark.parametrize("op_type", BINARY)
def test_every_function_of_two_values(op_type: str, tmp_path: Path) -> None:
    version = VERSIONS.get(op_type, 14 if op_type in ("Add", "Sub", "Mul", "Div") else 13)
    check(single(op_type, version, (VECTOR, VECTOR), (VECTOR,)), tmp_path)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_pads_that_follow_from_the_shapes(auto_pad: str, tmp_path: Path) -> None:
    size = 3 if auto_pad == "VALID" else 4
    layer = convolution(
        (1, 4, 8, 8), (4, 4, 3, 3), (1, 4, size, size), strides=(2, 2), auto_pad=auto_pad
    )
    check(layer, tmp_path)


def test_a_pooling_rounded_up(tmp_path: Path) -> None:
    image, result = floats(1, 2, 8, 8), floats(1, 2, 4, 4)
    layer = single(
        "MaxPool", 12, (image,), (result,), kernel_shape=(3, 3), strides=(2, 2), ceil_mode=1
    )
    check(layer, tmp_path)


@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("first", [True, False])
def test_a_weight_by_channel_after_a_convolution(op_type: str, first: bool, tmp_path: Path) -> None:
    if op_type == "Div" and not first:
        pytest.skip("a weight divided by a value is no factor")
    image = floats(1, 4, 5, 5)
    order = (2, 3) if first else (3, 2)
    layer = Layer(
        (image, weights(4, 4, 1, 1), image, weights(4, 1, 1), image),
        (operator("Conv", 11, (0, 1), (2,)), operator(op_type, 14, order, (4,))),
        (4,),
    )
    check(canonical(layer), tmp_path)


def test_batch_normalisation_goes_into_the_filter() -> None:
    layer = conv_group(8, 6, "BatchNormalization", "Relu")
    call, operands, constants = lower(layer, reference(layer, "fp32", 1).values)
    assert isinstance(call, Convolution)
    assert call.bias
    assert call.activation == "Relu"
    assert set(operands) == {"image", "filter", "bias"}
    assert constants == {"filter", "bias"}


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (single("TopK", 11, (floats(4),), (floats(2), floats(2))), "several outputs"),
        (single("Relu", 14, (floats(4),), (floats(4),), domain="mine"), "no operator of the"),
        (single("Det", 11, (floats(4, 4),), (floats(1),)), "no library here runs Det"),
        (
            single("Concat", 13, (Tensor("int64", (2,)),) * 2, (Tensor("int64", (4,)),), axis=0),
            "Concat with int64 is not done yet",
        ),
        (conv_group(8, 6, "Relu", "Add"), "after the activation"),
        (conv_group(8, 6, "Add", "BatchNormalization"), "after a residual"),
    ],
)  # fmt: skip
def test_what_cannot_be_lowered_has_a_reason(layer: Layer, reason: str) -> None:
    values = {i: np.ones(layer.tensors[i].shape, np.float32) for i in layer.inputs()}
    with pytest.raises(UnsupportedError, match=reason):
        lower(layer, values)
