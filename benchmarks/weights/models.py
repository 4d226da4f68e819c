"""Models with made-up weights of any size: products one after the other."""

import hashlib
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EXTERNAL = "weights.data"


def make_model(
    path: Path, weights: int, seed: int, *, width: int = 512, external: bool = False
) -> str:
    """Writes a model with so many weights of float32, `width` by `width`, into the file, or beside
    it. Returns the SHA-256 of all of them, in order.
    """
    random = np.random.default_rng(seed)
    digest = hashlib.sha256()
    tensors, nodes = [], []
    for number in range(weights):
        weight = random.standard_normal((width, width), np.float32) / np.float32(width**0.5)
        digest.update(weight.tobytes())
        tensors.append(numpy_helper.from_array(weight, f"weight{number:05}"))
        nodes.append(
            helper.make_node("MatMul", [f"x{number}", f"weight{number:05}"], [f"x{number + 1}"])
        )
    graph = helper.make_graph(
        nodes,
        "products",
        [helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1, width])],
        [helper.make_tensor_value_info(f"x{weights}", TensorProto.FLOAT, [1, width])],
        tensors,
    )
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    onnx.save(model, path, save_as_external_data=external, location=f"{path.stem}-{EXTERNAL}")
    return digest.hexdigest()
