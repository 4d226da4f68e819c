"""A small model of operators with several results, in orders that differ from the operators'."""

import numpy as np
import onnx
from onnx import TensorProto, helper


def choosing_model() -> bytes:
    """Parts of an image put together in another order; the largest numbers with their places, and
    the place of the least: each read by what follows.
    """
    nodes = [
        helper.make_node("Split", ["x", "lengths"], ["two", "three", "four"], axis=1),
        helper.make_node("Concat", ["four", "two", "three"], ["turned"], axis=1),
        helper.make_node("Flatten", ["turned"], ["rows"]),
        helper.make_node("TopK", ["rows", "count"], ["values", "places"]),
        helper.make_node("GatherElements", ["rows", "places"], ["gathered"], axis=1),
        helper.make_node("Add", ["values", "gathered"], ["twice"]),
        helper.make_node("ArgMin", ["rows"], ["least"], axis=1),
        helper.make_node("GatherElements", ["rows", "least"], ["minimum"], axis=1),
        helper.make_node("Sub", ["twice", "minimum"], ["y"]),
    ]
    initializers = [
        onnx.numpy_helper.from_array(np.array(numbers, np.int64), name)
        for name, numbers in (("lengths", [2, 3, 4]), ("count", [5]))
    ]
    graph = helper.make_graph(
        nodes,
        "choosing",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 9, 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 5])],
        initializers,
    )
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    encoded: bytes = model.SerializeToString()
    return encoded
