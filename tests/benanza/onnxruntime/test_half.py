"""A model in float16, against itself in float32."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from benanza.onnxruntime.half import half
from benanza_runner.arrays import Array


def model(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    """From `x` to `y`, both of four elements."""
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", "y")]
    weights = [
        numpy_helper.from_array(np.array([0.5, 1, 2, 4], np.float32), "w"),
        numpy_helper.from_array(np.array([2, 2], np.int64), "shape"),
        numpy_helper.from_array(np.array([4], np.int64), "flat"),
        numpy_helper.from_array(np.array([1], np.float32), "scales"),
    ]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=10)


def run(proto: onnx.ModelProto, x: Array) -> Array:
    onnx.checker.check_model(proto, full_check=True)
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    found: Array = session.run(None, {"x": x})[0]
    return found


CONSTANT = numpy_helper.from_array(np.array([3], np.float32), "")
NODES = {
    "a weight": [helper.make_node("Mul", ["x", "w"], ["y"])],
    "a weight of integers": [
        helper.make_node("Reshape", ["x", "shape"], ["square"]),
        helper.make_node("Reshape", ["square", "flat"], ["y"]),
    ],
    "a cast": [
        helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT32),
        helper.make_node("Cast", ["i"], ["y"], to=TensorProto.FLOAT),
    ],
    "a constant": [
        helper.make_node("Constant", [], ["c"], value=CONSTANT),
        helper.make_node("Mul", ["x", "c"], ["y"]),
    ],
    "a constant number": [
        helper.make_node("Constant", [], ["c"], value_float=3.0),
        helper.make_node("Mul", ["x", "c"], ["y"]),
    ],
    "constant numbers": [
        helper.make_node("Constant", [], ["c"], value_floats=[3.0]),
        helper.make_node("Mul", ["x", "c"], ["y"]),
    ],
    "a constant of a shape": [
        helper.make_node("ConstantOfShape", ["flat"], ["c"], value=CONSTANT),
        helper.make_node("Mul", ["x", "c"], ["y"]),
    ],
    "an input that stays": [helper.make_node("Resize", ["x", "", "scales"], ["y"])],
    "an attribute that stays": [helper.make_node("LeakyRelu", ["x"], ["y"], alpha=0.25)],
}


@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
def test_it_computes_the_same(nodes: list[onnx.NodeProto]) -> None:
    whole = model(*nodes)
    kept = whole.SerializeToString()
    x = np.array([-2, 1, 2, 3], np.float32)
    found = run(half(whole), x.astype(np.float16))
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, run(whole, x))
    assert whole.SerializeToString() == kept
