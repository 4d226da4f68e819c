"""Results of poolings and resizings are as large as those that ONNX Runtime returns."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

from benanza_ingest.extract import extract
from tests.ingest.onnx_text import extracted

TIMES = 200

Array = npt.NDArray[Any]
Made = tuple[list[Array], dict[str, Any], int]
"""The inputs of a node, its attributes, and the opset."""


def pool(r: random.Random, op_type: str) -> Made:
    image = [r.randint(2, 9) for _ in range(r.choice((1, 2, 3)))]
    kernel = [r.randint(1, min(4, size)) for size in image]
    opset = r.choice((11, 12, 13, 17, 18, 19, 21, 22))
    made: dict[str, Any] = {"kernel_shape": kernel, "strides": [r.randint(1, 4) for _ in image]}
    newer = {"AveragePool": 19, "LpPool": 18}.get(op_type, 0) <= opset
    if newer or op_type == "AveragePool":
        made["ceil_mode"] = r.randint(0, 1)
    kind = r.random()
    if kind < 0.4:
        made["pads"] = [r.randint(0, size - 1) for size in kernel * 2]
    elif kind < 0.6:
        # With dilations ONNX Runtime's results are smaller than ONNX's text has them.
        made["auto_pad"] = r.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
        made["strides"] = [min(each) for each in zip(made["strides"], kernel, strict=True)]
    elif newer and all((size - 1) * 2 < room for size, room in zip(kernel, image, strict=True)):
        made["dilations"] = [r.randint(1, 2) for _ in image]
    return [np.ones((1, 2, *image), np.float32)], made, opset


def resize(r: random.Random, op_type: str) -> Made:
    sizes = [r.randint(1, 7) for _ in range(r.randint(1, 4))]
    scales = np.array([r.choice((0.3, 0.5, 0.7, 1, 1.1, 1.5, 2, 2.6)) for _ in sizes], np.float32)
    nothing = np.array([], np.float32)
    return (
        [np.ones(sizes, np.float32), nothing, scales],
        {"mode": "nearest"},
        r.choice((11, 13, 18, 19)),
    )


def model_of(op_type: str, made: Made) -> onnx.ModelProto:
    arrays, attributes, opset = made
    names = [f"i{at}" for at in range(len(arrays))]
    value = helper.make_tensor_value_info(names[0], onnx.TensorProto.FLOAT, arrays[0].shape)
    constants = zip(arrays[1:], names[1:], strict=True)
    graph = helper.make_graph(
        [
            helper.make_node(op_type, names, ["a"], **attributes),
            helper.make_node("Relu", ["a"], ["b"]),
        ],
        "g",
        [value],
        [onnx.ValueInfoProto(name="b")],
        [numpy_helper.from_array(*each) for each in constants],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize(
    ("op_type", "make"),
    [("MaxPool", pool), ("AveragePool", pool), ("LpPool", pool), ("Resize", resize)],
)
def test_they_are_what_onnx_runtime_returns(
    op_type: str, make: Callable[[random.Random, str], Made]
) -> None:
    """And so is what follows from them."""
    chance, options = random.Random(op_type), ort.SessionOptions()
    options.log_severity_level = 3
    for _ in range(TIMES):
        made = make(chance, op_type)
        model = model_of(op_type, made)
        session = ort.InferenceSession(model.SerializeToString(), options)
        (result,) = session.run(None, {"i0": made[0][0]})
        for layer in extract(model.SerializeToString()).layers:
            assert layer.layer is not None, layer.reason
            assert layer.layer.tensors[layer.layer.outputs[0]].shape == result.shape, made


def test_a_window_that_does_not_fit_is_a_skipped_layer_with_the_reason() -> None:
    text = "g (float[1,1,2,2] x) => (y) { y = MaxPool <ceil_mode = 1, kernel_shape = [3,3]> (x) }"
    (layer,) = extracted(text).layers
    assert layer.layer is None
    assert "MaxPool 'y': its window is larger than 2 with its padding" in layer.reason
