"""Kept keys and values stay where they are."""

import numpy as np
import pytest

from benanza_ingest.extract import extract
from benanza_runner.onnx_layers.layer_model import LayerModel, layer_model
from benanza_runner.onnxruntime.copies import replicated
from benanza_runner.onnxruntime.in_place import in_place
from benanza_runner.onnxruntime.session import CPU, Session
from tests.ingest.onnx_text import as_written, content

GRAPH = """g (float[1,2,32] q, float[1,2,16] k, float[1,2,16] v, float[1,2,{past},8] pk,
    float[1,2,{past},8] pv, int32[1] l) => (y, float[1,2,{present},8] nk, float[1,2,{present},8] nv)
    <int32 t = {{{total}}}> {{ y, nk, nv = com.microsoft.GroupQueryAttention <num_heads = 4,
    kv_num_heads = 2> (q, k, v, pk, pv, l, t) }}"""


def model_of(past: int, present: int, total: int) -> LayerModel:
    graph = GRAPH.format(past=past, present=present, total=total)
    (layer,) = extract(content(graph, 21, {"com.microsoft": 1})).layers
    assert layer.layer is not None
    return layer_model(layer.layer)


@pytest.mark.parametrize("copies", [1, 3])
def test_new_keys_are_written_behind_the_kept_ones(copies: int) -> None:
    """Of 12 places, 9 are taken with the two new ones."""
    model = model_of(12, 12, 9)
    proto = replicated(model.proto, copies)
    inside = in_place(proto.graph)
    assert len(inside) == 2 * copies
    for name in set(inside.values()):
        model.inputs[name][:] = 5
    Session(proto, model.constants, model.inputs, CPU, 1).call()
    for name in set(inside.values()):
        kept = model.inputs[name]
        assert (kept[:, :, :7] == 5).all()
        assert (kept[:, :, 7:9] != 5).all()


MASKED = """g (float[2,1,32] q, float[2,1,32] k, float[2,1,32] v, float[2,4,12,8] pk,
    float[2,4,12,8] pv, int32[1] l) => (y, nk, nv) {
    y, nk, nv = com.microsoft.DecoderMaskedMultiHeadAttention <num_heads = 4,
    past_present_share_buffer = 1> (q, k, v, , , pk, pv, l) }"""


def test_a_decoder_that_shares_its_buffer_writes_what_is_new() -> None:
    """The last of twelve places; to copy the buffer would take hundreds of times as long."""
    (layer,) = extract(content(MASKED, 21, {"com.microsoft": 1})).layers
    assert layer.layer is not None
    model = layer_model(layer.layer)
    inside = in_place(model.proto.graph)
    assert len(inside) == 2
    for name in set(inside.values()):
        model.inputs[name][:] = 5
    Session(model.proto, model.constants, model.inputs, CPU, 1).call()
    for name in set(inside.values()):
        assert (model.inputs[name][:, :, :11] == 5).all()
        assert (model.inputs[name][:, :, 11] != 5).all()
    row = 4 * 2 * 4 * 8
    assert layer.bytes == 4 * (4 * 2 * 32 + 1) + 2 * (12 * row + row)


def test_what_is_longer_is_written_elsewhere() -> None:
    graph = GRAPH.format(past=7, present=9, total=9)
    model = layer_model(as_written(graph, 21, {"com.microsoft": 1}).layer)
    assert in_place(model.proto.graph) == {}
    before = {name: array.copy() for name, array in model.inputs.items()}
    Session(model.proto, model.constants, model.inputs, CPU, 1).call()
    for name, array in before.items():
        np.testing.assert_array_equal(model.inputs[name], array)
