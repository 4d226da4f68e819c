"""Runs small models with ONNX Runtime, for comparison."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]


def run(content: bytes, inputs: Mapping[str, Array]) -> list[Array]:
    """The outputs of a model, with all of ONNX Runtime's own changes to the graph switched off."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    outputs: list[Array] = session.run(None, dict(inputs))
    return outputs


def run_one(
    op_type: str,
    inputs: list[Array],
    *,
    weights: int = 0,
    opset: int = 21,
    outputs: int = 1,
    **attributes: Any,
) -> tuple[bytes, list[Array]]:
    """A model of one operator and what it computes; the last `weights` inputs are constants.

    An input or an attribute that is None is left out.
    """
    names = ["" if array is None else f"in{n}" for n, array in enumerate(inputs)]
    arrays = {name: array for name, array in zip(names, inputs, strict=True) if name}
    fed = dict(list(arrays.items())[: len(arrays) - weights])
    given = {name: value for name, value in attributes.items() if value is not None}
    results = [f"out{n}" for n in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, results, name=op_type, **given)],
        "one",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in fed.items()
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results],
        [numpy_helper.from_array(array, name) for name, array in arrays.items() if name not in fed],
    )
    opsets = [helper.make_opsetid("", opset)]
    content = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    return content, run(content, fed)


def random_array(*shape: int) -> Array:
    """Small whole numbers, so that sums of products come out the same in any order."""
    values: Array = np.random.default_rng(0).integers(-3, 4, shape).astype(np.float32)
    return values
