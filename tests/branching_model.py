"""A small model with what makes a program of one hard: branches, views, and what reads them."""

import numpy as np
import onnx
from onnx import TensorProto, helper


def branching_model(seed: int = 1) -> bytes:
    """Convolutions with a residual, a concatenation, a shuffle, a flattened image, a softmax."""
    random = np.random.default_rng(seed)
    weights = {
        "w1": (16, 8, 3, 3),
        "b1": (16,),
        "w2": (16, 16, 3, 3),
        "w3": (8, 16, 1, 1),
        "fc": (10, 24 * 7 * 7),
        "fb": (10,),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c2", "r1"], ["a"]),
        helper.make_node("Conv", ["r1", "w3"], ["c3"]),
        helper.make_node("Concat", ["a", "c3"], ["k"], axis=1),
        helper.make_node("MaxPool", ["k"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Reshape", ["p", "grouped"], ["g"]),
        helper.make_node("Transpose", ["g"], ["t"], perm=[0, 2, 1, 3, 4]),
        helper.make_node("Reshape", ["t", "whole"], ["s"]),
        helper.make_node("Flatten", ["s"], ["f"]),
        helper.make_node("Gemm", ["f", "fc", "fb"], ["l"], transB=1),
        helper.make_node("Softmax", ["l"], ["y"]),
    ]
    initializers = [
        onnx.numpy_helper.from_array(random.standard_normal(shape, np.float32) / 8, name)
        for name, shape in weights.items()
    ]
    for name, shape in (("grouped", [2, 4, 6, 7, 7]), ("whole", [2, 24, 7, 7])):
        initializers.append(onnx.numpy_helper.from_array(np.array(shape, np.int64), name))
    graph = helper.make_graph(
        nodes,
        "branching",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8, 14, 14])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 10])],
        initializers,
    )
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    encoded: bytes = model.SerializeToString()
    return encoded
