"""How many calls a bound on ONNX Runtime's CPU provider adds up, and how many nodes it runs."""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import onnx
import onnxruntime as ort

from benanza_ingest.extract import extract
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime.forms import forms_of
from benanza_runner.onnxruntime.session import CPU
from benanza_schemas.layer import Layer

_SAME_MEMORY = frozenset(("Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"))


def nodes_of_onnxruntime(content: bytes) -> list[str]:
    """The operators that ONNX Runtime runs of a model by default, without those that only say in
    another way what shape a value has.
    """
    with tempfile.TemporaryDirectory() as folder:
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        options.optimized_model_filepath = str(Path(folder) / "optimised.onnx")
        ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        found = onnx.load(options.optimized_model_filepath).graph.node
    return [node.op_type for node in found if node.op_type not in _SAME_MEMORY]


def calls_of_bound(content: bytes) -> int:
    """The fewest calls that cover a model: layers, and groups that ONNX Runtime fuses to a node."""
    model = extract(content)
    counted = {at for at, layer in enumerate(model.layers) if layer.kind != "view"}
    assert all(model.layers[at].kind != "skipped" for at in counted)
    fused: dict[str, bool] = {}
    for group in model.groups:
        if group.fingerprint not in fused:
            fused[group.fingerprint] = _is_one_node(group.layer)
    groups = {group.layers for group in model.groups if fused[group.fingerprint]}
    saved = [(frozenset(group), len(counted.intersection(group)) - 1) for group in groups]
    return len(counted) - _most_saved([each for each in saved if each[1] > 0])


def _is_one_node(layer: Layer) -> bool:
    forms = forms_of(layer, layer_model(layer), CPU, "fp32")
    return any(not form.refusal and len(form.op_types()) == 1 for form in forms)


def _most_saved(groups: Sequence[tuple[frozenset[int], int]], taken: Iterable[int] = ()) -> int:
    """The most calls that disjoint groups save together."""
    best = 0
    for at, (group, saved) in enumerate(groups):
        if group.isdisjoint(taken):
            best = max(best, saved + _most_saved(groups[at + 1 :], group.union(taken)))
    return best
