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
