"""Models split over GPUs compute what they compute as a whole."""

from collections import Counter

import pytest
from onnx import ModelProto

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedLayer, ExtractedModel
from benanza_schemas.events.derivation import Derivation
from tests.ingest import onnx_text
from tests.ingest.deriving.in_ranks import Split, check, split, with_weights
from tests.ingest.real_models import content

DOMAINS = {"com.microsoft": 1}


def model(text: str, opset: int = 23) -> ModelProto:
    return with_weights(onnx_text.proto(f"g {text}", opset, DOMAINS))


def operators(made: Split) -> Counter[str]:
    return Counter(node.op_type for node in made.graph.nodes)


def weights(made: Split) -> dict[str, tuple[int, ...]]:
    """The parts that a rank has, by the names of the wholes."""
    shapes = {}
    for name, part in made.told.parts.items():
        known = made.graph.types[name]
        assert known is not None
        shapes[part.whole] = known.dims()
    return shapes


MLP = """(float[3,8] x, float[8,16] w_up, float[16] w_b, float[16,8] w_down, float[8] w_c)
    => (float[3,8] y)
    { a = MatMul(x, w_up) b = Add(a, w_b) c = Gelu(b) d = MatMul(c, w_down) e = Add(d, w_c)
      y = Add(e, x) }"""


@pytest.mark.parametrize("ranks", [2, 4])
def test_two_products_need_one_sum(ranks: int) -> None:
    made = check(model(MLP), ranks)
    assert operators(made)["AllReduce"] == 1
    assert weights(made) == {
        "w_up": (8, 16 // ranks), "w_b": (16 // ranks,), "w_down": (16 // ranks, 8),
    }  # fmt: skip


def test_a_bias_of_gemm_is_added_once() -> None:
    made = check(
        model(
            """(float[3,8] x, float[16,8] w_up, float[16] w_b, float[8,16] w_down, float[8] w_c)
            => (float[3,8] y)
            { a = Gemm<transB=1>(x, w_up, w_b) b = Relu(a) y = Gemm<transB=1>(b, w_down, w_c) }"""
        ),
        2,
    )
    assert [node.op_type for node in made.graph.nodes] == [
        "Gemm", "Relu", "Gemm", "AllReduce", "Add",
    ]  # fmt: skip


@pytest.mark.parametrize("halves", ["Split<axis=-1>(a, w2)", "Split<axis=-1, num_outputs=2>(a)"])
def test_a_fused_gate_is_split_half_by_half(halves: str) -> None:
    made = check(
        model(
            f"""(float[3,8] x, float[8,32] w_up, float[16,8] w_down) => (float[3,8] y)
            <int64[2] w2 = {{16, 16}}>
            {{ a = MatMul(x, w_up) g, u = {halves} s = Sigmoid(g) h = Mul(s, u)
               y = MatMul(h, w_down) }}"""
        ),
        4,
    )
    assert next(p for p in made.told.parts.values() if p.whole == "w_up").segments == (16, 16)


def test_slices_of_a_fused_gate() -> None:
    made = check(
        model(
            """(float[3,8] x, float[8,32] w_up, float[16,8] w_down) => (float[3,8] y)
            <int64[1] zero = {0}, int64[1] half = {16}, int64[1] end = {9223372036854775807},
             int64[1] last = {-1}>
            { a = MatMul(x, w_up) g = Slice(a, zero, half, last) u = Slice(a, half, end, last)
              s = Sigmoid(g) h = Mul(s, u) y = MatMul(h, w_down) }"""
        ),
        2,
    )
    assert operators(made)["AllReduce"] == 1


DECODER = """(float[2,1,16] x, float[2,2,5,4] k0, float[2,2,5,4] v0, float[1,1,1,4] cos,
    float[2,1,1,6] mask, float[16,16] w_q, float[16,8] w_k, float[16,8] w_v, float[16,16] w_o,
    float[4] w_n, float[16] w_s, float[16,24] w_g, float[16,24] w_u, float[24,16] w_d,
    float[16,40] w_head)
    => (float[2,1,40] y, float[2,2,6,4] k1, float[2,2,6,4] v1)
    <int64[4] s_q = {0, 0, -1, 4}, int64[5] s_e = {2, 2, 2, 6, 4}, int64[4] s_h = {2, 4, 6, 4},
     int64[1] two = {2}, int64[3] s_o = {2, 1, 16}, int64[1] zero = {0}, int64[1] half = {2},
     int64[1] four = {4}, int64[1] last = {3}, float scale = {0.5}, float e = {1e-6},
     float two_f = {2.0}, int64[1] minus = {-1}>
    { sq = Pow(x, two_f) m = ReduceMean<keepdims=1>(sq, minus) me = Add(m, e) r = Sqrt(me)
      xn0 = Div(x, r) xn = Mul(xn0, w_s)
      q0 = MatMul(xn, w_q) k_0 = MatMul(xn, w_k) v_0 = MatMul(xn, w_v)
      q1 = Reshape(q0, s_q) k_1 = Reshape(k_0, s_q) v_1 = Reshape(v_0, s_q)
      q2 = RMSNormalization<axis=-1>(q1, w_n)
      q3 = Transpose<perm=[0,2,1,3]>(q2) k_3 = Transpose<perm=[0,2,1,3]>(k_1)
      v_3 = Transpose<perm=[0,2,1,3]>(v_1)
      qa = Slice(q3, zero, half, last) qb = Slice(q3, half, four, last) qn = Neg(qb)
      qr = Concat<axis=-1>(qn, qa) qc = Mul(q3, cos) qs = Mul(qr, cos) q4 = Add(qc, qs)
      k1 = Concat<axis=2>(k0, k_3) v1 = Concat<axis=2>(v0, v_3)
      ku = Unsqueeze(k1, two) ke = Expand(ku, s_e) kh = Reshape(ke, s_h)
      vu = Unsqueeze(v1, two) ve = Expand(vu, s_e) vh = Reshape(ve, s_h)
      kt = Transpose<perm=[0,1,3,2]>(kh)
      a = MatMul(q4, kt) b = Mul(a, scale) c = Add(b, mask) p = Softmax<axis=-1>(c)
      o = MatMul(p, vh) ot = Transpose<perm=[0,2,1,3]>(o) oo = Reshape(ot, s_o)
      proj = MatMul(oo, w_o) h = Add(x, proj)
      g = MatMul(h, w_g) gs = Sigmoid(g) gg = Mul(g, gs) u = MatMul(h, w_u) gu = Mul(gg, u)
      d = MatMul(gu, w_d) f = Add(h, d) y = MatMul(f, w_head) }"""


def test_a_decoder_written_out() -> None:
    made = check(model(DECODER), 2)
    assert operators(made)["AllReduce"] == 2
    assert operators(made)["AllGather"] == 1
    assert weights(made)["k0"] == (2, 1, 5, 4)
    assert weights(made)["w_head"] == (16, 20)
    assert made.told.notes[0] == (
        "split over 2 GPUs, of which this is one: 5 products by columns, 2 by rows, and 1 with "
        "results put together"
    )


def test_too_few_key_heads_leave_attention_whole() -> None:
    made = check(model(DECODER), 4)
    assert operators(made)["AllReduce"] == 1
    assert "k0" not in made.told.parts
    assert any("2 can't be divided by 4" in note for note in made.told.notes[1:])


def attention(text: str, opset: int = 23) -> Split:
    return check(model(text, opset), 2)


def test_onnx_attention_with_caches() -> None:
    made = attention(
        """(float[2,1,16] x, float[2,2,5,4] k0, float[2,2,5,4] v0, float[16,16] w_q,
        float[16,8] w_k, float[16,8] w_v, float[16,16] w_o)
        => (float[2,1,16] y, float[2,2,6,4] k1, float[2,2,6,4] v1)
        { q = MatMul(x, w_q) k = MatMul(x, w_k) v = MatMul(x, w_v)
          a, k1, v1 = Attention<q_num_heads=4, kv_num_heads=2>(q, k, v, , k0, v0)
          y = MatMul(a, w_o) }"""
    )
    assert operators(made) == {"MatMul": 4, "Attention": 1, "AllReduce": 1}
    assert weights(made)["v0"] == weights(made)["k0"] == (2, 1, 5, 4)


@pytest.mark.parametrize("fused", [True, False])
def test_grouped_attention(fused: bool) -> None:
    qkv = "qkv = MatMul(x, w_qkv)" if fused else (
        "q = MatMul(x, w_q) k = MatMul(x, w_k) v = MatMul(x, w_v)"
    )  # fmt: skip
    given = "qkv, , " if fused else "q, k, v"
    w = "float[64,128] w_qkv" if fused else "float[64,64] w_q, float[64,32] w_k, float[64,32] w_v"
    made = attention(
        f"""(float[1,1,64] x, float[1,2,5,16] k0, float[1,2,5,16] v0, {w}, float[64,64] w_o)
        => (float[1,1,64] y, float[1,2,6,16] k1, float[1,2,6,16] v1)
        <int32[1] n = {{5}}, int32[1] t = {{6}}>
        {{ {qkv}
          a, k1, v1 = com.microsoft.GroupQueryAttention<num_heads=4, kv_num_heads=2>
            ({given}, k0, v0, n, t)
          y = MatMul(a, w_o) }}"""
    )
    assert operators(made)["AllReduce"] == 1
    if fused:
        whole = next(p for p in made.told.parts.values() if p.whole == "w_qkv")
        assert whole.segments == (64, 32, 32)


@pytest.mark.parametrize("by_channel", [True, False])
def test_grouped_attention_with_a_quantised_cache(by_channel: bool) -> None:
    kind = "PER_CHANNEL" if by_channel else "PER_TENSOR"
    scale = "float[1,2,1,16]" if by_channel else "float[1]"
    made = attention(
        f"""(float[1,1,64] x, int8[1,2,5,16] k0, int8[1,2,5,16] v0, float[64,64] w_q,
        float[64,32] w_k, float[64,32] w_v, float[64,64] w_o, {scale} w_s)
        => (float[1,1,64] y, int8[1,2,6,16] k1, int8[1,2,6,16] v1)
        <int32[1] n = {{5}}, int32[1] t = {{6}}>
        {{ q = MatMul(x, w_q) k = MatMul(x, w_k) v = MatMul(x, w_v)
          a, k1, v1 = com.microsoft.GroupQueryAttention<num_heads=4, kv_num_heads=2,
            k_quant_type="{kind}", v_quant_type="{kind}", kv_cache_bit_width=8>
            (q, k, v, k0, v0, n, t, , , , , , w_s, w_s)
          y = MatMul(a, w_o) }}"""
    )
    assert operators(made)["AllReduce"] == 1
    assert weights(made).get("w_s") == ((1, 1, 1, 16) if by_channel else None)


def test_multi_head_attention_with_a_bias() -> None:
    made = attention(
        """(float[2,3,16] x, float[16,16] w_q, float[16,16] w_k, float[16,16] w_v, float[48] w_b,
        float[16,16] w_o) => (float[2,3,16] y)
        { q = MatMul(x, w_q) k = MatMul(x, w_k) v = MatMul(x, w_v)
          a = com.microsoft.MultiHeadAttention<num_heads=4>(q, k, v, w_b) y = MatMul(a, w_o) }"""
    )
    assert weights(made)["w_b"] == (24,)


@pytest.mark.parametrize("by", ["three", "heads"])
def test_fused_queries_keys_and_values_of_a_reshape(by: str) -> None:
    shape, places, perm = {
        "three": ("{2, 3, 3, 4, 4}", "2", "[0, 2, 1, 3]"),
        "heads": ("{2, 3, 4, 3, 4}", "3", "[0, 2, 1, 3]"),
    }[by]
    made = attention(
        f"""(float[2,3,16] x, float[16,48] w_qkv, float[48] w_b, float[16,16] w_o)
        => (float[2,3,16] y)
        <int64[5] s = {shape}, int64 zero = {{0}}, int64 one = {{1}}, int64 two = {{2}},
         int64[3] flat = {{2, 3, 16}}>
        {{ a = MatMul(x, w_qkv) b = Add(a, w_b) c = Reshape(b, s)
           q0 = Gather<axis={places}>(c, zero) k0 = Gather<axis={places}>(c, one)
           v0 = Gather<axis={places}>(c, two)
           q = Transpose<perm={perm}>(q0) v = Transpose<perm={perm}>(v0)
           kt = Transpose<perm=[0, 2, 3, 1]>(k0)
           d = MatMul(q, kt) p = Softmax(d) o = MatMul(p, v) ot = Transpose<perm={perm}>(o)
           oo = Reshape(ot, flat) y = MatMul(oo, w_o) }}"""
    )
    assert operators(made)["AllReduce"] == 1


def test_packed_weights() -> None:
    made = attention(
        """(float[3,64] x, uint8[128,2,16] w_a, float[128,2] w_sa, uint8[64,4,16] w_d,
        float[256] w_sd, float[64] w_b) => (float[3,64] y)
        { a = com.microsoft.MatMulNBits<K=64, N=128, bits=4, block_size=32>(x, w_a, w_sa)
          g = Gelu(a)
          y = com.microsoft.MatMulNBits<K=128, N=64, bits=4, block_size=32>(g, w_d, w_sd, , , w_b)
        }"""
    )
    assert weights(made)["w_d"] == (64, 2, 16)
    assert weights(made)["w_sd"] == (128,)
    assert operators(made) == {"MatMulNBits": 2, "Gelu": 1, "AllReduce": 1, "Add": 1}


def test_weights_of_eight_bits() -> None:
    made = attention(
        """(float[3,8] x, int8[8,16] w_a, float[16] w_sa, int8[8,16] w_d, float w_sd)
        => (float[3,8] y)
        { da = DequantizeLinear<axis=1>(w_a, w_sa) a = MatMul(x, da) g = Relu(a)
          dd = DequantizeLinear(w_d, w_sd) dt = Transpose<perm=[1, 0]>(dd) y = MatMul(g, dt) }"""
    )
    assert weights(made) == {"w_a": (8, 8), "w_sa": (8,), "w_d": (8, 8)}
    assert operators(made)["DequantizeLinear"] == 2


def test_what_needs_a_whole_value_leaves_its_products_whole() -> None:
    made = check(
        model(
            """(float[3,8] x, float[8,8] w_1, float[8,8] w_2, float[8,16] w_3, float[16,8] w_4)
            => (float[3,8] y)
            { a = MatMul(x, w_1) n = Softmax(a) b = MatMul(n, w_2) c = MatMul(b, w_3) d = Relu(c)
              y = MatMul(d, w_4) }"""
        ),
        2,
    )
    assert (operators(made)["AllReduce"], operators(made)["AllGather"]) == (1, 1)
    assert "w_1" not in weights(made)
    assert "Softmax: it needs all elements" in made.told.notes[1]


def test_collectives_are_layers() -> None:
    file = model(DECODER).SerializeToString()
    found = extract(file, derivation=Derivation(tensor_parallel=2))
    assert not [layer.reason for layer in found.layers if layer.kind == "skipped"]
    summed, gathered = (onnx_text.shapes(of_first(found, op)) for op in ("AllReduce", "AllGather"))
    assert (summed, gathered) == ([(2, 1, 16)] * 2, [(2, 1, 20), (2, 1, 40)])
    reduce = of_first(found, "AllReduce")
    assert (reduce.flops, reduce.bytes) == (32, 2 * 32 * 4)
    assert sum(layer.bytes for layer in found.layers) < sum(
        layer.bytes for layer in extract(file).layers
    )


def of_first(found: ExtractedModel, operator: str) -> ExtractedLayer:
    return next(each for each in found.layers if each.op == operator)


@pytest.mark.parametrize(
    ("name", "sums"),
    [
        ("transformers-bert", 8),
        ("transformers-gpt2", 8),
        ("transformers-llama", 6),
        ("transformers-t5-decoder", 9),
        ("transformers-whisper-encoder", 8),
        ("timm-mixer_s32_224", 16),
    ],
)
def test_exported_models_need_a_sum_for_each_attention_and_network(name: str, sums: int) -> None:
    found = extract(content(name), derivation=Derivation(tensor_parallel=2))
    assert Counter(layer.op for layer in found.layers)["AllReduce"] == sums


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(float[3,8] x) => (float[3,8] y) { y = Relu(x) }", "no products with constant weights"),
        ("(float[3,8] x, float[8,7] w_1) => (float[3,7] y) { y = MatMul(x, w_1) }",
         "7 can't be divided by 2"),
    ],
)  # fmt: skip
def test_a_model_in_which_nothing_can_be_split_is_refused(text: str, why: str) -> None:
    with pytest.raises(ModelError, match=f"can't be split over 2 GPUs: .*{why}"):
        split(model(text), 2)
