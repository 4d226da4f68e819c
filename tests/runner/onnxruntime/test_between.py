"""Groups on integers run as ONNX Runtime runs them within a model."""

import numpy as np
import pytest

from benanza_runner.onnx_layers.layer_model import LayerModel, layer_model
from benanza_runner.onnxruntime.between import between_floats
from benanza_runner.onnxruntime.forms import forms_of
from benanza_runner.onnxruntime.session import CPU, Session
from benanza_schemas.identity import canonical
from benanza_schemas.layer import AttributeValue, Layer, Operator, Tensor
from tests.runner.layers import floats, operator, weights

CHANNELS, SIZE = 16, 6
MAP = (1, CHANNELS, SIZE, SIZE)
VERSIONS = {"AveragePool": 19, "Conv": 11, "Sigmoid": 13}
SCALE = Tensor("float32", (), constant=True)


def scaled(kind: str, tensor: Tensor, place: int) -> tuple[list[Tensor], Operator]:
    """A QuantizeLinear to this tensor or a DequantizeLinear from it, and the tensors after the
    first `place`.
    """
    numbers, zero = floats(*tensor.shape), Tensor(tensor.dtype, (), constant=True)
    first, last = (tensor, numbers) if kind == "DequantizeLinear" else (numbers, tensor)
    places = tuple(range(place, place + 4))
    return [first, SCALE, zero, last], operator(kind, 21, places[:3], places[3:], axis=1)


def unit(dtype: str, op_type: str, *more: Tensor, **attributes: AttributeValue) -> Layer:
    """DequantizeLinear, the operator with these further quantised constants, QuantizeLinear."""
    tensors: list[Tensor] = []
    operators, read = [], []
    for tensor in (Tensor(dtype, MAP), *more):
        made, dequantise = scaled("DequantizeLinear", tensor, len(tensors))
        tensors += made
        operators.append(dequantise)
        read.append(len(tensors) - 1)
    made, quantise = scaled("QuantizeLinear", Tensor(dtype, MAP), len(tensors))
    operators += [
        operator(op_type, VERSIONS[op_type], tuple(read), quantise.inputs[:1], "", **attributes)
    ]
    operators.append(quantise)
    return canonical(Layer((*tensors, *made), tuple(operators), quantise.outputs))


WEIGHTS = Tensor("int8", (CHANNELS, CHANNELS, 3, 3), constant=True)
BIAS = Tensor("int32", (CHANNELS,), constant=True)
PADS: dict[str, AttributeValue] = {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1)}


def only(layer: Layer) -> LayerModel:
    form = forms_of(layer, layer_model(layer), CPU, "fp32")[-1]
    assert len(form.op_types()) == 1, form.op_types()
    return form.model


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("constants", [(WEIGHTS,), (WEIGHTS, BIAS)], ids=["alone", "bias"])
def test_a_convolution_of_integers_has_channels_last(
    dtype: str, constants: tuple[Tensor, ...]
) -> None:
    model = only(unit(dtype, "Conv", *constants, **PADS))
    (node,) = model.proto.graph.node
    assert node.op_type == "QLinearConv"
    assert [array.shape for array in model.inputs.values()] == [(1, SIZE, SIZE, CHANNELS)]
    assert all((array != 0).all() for array in model.inputs.values())
    call = Session(model.proto, model.constants, model.inputs, CPU, threads=1).call()
    assert call.us > 0


def test_a_pooling_of_integers() -> None:
    dilated = {**PADS, "dilations": (1, 1)}
    (node,) = only(unit("uint8", "AveragePool", **dilated)).proto.graph.node
    assert node.op_type == "QLinearAveragePool"


def test_a_product_of_four_bit_weights() -> None:
    packed = Tensor("int4", (64, 32), constant=True)
    tensors = packed, weights(2, 32), floats(64, 32), floats(3, 64), floats(3, 32)
    operators = (
        operator("DequantizeLinear", 21, (0, 1), (2,), axis=0, block_size=32),
        operator("MatMul", 13, (3, 2), (4,)),
    )
    model = only(Layer(tensors, operators, (4,)))
    assert [node.op_type for node in model.proto.graph.node] == ["MatMulNBits"]


def test_only_signed_integers_are_made_of_floats() -> None:
    assert between_floats(layer_model(unit("uint8", "Sigmoid"))) is None
    signed = between_floats(layer_model(unit("int8", "Sigmoid")))
    assert signed is not None
    ran = [node.op_type for node in signed.proto.graph.node]
    pair = ["QuantizeLinear", "DequantizeLinear"]
    assert ran == [*pair, "Sigmoid", *pair]
    assert {array.dtype for array in signed.inputs.values()} == {np.dtype(np.float32)}
