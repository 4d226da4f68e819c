"""Small models with random weights, to be quantised."""

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 21

INPUTS = {"x": (3, 64), "image": (2, 3, 8, 8), "words": (2, 5, 64)}


class Model:
    """A model that is written node by node; weights are normal."""

    def __init__(self, data: str, opset: int = OPSET, dtype: Any = np.float32) -> None:
        self._data, self._opset, self._dtype = data, opset, dtype
        self._random = np.random.default_rng(0)
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[TensorProto] = []

    def weight(self, name: str, *shape: int) -> str:
        """A weight of this shape."""
        array = self._random.standard_normal(shape) / np.sqrt(shape[-1] if shape else 1)
        self._weights.append(numpy_helper.from_array(array.astype(self._dtype), name))
        return name

    def add(self, op: str, inputs: str, output: str, **attributes: Any) -> str:
        """A node that reads these values, separated by spaces."""
        self._nodes.append(helper.make_node(op, inputs.split(), [output], output, **attributes))
        return output

    def made(self, *outputs: str) -> onnx.ModelProto:
        """The model with these outputs."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self._dtype))
        graph = helper.make_graph(
            self._nodes,
            "g",
            [helper.make_tensor_value_info(self._data, kind, INPUTS[self._data])],
            [helper.make_tensor_value_info(name, kind, None) for name in outputs],
            self._weights,
        )
        imports = [helper.make_opsetid("", self._opset)]
        model: onnx.ModelProto = helper.make_model(graph, opset_imports=imports, ir_version=9)
        return onnx.shape_inference.infer_shapes(model)

    def feeds(self) -> dict[str, np.ndarray]:
        """Random data."""
        data = np.random.default_rng(1).standard_normal(INPUTS[self._data])
        return {self._data: data.astype(self._dtype)}


def mlp(**options: Any) -> Model:
    """Two products of matrices with biases, one as a Gemm, and one without."""
    model = Model("x", **options)
    model.add("MatMul", f"x {model.weight('w1', 64, 96)}", "m1")
    model.add("Add", f"m1 {model.weight('b1', 1, 96)}", "a1")
    model.add("Relu", "a1", "r1")
    model.add("Gemm", f"r1 {model.weight('w2', 32, 96)} {model.weight('b2', 32)}", "g2", transB=1)
    model.add("Tanh", "g2", "t2")
    model.add("MatMul", f"t2 {model.weight('w3', 32, 10)}", "y")
    return model


def conv_net(**options: Any) -> Model:
    """Convolutions, one by channel, with a residual, and a Gemm behind."""
    model = Model("image", **options)
    same = {"pads": [1, 1, 1, 1]}
    model.add(
        "Conv", f"image {model.weight('w1', 16, 3, 3, 3)} {model.weight('b1', 16)}", "c1", **same
    )
    model.add("Relu", "c1", "r1")
    model.add("Conv", f"r1 {model.weight('w2', 16, 1, 3, 3)}", "c2", group=16, **same)
    model.add("Add", "c2 r1", "a2")
    model.add("GlobalAveragePool", "a2", "p")
    model.add("Flatten", "p", "f")
    model.add("Gemm", f"f {model.weight('w3', 16, 32)} {model.weight('b3', 32)}", "g3")
    model.add("MatMul", f"g3 {model.weight('w4', 32, 5)}", "y")
    return model


def shared() -> Model:
    """Two products of one value, one with the same weights of another, and attention's products."""
    model = Model("words")
    model.weight("w", 64, 64)
    model.add("MatMul", "words w", "q")
    model.add("Relu", "words", "r")
    model.add("MatMul", "r w", "k")
    model.add("MatMul", f"words {model.weight('v', 64, 64)}", "v1")
    model.add("Transpose", "k", "kt", perm=[0, 2, 1])
    model.add("MatMul", "q kt", "scores")
    model.add("Softmax", "scores", "p")
    model.add("MatMul", "p v1", "y")
    return model
