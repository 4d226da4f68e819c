"""Groups that ONNX Runtime runs between Reshapes."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from benanza_runner.onnx_layers.layer_model import LayerModel, layer_model
from benanza_runner.onnxruntime.end_views import without_end_views
from benanza_runner.onnxruntime.graph import as_run
from benanza_runner.onnxruntime.session import CPU
from benanza_schemas.layer import Layer
from tests.ingest.running import run
from tests.runner.layers import floats, operator, weights


def product() -> Layer:
    """A MatMul of three axes and an Add."""
    y = floats(2, 5, 8)
    operators = operator("MatMul", 13, (0, 1), (3,)), operator("Add", 14, (3, 2), (4,))
    return Layer((floats(2, 5, 12), weights(12, 8), weights(8), y, y), operators, (4,))


def model(nodes: str, *, outputs: str = "y") -> LayerModel:
    text = (
        '<ir_version: 8, opset_import: ["" : 17]>'
        f"g (float[2,6,4] x) => (float[2,6,4] {outputs}) <int64[2] s = {{0,-1}},"
        f" int64[3] t = {{2,6,4}}> {{ {nodes} }}"
    )
    array = np.arange(48, dtype=np.float32).reshape(2, 6, 4) - 20
    return LayerModel(parser.parse_model(text), {}, {"x": array})


def op_types(found: LayerModel) -> list[str]:
    return [node.op_type for node in found.proto.graph.node]


def results(of: LayerModel) -> list[np.ndarray]:
    constants = of.constants
    whole = onnx.ModelProto()
    whole.CopyFrom(of.proto)
    kept = [tensor for tensor in whole.graph.initializer if tensor.name not in constants]
    del whole.graph.initializer[:]
    whole.graph.initializer.extend(kept)
    whole.graph.initializer.extend(
        onnx.numpy_helper.from_array(array, name) for name, array in constants.items()
    )
    return run(whole.SerializeToString(), of.inputs)


def test_a_product_is_one_call(tmp_path: Path) -> None:
    before = as_run(layer_model(product()), tmp_path, CPU, optimised=True)
    assert op_types(before) == ["Reshape", "Gemm", "Reshape"]
    found = without_end_views(before, CPU)
    assert op_types(found) == ["Gemm"]
    assert [array.shape for array in found.inputs.values()] == [(10, 12)]
    (wanted,), (given,) = results(before), results(found)
    assert given.shape == (10, 8)
    np.testing.assert_array_equal(given.reshape(wanted.shape), wanted)
    (output,) = found.proto.graph.output
    assert [dim.dim_value for dim in output.type.tensor_type.shape.dim] == [10, 8]


@pytest.mark.parametrize(
    ("nodes", "left"),
    [
        ("a = Reshape(x, s) b = Relu(a) y = Reshape(b, t)", ["Relu"]),
        ("a = Relu(x) b = Neg(a) y = Reshape(b, t)", ["Relu", "Neg"]),
        # What is read elsewhere as well is needed in both shapes.
        ("a = Reshape(x, s) b = Reshape(a, t) y = Add(b, x)", ["Reshape", "Reshape", "Add"]),
        ("a = Relu(x) b = Reshape(a, s) c = Neg(b) y = Reshape(c, t)", ["Relu", "Reshape", "Neg"]),
        ("a = Shape(x) b = Relu(x) y = Reshape(b, a)", ["Shape", "Relu"]),
        ("y = Reshape(x, t)", ["Reshape"]),
    ],
)
def test_only_views_at_the_ends_go(nodes: str, left: list[str]) -> None:
    before = model(nodes)
    found = without_end_views(before, CPU)
    assert op_types(found) == left
    (wanted,), (given,) = results(before), results(found)
    np.testing.assert_array_equal(given.reshape(wanted.shape), wanted)
