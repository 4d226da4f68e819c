"""The decoders' graphs are whole: their types are what ONNX infers, and ingest reads each layer."""

from dataclasses import replace

import onnx
import pytest

from benanza_ingest.decoders.building import build
from benanza_ingest.decoders.configurations import DECODERS
from benanza_ingest.decoders.decoder import Decoder
from benanza_ingest.extract import extract

STEP = {"sequence_length": 1, "past_sequence_length": 9, "total_sequence_length": 10}


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda each: each.name)
def test_its_types_are_right_and_ingest_reads_all_of_it(decoder: Decoder) -> None:
    model = build(replace(decoder, layers=2))
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    layers = extract(model.SerializeToString(), dims=STEP).layers
    assert [layer.reason for layer in layers if layer.kind == "skipped"] == []
    assert sum(layer.op == "GroupQueryAttention" for layer in layers) == 2
    declared = {each.name for each in model.graph.value_info}
    written = {output for node in model.graph.node for output in node.output if output}
    results = {each.name for each in model.graph.output}
    assert declared == written - results


def test_local_layers_have_windows() -> None:
    decoder = next(each for each in DECODERS if each.name.startswith("gemma-3"))
    assert [decoder.window_of(layer) for layer in range(7)] == [512] * 5 + [0, 512]
