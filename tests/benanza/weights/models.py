"""Models whose weights are large enough to be shared."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

WIDTH = 128
"""A matrix of this width has 65,536 bytes, and a row of them few enough to stay in the model."""


def product_model(seed: int = 0) -> ModelProto:
    """x·a + b, with `a` to be shared."""
    random = np.random.default_rng(seed)
    weights = {
        "a": random.standard_normal((WIDTH, WIDTH), np.float32),
        "b": random.standard_normal(WIDTH, np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["product"]),
        helper.make_node("Add", ["product", "b"], ["y"]),
    ]
    return model_of(
        nodes, [numpy_helper.from_array(array, name) for name, array in weights.items()], WIDTH
    )


def model_of(nodes: Sequence[Any], tensors: Sequence[TensorProto], width: int = 1) -> ModelProto:
    """A model of these nodes from `x` to `y` with these initializers."""
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, width]) for name in ("x", "y")
    )
    graph = helper.make_graph(nodes, "graph", [x], [y], tensors)
    made: ModelProto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10
    )
    return made


def saved(model: ModelProto, path: Path, *, external: bool = False) -> Path:
    """The model in this file, or with its weights beside it."""
    copy = ModelProto()
    copy.CopyFrom(model)
    location = f"{path.stem}.data"
    onnx.save(copy, path, save_as_external_data=external, location=location, size_threshold=0)
    return path


def weight(model: ModelProto, name: str) -> NDArray[Any]:
    """The initializer of this name."""
    (found,) = [tensor for tensor in model.graph.initializer if tensor.name == name]
    return numpy_helper.to_array(found)
