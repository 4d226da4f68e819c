"""ONNX Runtime runs layers of its own operators with what is made up for their inputs."""

import random

import numpy as np
import pytest

from benanza_ingest.extract import extract
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnx_layers.random_values import random_value
from benanza_runner.onnxruntime.session import CPU, Session
from tests.ingest.onnx_text import content
from tests.ingest.resolving.onnxruntime_operators.cases import CASES
from tests.ingest.resolving.onnxruntime_operators.test_results import model_of

TIMES = 5


@pytest.mark.parametrize("op_type", CASES)
def test_it_runs(op_type: str) -> None:
    chance = random.Random(op_type)
    for _ in range(TIMES):
        model, _ = model_of(op_type, CASES[op_type](chance))
        for layer in extract(model.SerializeToString()).layers:
            assert layer.layer is not None
            made = layer_model(layer.layer)
            Session(made.proto, made.constants, made.inputs, CPU, 1).call()


@pytest.mark.parametrize("mask", ["m", ""])
def test_keys_before_a_new_one_are_as_many_as_the_mask_or_the_buffer_has(mask: str) -> None:
    graph = f"""g (float[1,1,64] x, int32[1,9] m, float[1,4,16,16] k, float[1,4,16,16] v,
        int32[1] past) => (y, nk, nv) {{ y, nk, nv = com.microsoft.DecoderMaskedMultiHeadAttention
        <num_heads = 4, past_present_share_buffer = 1> (x, x, x, {mask}, , k, v, past) }}"""
    (layer,) = extract(content(graph, 21, {"com.microsoft": 1})).layers
    assert layer.layer is not None
    made = layer_model(layer.layer)
    Session(made.proto, made.constants, made.inputs, CPU, 1).call()


KEPT = "float[1,4,448,16] k, float[1,4,448,16] v"

RUNS = {
    "a quantised LSTM of whole sequences": """g (float[5,2,6] x) => (y) <int32[2] n = {5, 5},
        int8[1,6,16] w = ["location": "w"], int8[1,4,16] r = ["location": "r"],
        float[1] s = {0.02}, int8[1] z = {0}> { y = com.microsoft.DynamicQuantizeLSTM
        <hidden_size = 4> (x, w, r, , n, , , , s, z, s, z) }""",
    "a buffer of MultiHeadAttention": f"""g (float[1,1,64] x, {KEPT}, int32[1] n) => (y, nk, nv)
        {{ y, nk, nv = com.microsoft.MultiHeadAttention <num_heads = 4>
        (x, x, x, , , , k, v, n) }}""",
    "scores of a GroupQueryAttention": """g (float[1,1,64] x, float[1,1,32] a, float[1,1,32] b,
        float[1,2,448,16] k, float[1,2,448,16] v, int32[1] l) => (y, nk, nv, s)
        <int32 t = {10}> { y, nk, nv, s = com.microsoft.GroupQueryAttention
        <num_heads = 4, kv_num_heads = 2, qk_output = 1> (x, a, b, k, v, l, t) }""",
    "positions of a GroupQueryAttention": """g (float[1,1,64] x, float[1,1,32] a,
        float[1,1,32] b, float[1,2,16,16] k, float[1,2,16,16] v, int32[1] l, int32 t,
        float[32,8] c, float[32,8] s, int64[1,1] p) => (y, nk, nv)
        { y, nk, nv = com.microsoft.GroupQueryAttention
        <num_heads = 4, kv_num_heads = 2, do_rotary = 1> (x, a, b, k, v, l, t, c, s, p) }""",
    "rotation from the first position on": """g (float[1,4,16,64] x, int64[1] p, float[17,32] c,
        float[17,32] s) => (y) { y = com.microsoft.RotaryEmbedding (x, p, c, s) }""",
    "a quantised embedding": """g (int32[1,8] i, int32[1,8] t, uint8[50,64] w, uint8[40,64] p,
        uint8[2,64] s, uint8[64] a, uint8[64] b, float ws, float ps, float ss, float as, float bs,
        uint8 wz, uint8 pz, uint8 sz, uint8 az, uint8 bz) => (y, m)
        { y, m = com.microsoft.QEmbedLayerNormalization
        (i, t, w, p, s, a, b, , ws, ps, ss, as, bs, wz, pz, sz, az, bz) }""",
}


@pytest.mark.parametrize("what", RUNS)
def test_layers_with_buffers_tables_and_positions_run(what: str) -> None:
    """ONNX Runtime refuses results of another shape than it computes, and rows out of a table."""
    (layer,) = extract(content(RUNS[what], 21, {"com.microsoft": 1})).layers
    assert layer.layer is not None
    made = layer_model(layer.layer)
    Session(made.proto, made.constants, made.inputs, CPU, 1).call()


@pytest.mark.parametrize(
    ("weights", "node"),
    [
        ("float[4,192,512] w, float[4,512,192] v", "MoE <k = 2> (x, r, w, , v)"),
        (
            "uint8[4,192,256] w, float[4,192,16] s, uint8[4,512,96] v, float[4,512,6] t",
            "QMoE <k = 2, block_size = 32> (x, r, w, s, , v, t)",
        ),
    ],
)
def test_the_activation_of_experts_gets_moderate_numbers(weights: str, node: str) -> None:
    graph = f"g (float[1,9,512] x, float[9,4] r, {weights}) => (y) {{ y = com.microsoft.{node} }}"
    (layer,) = extract(content(graph, 21, {"com.microsoft": 1})).layers
    assert layer.layer is not None
    x, first = random_value(layer.layer, 0), random_value(layer.layer, 2)
    if first.dtype == np.uint8:
        scales = random_value(layer.layer, 3)
        first = np.stack([first & 15, first >> 4], axis=-1).reshape(4, 192, 512) - 8.0
        first *= np.repeat(scales, 32, axis=2)
    products = np.einsum("abk,enk->abne", x, first)
    assert 0.1 < products.std() < 2


@pytest.mark.parametrize(("rows", "experts", "k"), [(1, 8, 2), (8, 32, 4), (5, 7, 1), (64, 60, 6)])
def test_rows_choose_as_many_experts_as_on_average(rows: int, experts: int, k: int) -> None:
    """Logits are apart at all precisions, and in an order of its own for each row."""
    graph = f"""g (float[{rows},8] x, float[{rows},{experts}] r, float[{experts},16,8] w,
        float[{experts},8,16] v) => (y) {{ y = com.microsoft.MoE <k = {k}> (x, r, w, , v) }}"""
    (layer,) = extract(content(graph, 21, {"com.microsoft": 1})).layers
    assert layer.layer is not None
    logits = random_value(layer.layer, 1, "bf16")
    assert all(len(set(row)) == experts for row in logits.tolist())
    chosen = np.argsort(-logits, axis=1)[:, :k]
    expected = experts * (1 - (1 - k / experts) ** rows)
    assert abs(len(np.unique(chosen)) - expected) < 1
    assert rows == 1 or len({tuple(row) for row in logits.tolist()}) > 1
