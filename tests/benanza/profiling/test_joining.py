"""Which layers ONNX Runtime's nodes compute."""

import gzip
from collections import Counter
from pathlib import Path

import onnxruntime as ort
import pytest
from onnx import GraphProto, ModelProto

from benanza.profiling.joining import layers_of_nodes
from benanza.profiling.whole_model import WholeModel, whole_model
from benanza_analyzer.answers.kinds import CONVERSIONS
from benanza_runner.onnxruntime.session import CPU, session_options
from tests.ingest.onnx_text import content
from tests.runner.onnxruntime.needs_blocks import needs_blocks

EXPORTED = Path(__file__).parents[2] / "data" / "exported"
WEIGHTS = '<float[16,16,3,3] w = ["location": "w"], float[16] s = ["location": "s"]>'

Joined = list[tuple[str, tuple[str, ...]]]
"""The operators of nodes, each with those of the layers that it computes."""


def optimised(model: WholeModel, folder: Path) -> GraphProto:
    options = session_options(model.weights, CPU, 1)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    prefix = "session.optimized_model_external_initializers_"
    options.add_session_config_entry(prefix + "file_name", "weights")
    options.add_session_config_entry(prefix + "min_size_in_bytes", "65536")
    ort.InferenceSession(model.proto.SerializeToString(), options, providers=[CPU.name])
    return ModelProto.FromString((folder / "optimised.onnx").read_bytes()).graph


def joined(model: WholeModel, folder: Path) -> Joined:
    graph = optimised(model, folder)
    layers = model.layers.node
    found = layers_of_nodes(model.layers, graph)
    return [
        (node.op_type, tuple(layers[at].op_type for at in positions))
        for node, positions in zip(graph.node, found, strict=True)
    ]


def of_text(body: str, folder: Path) -> Joined:
    text = f"g (float[1,16,8,8] x) => (float[1,16,8,8] y) {WEIGHTS} {{ {body} }}"
    return joined(whole_model(content(text)), folder)


CONV = "Conv <pads = [1,1,1,1]>"


@needs_blocks
@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (f"a = {CONV} (x, w) y = Relu(a)", ("Conv", ("Conv", "Relu"))),
        (f"a = {CONV} (x, w) b = {CONV} (a, w) y = Add(b, a)", ("Conv", ("Conv", "Add"))),
        (
            f"a = {CONV} (x, w) b = {CONV} (a, w) c = BatchNormalization(b, s, s, s, s) "
            "d = Add(c, a) y = Relu(d)",
            ("Conv", ("Conv", "BatchNormalization", "Add", "Relu")),
        ),
        ("a = Sigmoid(x) y = Mul(x, a)", ("QuickGelu", ("Sigmoid", "Mul"))),
        (f"c = {CONV} (x, w) a = Sigmoid(c) y = Mul(c, a)", ("QuickGelu", ("Sigmoid", "Mul"))),
        (
            "a = Transpose <perm = [0,1,3,2]> (x) y = MatMul(a, x)",
            ("FusedMatMul", ("Transpose", "MatMul")),
        ),
    ],
)
def test_what_was_joined(body: str, wanted: tuple[str, tuple[str, ...]], tmp_path: Path) -> None:
    assert wanted in of_text(body, tmp_path)


@needs_blocks
def test_what_is_added_around_blocks_computes_no_layer(tmp_path: Path) -> None:
    found = of_text(f"a = {CONV} (x, w) b = Softmax(a) y = {CONV} (b, w)", tmp_path)
    assert Counter(op for op, layers in found if not layers) == {
        "ReorderInput": 2,
        "ReorderOutput": 2,
    }
    assert [op for op, layers in found if layers] == ["Conv", "Softmax", "Conv"]


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(EXPORTED.glob("*.onnx.gz")), ids=lambda path: path.stem)
def test_each_layer_of_an_exported_model_is_in_one_node(path: Path, tmp_path: Path) -> None:
    """And nodes that compute more than movement have layers, but for those that read constants."""
    model = whole_model(gzip.decompress(path.read_bytes()))
    graph = optimised(model, tmp_path)
    found = layers_of_nodes(model.layers, graph)
    positions = Counter(at for each in found for at in each)
    assert sorted(positions) == list(range(len(model.layers.node)))
    written_out = {
        at for each, node in zip(found, graph.node, strict=True) if not node.name for at in each
    }
    assert {at for at, times in positions.items() if times > 1} <= written_out
    without = [
        node.op_type
        for node, layers in zip(graph.node, found, strict=True)
        if not layers and node.op_type not in CONVERSIONS
        if not node.name.startswith("benanza_node_")
    ]
    assert len(without) <= len(graph.node) / 100, without
