"""What ONNX Runtime wrote of a model that it ran here."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import helper, numpy_helper, parser

from benanza.tracing.operators import TracedOperator
from benanza.tracing.recording import recording
from benanza.tracing.trace_model import trace_model
from benanza_ingest.limits import Limits

MODEL = """
<ir_version: 10, opset_import: ["" : 20]>
net (float[2, 8] x, float[1, 3, 8, 8] image) => (y, z)
<float[8, 4] w = {WEIGHT}>
{
    product = MatMul(x, w)
    y = Mul(product, product)
    z = Softmax<axis = 1>(image)
}
""".replace("WEIGHT", ", ".join(["1"] * 32))


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TracedOperator]:
    model = parser.parse_model(MODEL)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones((8, 4), np.float32), "w"))
    for output, rank in zip(model.graph.output, (2, 4), strict=True):
        described = helper.make_tensor_value_info(output.name, 1, [None] * rank)
        output.CopyFrom(described)
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path_factory.mktemp("profiles") / "net")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    image = np.ones((1, 3, 8, 8), np.float32)
    for _ in range(3):
        session.run(None, {"x": np.ones((2, 8), np.float32), "image": image})
    found = recording(Path(session.end_profiling()))
    assert (found.format, found.on_gpu) == ("ONNX Runtime", False)
    return {operator.name: operator for operator in found.operators}


def test_nodes_are_operators(operators: dict[str, TracedOperator]) -> None:
    assert {name: each.calls for name, each in operators.items()} == {
        "MatMul": 3,
        "Mul": 3,
        "Softmax": 3,
    }


def test_those_that_need_no_attributes_are_layers(operators: dict[str, TracedOperator]) -> None:
    named = [(name, operators[name].inputs) for name in ("MatMul", "Mul", "Softmax")]
    product, square, softmax = trace_model(named, Limits()).parts
    (layer,) = product.layers
    assert layer.layer is not None
    assert [(tensor.shape, tensor.constant) for tensor in layer.layer.tensors] == [
        ((2, 8), False),
        ((8, 4), True),
        ((2, 4), False),
    ]
    assert [each.op for each in square.layers] == ["Mul"]
    assert not softmax.layers
    assert "traces of ONNX Runtime lack attributes" in softmax.reason
