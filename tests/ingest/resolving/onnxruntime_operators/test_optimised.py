"""A file that ONNX Runtime has optimised, with images in blocks of channels, has all its layers."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

from benanza_ingest.extract import extract
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime.session import CPU, Session
from tests.ingest.onnx_text import content
from tests.runner.onnxruntime.needs_blocks import needs_blocks


def test_what_onnx_defines_later_is_known_as_onnx_runtime_writes_it() -> None:
    """At any opset: a LayerNormalization that was joined from an older file's operators."""
    text = """g (float[2,8,16] x, float[16,16] w, float[16] s, float[16] b) => (y) {
        a = MatMul(x, w) n = LayerNormalization(a, s, b) y = Relu(n) }"""
    layers = extract(content(text, 12)).layers
    assert [layer.reason for layer in layers] == [""] * 3
    for layer in layers:
        assert layer.layer is not None
        made = layer_model(layer.layer)
        Session(made.proto, made.constants, made.inputs, CPU, 1).call()


@needs_blocks
@pytest.mark.parametrize("channels", [16, 32])
def test_it_has_all_layers_and_the_same_results(channels: int, tmp_path: Path) -> None:
    """Of as many channels as fill blocks on each processor."""
    weights = {"w": np.ones((32, channels, 3, 3)), "v": np.ones((48, 32, 1, 1))}
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["a"], kernel_shape=[3, 3], pads=[1] * 4),
            helper.make_node("Relu", ["a"], ["b"]),
            helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
            helper.make_node("Conv", ["c", "v"], ["d"], kernel_shape=[1, 1]),
            helper.make_node("GlobalAveragePool", ["d"], ["y"]),
        ],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, channels, 16, 16])],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(each.astype(np.float32), n) for n, each in weights.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    ort.InferenceSession(model, options)
    plain = extract(model)
    layers = extract((tmp_path / "optimised.onnx").read_bytes()).layers
    assert {layer.domain for layer in layers} == {"com.microsoft.nchwc"}
    assert [layer.reason for layer in layers if layer.layer is None] == []
    found = [layer.layer.tensors[layer.layer.outputs[0]].shape for layer in layers if layer.layer]
    assert found[1:] == [
        (2, 32, 16, 16),
        (2, 32, 8, 8),
        (2, 48, 8, 8),
        (2, 48, 1, 1),
        (2, 48, 1, 1),
    ]
    assert sum(layer.flops for layer in layers) == sum(layer.flops for layer in plain.layers)
