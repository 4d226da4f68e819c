"""A small model with attention: queries, keys and values are parts of one product's result."""

import numpy as np
import onnx
from onnx import TensorProto, helper

TOKENS, HEADS, SIZE = 64, 2, 32


def attending_model(seed: int = 1) -> bytes:
    """A product, attention written out, with a mask, and a product with a residual."""
    random = np.random.default_rng(seed)
    width = HEADS * SIZE
    weights = {"w1": (width, 3 * width), "w2": (width, width), "m": (1, 1, TOKENS, TOKENS)}
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"]),
        helper.make_node("Reshape", ["a", "parts"], ["b"]),
        helper.make_node("Transpose", ["b"], ["c"], perm=[2, 0, 3, 1, 4]),
        *(helper.make_node("Gather", ["c", str(n)], [name]) for n, name in enumerate("qkv")),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        helper.make_node("Mul", ["q", "root"], ["q1"]),
        helper.make_node("Mul", ["kt", "root"], ["k1"]),
        helper.make_node("MatMul", ["q1", "k1"], ["s"]),
        helper.make_node("Add", ["s", "m"], ["s1"]),
        helper.make_node("Softmax", ["s1"], ["p"]),
        helper.make_node("MatMul", ["p", "v"], ["o"]),
        helper.make_node("Transpose", ["o"], ["t"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["t", "flat"], ["f"]),
        helper.make_node("MatMul", ["f", "w2"], ["g"]),
        helper.make_node("Add", ["g", "x"], ["y"]),
    ]
    initializers = [
        onnx.numpy_helper.from_array(random.standard_normal(shape, np.float32) / 8, name)
        for name, shape in weights.items()
    ]
    shapes = {"parts": [2, TOKENS, 3, HEADS, SIZE], "flat": [2, TOKENS, width]}
    for name, whole in (shapes | {"0": 0, "1": 1, "2": 2}).items():
        initializers.append(onnx.numpy_helper.from_array(np.array(whole, np.int64), name))
    root = np.array(SIZE**-0.25, np.float32)
    initializers.append(onnx.numpy_helper.from_array(root, "root"))
    shape = (2, TOKENS, width)
    graph = helper.make_graph(
        nodes,
        "attending",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    content: bytes = model.SerializeToString()
    return content
