"""A small model whose feature maps become tokens, and maps again."""

import numpy as np
import onnx
from onnx import TensorProto, helper

CHANNELS, SIDE = 64, 14


def viewing_model(seed: int = 1) -> bytes:
    """A convolution, a product over its tokens, normalised, and a convolution of their map."""
    random = np.random.default_rng(seed)
    weights = {
        "w1": (CHANNELS, CHANNELS, 3, 3),
        "w2": (CHANNELS, CHANNELS),
        "scale": (CHANNELS,),
        "shift": (CHANNELS,),
        "w3": (CHANNELS, CHANNELS, 3, 3),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("Reshape", ["c1", "flat"], ["f"]),
        helper.make_node("Transpose", ["f"], ["t"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["t", "w2"], ["p"]),
        helper.make_node("LayerNormalization", ["p", "scale", "shift"], ["n"]),
        helper.make_node("Transpose", ["n"], ["u"], perm=[0, 2, 1]),
        helper.make_node("Reshape", ["u", "map"], ["m"]),
        helper.make_node("Conv", ["m", "w3"], ["y"], pads=[1, 1, 1, 1]),
    ]
    initializers = [
        onnx.numpy_helper.from_array(random.standard_normal(shape, np.float32) / 8, name)
        for name, shape in weights.items()
    ]
    shapes = {"flat": [2, CHANNELS, SIDE * SIDE], "map": [2, CHANNELS, SIDE, SIDE]}
    for name, whole in shapes.items():
        initializers.append(onnx.numpy_helper.from_array(np.array(whole, np.int64), name))
    shape = (2, CHANNELS, SIDE, SIDE)
    graph = helper.make_graph(
        nodes,
        "viewing",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    content: bytes = model.SerializeToString()
    return content
