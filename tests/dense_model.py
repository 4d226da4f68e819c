"""A small model that normalises what it has concatenated before it convolves it."""

import numpy as np
import onnx
from onnx import TensorProto, helper


def dense_model(seed: int = 1) -> bytes:
    """A layer as densenet has it, with a residual: BatchNormalization, Relu and a convolution of
    1x1, and the same with one of 3x3, on what was concatenated.
    """
    random = np.random.default_rng(seed)
    kernels = {"w1": (64, 32, 1, 1), "w2": (32, 64, 3, 3), "w3": (64, 32, 3, 3)}
    vectors = {"n1": 32, "n2": 64, "n3": 32}
    nodes = [
        helper.make_node("Concat", ["x", "z"], ["k"], axis=1),
        *_normalised("k", "n1", "r1"),
        helper.make_node("Conv", ["r1", "w1"], ["c1"]),
        helper.make_node("MaxPool", ["c1"], ["p"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        *_normalised("p", "n2", "r2"),
        helper.make_node("Conv", ["r2", "w2"], ["c2"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c2", "k"], ["a"]),
        helper.make_node("Relu", ["a"], ["e"]),
        helper.make_node("MaxPool", ["e"], ["q"], kernel_shape=[2, 2], strides=[2, 2]),
        *_normalised("q", "n3", "r3"),
        helper.make_node("Conv", ["r3", "w3"], ["y"], pads=[1, 1, 1, 1]),
    ]
    initializers = [
        onnx.numpy_helper.from_array(random.standard_normal(shape, np.float32) / 8, name)
        for name, shape in kernels.items()
    ] + [
        onnx.numpy_helper.from_array(random.uniform(0.5, 1.5, size).astype(np.float32), name)
        for name, size in vectors.items()
    ]
    graph = helper.make_graph(
        nodes,
        "dense",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 16, 14, 14]) for n in "xz"],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 64, 7, 7])],
        initializers,
    )
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    encoded: bytes = model.SerializeToString()
    return encoded


def _normalised(value: str, vector: str, result: str) -> list[onnx.NodeProto]:
    return [
        helper.make_node("BatchNormalization", [value, *(vector,) * 4], [f"{result}n"]),
        helper.make_node("Relu", [f"{result}n"], [result]),
    ]
