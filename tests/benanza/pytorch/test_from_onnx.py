"""Files of ONNX as PyTorch runs them."""

import numpy as np
import onnxruntime as ort
import pytest

from benanza.profiling.whole_model import WholeModel, whole_model
from benanza_runner.onnxruntime.session import CPU, session_options
from tests.benanza.profiling.framework_contract import small_model
from tests.ingest.onnx_text import content

torch = pytest.importorskip("torch")

from benanza.pytorch.from_onnx import OPERATORS, NoCounterpartError, from_onnx  # noqa: E402

pytestmark = pytest.mark.integration

TEXT = """
g (float[2, 4, 14, 14] x) => (float[2, 10] y)
<float[8, 2, 3, 3] w = ["location": "w"], float[8] b = ["location": "b"],
 float[8] s = ["location": "s"], float[8] m = ["location": "m"], float[8] v = ["location": "v"],
 float[8, 1, 1] f = ["location": "f"], float[10, 24] u = ["location": "u"],
 float[10] c = ["location": "c"], int64[5] split = {0, 2, 4, 7, 7},
 int64[4] whole = {0, 8, 7, 7}, int64[2] rows = {0, -1}> {
    conv = Conv <auto_pad = "NOTSET", group = 2, kernel_shape = [3, 3], pads = [1, 1, 1, 1]>
      (x, w, b)
    norm = BatchNormalization <epsilon = 0.001> (conv, s, b, m, v)
    scaled = Mul(norm, f)
    moved = Add(scaled, f)
    relu = Relu(moved)
    lrn = LRN <size = 5, alpha = 0.01, beta = 0.75, bias = 2.0> (relu)
    max = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [0, 0, 1, 1], ceil_mode = 0,
                   dilations = [1, 1], storage_order = 0> (lrn)
    grouped = Reshape(max, split)
    swapped = Transpose <perm = [0, 2, 1, 3, 4]> (grouped)
    shuffled = Reshape(swapped, whole)
    both = Sum(shuffled, max, max)
    left = AveragePool <kernel_shape = [7, 7], pads = [0, 0, 1, 1], strides = [2, 2]> (both)
    right = AveragePool <kernel_shape = [7, 7]> (both)
    over = GlobalAveragePool(max)
    all = Concat <axis = 1> (left, right, over)
    kept, mask = Dropout(all)
    flat = Reshape(kept, rows)
    gemm = Gemm <transB = 1> (flat, u, c)
    y = Softmax <axis = 1> (gemm)
}
"""


def _in_onnx_runtime(model: WholeModel) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    options = session_options(model.weights, CPU, threads=1)
    (found,) = ort.InferenceSession(model.proto.SerializeToString(), options).run(
        None, model.inputs
    )
    return np.asarray(found)


def test_every_operator_computes_what_onnx_runtime_does() -> None:
    model = whole_model(content(TEXT, opset=11))
    assert {node.op_type for node in model.proto.graph.node} == set(OPERATORS)
    small = {name: (array - 0.5) / 4 for name, array in model.weights.items() if array.ndim > 1}
    model = model._replace(weights=model.weights | small)
    module, inputs = from_onnx(model)
    (found,) = module(*inputs)
    expected = _in_onnx_runtime(model)
    assert expected.std() > 0.001
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ("y = Conv <pads = [0, 0, 1, 1]> (x, w)", "different padding"),
        ("y = Softmax <axis = 1> (x)", "several axes"),
        (
            "y = AveragePool <kernel_shape = [2, 2], pads = [0, 0, 1, 1], count_include_pad = 1>"
            " (x)",
            "different padding",
        ),
    ],
)
def test_what_is_not_translated_is_named(node: str, reason: str) -> None:
    head = "g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) "
    weights = '<float[2, 2, 2, 2] w = ["location": "w"]> ' if "w)" in node else ""
    module, inputs = from_onnx(whole_model(content(f"{head}{weights}{{ {node} }}", opset=11)))
    with pytest.raises(NoCounterpartError, match=reason):
        module(*inputs)


def test_operators_that_are_not_translated_are_listed() -> None:
    with pytest.raises(NoCounterpartError, match="Flatten, MatMul"):
        from_onnx(small_model())
