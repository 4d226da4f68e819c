"""Operations of ONNX Runtime's own operators are those of what they stand for."""

import random

import pytest

from benanza_ingest.extract import extract
from benanza_ingest.layering.onnxruntime_flops import FORMULAS
from benanza_schemas.operators.onnxruntime import DOMAINS
from benanza_schemas.operators.table import named
from tests.ingest.onnx_text import content
from tests.ingest.resolving.onnxruntime_operators.cases import CASES
from tests.ingest.resolving.onnxruntime_operators.cases_without_cpu import STATED
from tests.ingest.resolving.onnxruntime_operators.drawing import Make
from tests.ingest.resolving.onnxruntime_operators.test_results import model_of


def flops(graph: str) -> int:
    return sum(layer.flops for layer in extract(content(graph, 17, {"com.microsoft": 1})).layers)


@pytest.mark.parametrize(
    ("own", "written_out"),
    [
        (
            "g (float[3,7,5] x, float[3,7,9] w) => (y) "
            "{ y = com.microsoft.FusedMatMul <transA = 1> (x, w) }",
            "g (float[3,5,7] x, float[3,7,9] w) => (y) { y = MatMul(x, w) }",
        ),
        (
            "g (float[7,3,5] x, float[3,7,9] w) => (y) "
            "{ y = com.microsoft.FusedMatMul <transA = 1, transBatchA = 1> (x, w) }",
            "g (float[3,5,7] x, float[3,7,9] w) => (y) { y = MatMul(x, w) }",
        ),
        (
            "g (float[1,8,9,9] x, float[4,8,3,3] w) => (y) "
            '{ y = com.microsoft.FusedConv <activation = "Relu"> (x, w) }',
            "g (float[1,8,9,9] x, float[4,8,3,3] w) => (y) { c = Conv(x, w) y = Relu(c) }",
        ),
        (
            "g (float[2,7,64] x, uint8[16,2,16] w, float[16,2] s) => (y) { y = "
            "com.microsoft.MatMulNBits <K = 64, N = 16, bits = 4, block_size = 32> (x, w, s) }",
            "g (float[2,7,64] x, float[64,16] w) => (y) { y = MatMul(x, w) }",
        ),
        (
            "g (float[2,6,24] q, float[2,9,24] k, float[2,9,24] v) => (y) "
            "{ y = com.microsoft.MultiHeadAttention <num_heads = 3> (q, k, v) }",
            "g (float[2,3,6,8] q, float[2,3,8,9] k, float[2,3,9,8] v) => (y) "
            "{ s = MatMul(q, k) p = Softmax(s) y = MatMul(p, v) }",
        ),
        (
            "g (float[2,6,10] x, float[10,72] w, float[72] b) => (y) "
            "{ y = com.microsoft.Attention <num_heads = 3> (x, w, b) }",
            "g (float[2,6,10] x, float[10,72] w, float[2,3,6,8] q, float[2,3,8,6] k, "
            "float[2,3,6,8] v) => (y, m) "
            "{ m = MatMul(x, w) s = MatMul(q, k) p = Softmax(s) y = MatMul(p, v) }",
        ),
        (
            "g (float[2,7,64] x, uint8[16,2,16] w, float[16,2] s, uint8[8,2,16] v, float[8,2] t, "
            "float[64] n) => (q, k, u) { q, k, u = com.microsoft.MatMulNBitsQkv <K = 64, Nq = 16, "
            "Nkv = 8, bits = 4, block_size = 32> "
            "(x, , n, w, s, , v, t, , v, t) }",
            "g (float[2,7,64] x, float[64,16] w, float[64,8] v) => (q, k, u) "
            "{ q = MatMul(x, w) k = MatMul(x, v) u = MatMul(x, v) }",
        ),
        (
            "g (float[2,6,9] x, float[6,1,3] w) => (y, s) "
            "{ y, s = com.microsoft.CausalConvWithState (x, w) }",
            "g (float[2,6,11] x, float[6,1,3] w) => (y) { y = Conv <group = 6> (x, w) }",
        ),
        (
            "g (float[2,5,6] x, float[6,4,3] w) => (y) <int64[2] p = {1, 1}> "
            "{ y = com.microsoft.ConvTransposeWithDynamicPads (x, w, p) }",
            "g (float[2,5,6] x, float[6,4,3] w) => (y) "
            "{ y = ConvTranspose <pads = [1, 1]> (x, w) }",
        ),
        (
            "g (float[6,24] q, float[6,24] k, float[6,24] v, int32[2,4] t, int32[3] c) => (y) "
            "{ y = com.microsoft.PackedMultiHeadAttention <num_heads = 3> (q, k, v, , t, c) }",
            "g (float[2,3,3,8] q, float[2,3,8,3] k, float[2,3,3,8] v) => (y) "
            "{ s = MatMul(q, k) p = Softmax(s) y = MatMul(p, v) }",
        ),
        (
            "g (float[2,5,12] q, float[2,5,12] k, float[2,5,18] v) => (y, s) { y, s = "
            "com.microsoft.LinearAttention <q_num_heads = 3, kv_num_heads = 3, update_rule = "
            '"linear"> (q, k, v) }',
            "g (float[30,4,1] k, float[30,1,6] v, float[30,1,4] q, float[30,4,6] s) => (u, y) "
            "{ u = MatMul(k, v) y = MatMul(q, s) }",
        ),
    ],
)
def test_they_are_those_of_what_it_stands_for(own: str, written_out: str) -> None:
    assert flops(own) == flops(written_out) > 0


@pytest.mark.parametrize("domain", ["", "com.microsoft."])
@pytest.mark.parametrize(
    ("rule", "given", "of_state"),
    [("linear", "", 2), ("gated", ", d", 3), ("delta", ", , b", 4), ("gated_delta", ", d, b", 5)],
)
def test_a_state_decays_and_is_corrected_by_its_rule(
    domain: str, rule: str, given: str, of_state: int
) -> None:
    """Four heads of queries read two states of 4 by 6 elements, for each of ten tokens."""
    graph = f"""g (float[2,5,16] q, float[2,5,8] k, float[2,5,12] v, float[2,2,4,6] s,
        float[2,5,2] d, float[2,5,2] b) => (y, n) {{ y, n = {domain}LinearAttention
        <q_num_heads = 4, kv_num_heads = 2, update_rule = "{rule}"> (q, k, v, s{given}) }}"""
    found = extract(content(graph, 27, {"com.microsoft": 1}))
    assert found.layers[0].flops == 2 * 5 * 4 * 6 * (2 * of_state + 4 * 2)


def test_of_states_behind_several_tokens_the_last_is_read() -> None:
    graph = """g (float[1,3,8] q, float[1,3,8] k, float[1,3,8] v, float[4,1,2,4,4] s) => (y, n) {
        y, n = com.microsoft.LinearAttention <q_num_heads = 2, kv_num_heads = 2, state_window = 4,
            update_rule = "linear"> (q, k, v, s) }"""
    (layer,) = extract(content(graph, 17, {"com.microsoft": 1})).layers
    assert layer.bytes == 4 * (4 * 24 + (1 + 4) * 2 * 4 * 4)


def test_a_query_of_one_token_reads_all_that_is_kept() -> None:
    """Four heads of queries share two of keys, of which 10 are there with the new one."""
    graph = """g (float[1,1,32] q, float[1,1,16] k, float[1,1,16] v, float[1,2,9,8] pk,
        float[1,2,9,8] pv, int32[1] l) => (y, nk, nv) <int32 t = {10}> {
        y, nk, nv = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2>
            (q, k, v, pk, pv, l, t) }"""
    assert flops(graph) == 4 * 10 * (2 * (8 + 8) + 5)


MIXTURE = "g (float[2,7,32] x, float[14,8] r, {inputs}) => (y) {{ y = com.microsoft.{node} }}"


@pytest.mark.parametrize(
    ("inputs", "node", "products"),
    [
        # Depth 32, inner width 16: an up and a down projection; with a gate besides; with the gate
        # in the matrix of the first.
        ("float[8,16,32] f, float[8,32,16] g", 'MoE <k = 2> (x, r, f, "", g)', 2),
        (
            "float[8,16,32] f, float[8,32,16] g, float[8,16,32] h",
            'MoE <k = 2, activation_type = "silu"> (x, r, f, "", g, "", h)',
            3,
        ),
        (
            "float[8,32,32] f, float[8,32,16] g",
            'MoE <k = 2, activation_type = "swiglu", swiglu_fusion = 1> (x, r, f, "", g)',
            3,
        ),
        (
            "uint8[8,32,16] f, float[8,32] s, uint8[8,32,8] g, float[8,32] t",
            'QMoE <k = 2, activation_type = "swiglu", swiglu_fusion = 1> (x, r, f, s, "", g, t)',
            3,
        ),
        (
            "uint8[8,16,16] f, float[8,16] s, uint8[8,32,16] g, float[8,32] t, uint8[8,16,16] h, "
            "float[8,16] u",
            "QMoE <k = 2, expert_weight_bits = 4, fc2_expert_weight_bits = 8> "
            '(x, r, f, s, "", g, t, "", h, u)',
            3,
        ),
    ],
)
def test_each_row_goes_through_the_products_of_its_experts(
    inputs: str, node: str, products: int
) -> None:
    graph = MIXTURE.format(inputs=inputs, node=node).replace('""', "")
    assert flops(graph) == 2 * 14 * 2 * products * 32 * 16


@pytest.mark.parametrize(
    ("op_type", "make"), [*CASES.items(), *STATED.items()], ids=[*CASES, *STATED]
)
def test_none_is_negative_or_unknown(op_type: str, make: Make) -> None:
    for seed in range(5):
        model, _ = model_of(op_type, make(random.Random(seed)))
        for layer in extract(model.SerializeToString()).layers:
            assert layer.flops >= 0
            assert layer.bytes > 0 or layer.kind == "view"


def test_each_operator_without_a_number_for_each_element_has_a_formula() -> None:
    without = [named(lambda facts: facts.flops is None, domain) for domain in DOMAINS]
    assert frozenset().union(*without) == FORMULAS.keys() | {
        "GroupQueryAttention",
        "PagedAttention",
    }
