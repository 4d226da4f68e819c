"""Nodes between others whose feature maps have their channels last."""

import numpy as np
import pytest
from onnx import parser

from benanza_runner.onnx_layers.layer_model import LayerModel
from benanza_runner.onnxruntime.channels_last import channels_last
from benanza_runner.onnxruntime.runtime import OnnxRuntime
from benanza_schemas.layer import Tensor
from benanza_schemas.times import time_us
from tests.ingest.running import run
from tests.runner.layers import single

SHAPE = (2, 6, 5, 4)


def model(node: str, result: str, *, kind: str = "uint8") -> LayerModel:
    text = (
        '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>'
        f"g ({kind}[2,6,5,4] x) => ({result} y)"
        f" <float s = {{0.1}}, uint8 z = {{0}}, int64[3] at = {{4, 0, 5}}> {{ y = {node} }}"
    )
    numbers = np.random.default_rng(0).integers(0, 200, SHAPE)
    array = numbers.astype(np.float32 if kind == "float" else np.uint8)
    return LayerModel(parser.parse_model(text), {}, {"x": array})


def results(of: LayerModel) -> np.ndarray:
    (found,) = run(of.proto.SerializeToString(), of.inputs)
    return found


POOLED = "kernel_shape = [3, 3], pads = [1, 1, 1, 1]"
IN_SPACE = {
    "pooling": (f"MaxPool<{POOLED}>(x)", "uint8[2,6,5,4]", "NhwcMaxPool"),
    "average": (
        f"com.microsoft.QLinearAveragePool<{POOLED}>(x, s, z, s, z)",
        "uint8[2,6,5,4]",
        "QLinearAveragePool",
    ),
    "over channels": (
        "com.microsoft.QLinearSoftmax<axis = 1, opset = 13>(x, s, z, s, z)",
        "uint8[2,6,5,4]",
        "QLinearSoftmax",
    ),
    "joined": (
        "com.microsoft.QLinearConcat<axis = 1>(s, z, x, s, z, x, s, z)",
        "uint8[2,12,5,4]",
        "QLinearConcat",
    ),
}


@pytest.mark.parametrize(("node", "result", "op_type"), IN_SPACE.values(), ids=IN_SPACE)
def test_a_node_of_integers_gives_the_same_with_channels_last(
    node: str, result: str, op_type: str
) -> None:
    first = model(node, result)
    last = channels_last(first)
    assert last is not None
    assert [each.op_type for each in last.proto.graph.node] == [op_type]
    np.testing.assert_array_equal(results(last), np.moveaxis(results(first), 1, -1))


def test_floats_have_the_axis_of_the_channels_last() -> None:
    first = model("Softmax<axis = 1>(x)", "float[2,6,5,4]", kind="float")
    last = channels_last(first)
    assert last is not None
    (node,) = last.proto.graph.node
    assert [(each.name, each.i) for each in node.attribute] == [("axis", 3)]
    np.testing.assert_allclose(results(last), np.moveaxis(results(first), 1, -1), rtol=1e-5)


@pytest.mark.parametrize(
    ("node", "result", "kind"),
    [
        ("Relu(x)", "float[2,6,5,4]", "float"),
        (f"MaxPool<{POOLED}>(x)", "float[2,6,5,4]", "float"),
        ("Transpose<perm = [0, 2, 3, 1]>(x)", "uint8[2,5,4,6]", "uint8"),
        ("Gather<axis = 1>(x, at)", "uint8[2,3,5,4]", "uint8"),
        ("com.microsoft.QuantizeLinear(x, s, z)", "uint8[2,6,5,4]", "float"),
    ],
    ids=[
        *("element-wise", "floats in blocks", "a Transpose", "one that needs them first"),
        "a scale for all",
    ],
)
def test_where_there_is_no_such_node(node: str, result: str, kind: str) -> None:
    assert channels_last(model(node, result, kind=kind)) is None


def test_a_layer_without_feature_maps_has_none() -> None:
    layer = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]>'
        "g (uint8[6,4] x) => (uint8[6,4] y) { y = Identity(x) }"
    )
    assert channels_last(LayerModel(layer, {}, {"x": np.ones((6, 4), np.uint8)})) is None


def test_a_pooling_of_integers_is_as_fast_as_within_a_model() -> None:
    """Channels first, ONNX Runtime has no vectorised kernel for it: a tenth of the speed."""
    before, after = (Tensor("uint8", (1, 24, size, size)) for size in (176, 88))
    layer = single(
        "MaxPool", 12, (before,), (after,), kernel_shape=(3, 3), pads=(1, 1, 1, 1), strides=(2, 2)
    )
    variants = OnnxRuntime(threads=1, libraries=()).measure(layer, "fp32").variants
    first, last = (each for each in variants if not each.failure)
    assert (first.layout, last.layout) == ("", "NHWC")
    assert time_us(last)[0] < time_us(first)[0] / 3
    assert last.layout_change_us == 0.0
