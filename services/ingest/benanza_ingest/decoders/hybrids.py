"""Qwen3-Next, a hybrid: three of four of its layers keep states of one size instead of keys and
values.

These layers are gated delta nets, with ONNX Runtime's operators. Sizes are those of the
`config.json` of https://huggingface.co/Qwen/Qwen3-Next-80B-A3B-Instruct, and the structure of such
a net is that of Yang et al., "Gated Delta Networks", 2024.
"""

from dataclasses import dataclass

from onnx import ModelProto

from benanza_ingest.decoders.in_text import TextGraph


@dataclass(frozen=True)
class DeltaHybrid:
    """Qwen3-Next: every `full_every`-th layer has attention to all tokens, and others a gated delta
    net with `key_heads` and `value_heads` of `delta_size` elements.
    """

    layers: int = 48
    full_every: int = 4
    hidden: int = 2048
    key_heads: int = 16
    value_heads: int = 32
    delta_size: int = 128
    places: int = 4
    heads: int = 16
    kv_heads: int = 2
    head_size: int = 256
    rotary_size: int = 64
    context: int = 262_144
    experts: int = 512
    top_k: int = 10
    intermediate: int = 512
    vocabulary: int = 151_936


def qwen3_next(of: DeltaHybrid) -> ModelProto:
    """A step or a prompt: its open dimensions are those of `build`. All layers begin with what they
    kept, of a prompt behind nothing with states of zeros.
    """
    text = TextGraph()
    keys, wide = of.key_heads * of.delta_size, of.value_heads * of.delta_size
    text.inputs += [
        "int64[batch_size,sequence_length] input_ids",
        "int64[batch_size,total_sequence_length] attention_mask",
    ]
    text.weight("words", of.vocabulary, of.hidden)
    text.weight("scores", of.hidden, of.vocabulary)
    text.weight("last_norm", of.hidden)
    for table in ("cosines", "sines"):
        text.weight(table, of.context, of.rotary_size // 2)
    text.numbers(qkvz=(2 * keys + wide, wide), qkv=(keys, keys, wide), two=(of.value_heads,) * 2)
    text.numbers(key_heads=(0, 0, of.key_heads, of.delta_size), flat_keys=(0, 0, keys))
    text.numbers(value_heads=(0, 0, of.value_heads, of.delta_size), flat_values=(0, 0, wide))
    text.numbers(halves=(of.heads * of.head_size,) * 2, single=(-1, of.hidden))
    text.numbers(
        query_norm=(0, 0, of.heads, of.head_size), flat_query=(0, 0, of.heads * of.head_size)
    )
    text.numbers(
        kv_norm=(0, 0, of.kv_heads, of.head_size), flat_kv=(0, 0, of.kv_heads * of.head_size)
    )
    text.numbers(one=1)
    text.nodes.append(_BEGIN)
    for n in range(of.layers):
        full = (n + 1) % of.full_every == 0
        (_attention if full else _delta)(text, of, n)
        _experts(text, of, n)
    text.nodes.append(
        f"last = RMSNormalization <epsilon = 1e-6> (x_{of.layers}, last_norm)"
        " logits = MatMul(last, scores)"
    )
    text.outputs.append("logits")
    return text.model()


_BEGIN = """
x_0 = Gather(words, input_ids)
counts = ReduceSum <keepdims = 0> (attention_mask, one)
before = Sub(counts, one)
last_keys = Cast <to = 6> (before)
length = Shape <start = 1, end = 2> (attention_mask)
total = Squeeze(length)
all_keys = Cast <to = 6> (total)
"""


def _delta(text: TextGraph, of: DeltaHybrid, n: int) -> None:
    size, keys = of.delta_size, of.key_heads * of.delta_size
    wide = of.value_heads * size
    text.inputs += [
        f"float[batch_size,{2 * keys + wide},{of.places - 1}] conv_{n}",
        f"float[batch_size,{of.value_heads},{size},{size}] state_{n}",
    ]
    text.outputs += [f"newconv_{n}", f"newstate_{n}"]
    text.weight(f"norm_{n}", of.hidden)
    text.weight(f"in_{n}", of.hidden, 2 * keys + 2 * wide)
    text.weight(f"ba_{n}", of.hidden, 2 * of.value_heads)
    text.weight(f"filter_{n}", 2 * keys + wide, 1, of.places)
    text.weight(f"dtbias_{n}", of.value_heads)
    text.weight(f"a_{n}", of.value_heads)
    text.weight(f"gatednorm_{n}", size)
    text.weight(f"out_{n}", wide, of.hidden)
    heads = f"q_num_heads = {of.key_heads}, kv_num_heads = {of.value_heads}"
    text.nodes.append(_DELTA.replace("HEADS", heads).replace("@", f"_{n}"))


_DELTA = """
h@ = RMSNormalization <epsilon = 1e-6> (x@, norm@)
wide@ = MatMul(h@, in@)
qkv@, z@ = Split <axis = -1> (wide@, qkvz)
columns@ = Transpose <perm = [0, 2, 1]> (qkv@)
conved@, newconv@ = com.microsoft.CausalConvWithState <activation = "silu">
  (columns@, filter@, , conv@)
rows@ = Transpose <perm = [0, 2, 1]> (conved@)
q@, k@, v@ = Split <axis = -1> (rows@, qkv)
qh@ = Reshape(q@, key_heads)
qn@ = LpNormalization <axis = -1, p = 2> (qh@)
qf@ = Reshape(qn@, flat_keys)
kh@ = Reshape(k@, key_heads)
kn@ = LpNormalization <axis = -1, p = 2> (kh@)
kf@ = Reshape(kn@, flat_keys)
ba@_ = MatMul(h@, ba@)
b@, dt@ = Split <axis = -1> (ba@_, two)
beta@ = Sigmoid(b@)
dtb@ = Add(dt@, dtbias@)
step@ = Softplus(dtb@)
decay@ = Mul(step@, a@)
y@, newstate@ = com.microsoft.LinearAttention <HEADS, update_rule = "gated_delta">
  (qf@, kf@, v@, state@, decay@, beta@)
yh@ = Reshape(y@, value_heads)
yn@ = RMSNormalization <epsilon = 1e-6> (yh@, gatednorm@)
zh@ = Reshape(z@, value_heads)
zs@ = Sigmoid(zh@)
gate@ = Mul(zh@, zs@)
gated@ = Mul(yn@, gate@)
flat@ = Reshape(gated@, flat_values)
o@ = MatMul(flat@, out@)
mid@ = Add(x@, o@)
"""


def _attention(text: TextGraph, of: DeltaHybrid, n: int) -> None:
    kept = f"float[batch_size,{of.kv_heads},past_sequence_length,{of.head_size}]"
    text.inputs += [f"{kept} keys_{n}", f"{kept} values_{n}"]
    text.outputs += [f"newkeys_{n}", f"newvalues_{n}"]
    wide, narrow = of.heads * of.head_size, of.kv_heads * of.head_size
    text.weight(f"norm_{n}", of.hidden)
    for name, width in (("wq", 2 * wide), ("wk", narrow), ("wv", narrow)):
        text.weight(f"{name}_{n}", of.hidden, width)
    for name in ("qnorm", "knorm"):
        text.weight(f"{name}_{n}", of.head_size)
    text.weight(f"out_{n}", wide, of.hidden)
    heads = f"num_heads = {of.heads}, kv_num_heads = {of.kv_heads}"
    text.nodes.append(_ATTENTION.replace("HEADS", heads).replace("@", f"_{n}"))


_ATTENTION = """
h@ = RMSNormalization <epsilon = 1e-6> (x@, norm@)
qg@ = MatMul(h@, wq@)
q@, g@ = Split <axis = -1> (qg@, halves)
k@ = MatMul(h@, wk@)
v@ = MatMul(h@, wv@)
qh@ = Reshape(q@, query_norm)
qn@ = RMSNormalization <epsilon = 1e-6> (qh@, qnorm@)
qf@ = Reshape(qn@, flat_query)
kh@ = Reshape(k@, kv_norm)
kn@ = RMSNormalization <epsilon = 1e-6> (kh@, knorm@)
kf@ = Reshape(kn@, flat_kv)
y@, newkeys@, newvalues@ = com.microsoft.GroupQueryAttention <HEADS, do_rotary = 1>
  (qf@, kf@, v@, keys@, values@, last_keys, all_keys, cosines, sines)
gs@ = Sigmoid(g@)
gated@ = Mul(y@, gs@)
o@ = MatMul(gated@, out@)
mid@ = Add(x@, o@)
"""


def _experts(text: TextGraph, of: DeltaHybrid, n: int) -> None:
    text.weight(f"norm_of_experts_{n}", of.hidden)
    text.weight(f"router_{n}", of.hidden, of.experts)
    text.weight(f"up_{n}", of.experts, 2 * of.intermediate, of.hidden)
    text.weight(f"down_{n}", of.experts, of.hidden, of.intermediate)
    text.weight(f"shared_gate_{n}", of.hidden, of.intermediate)
    text.weight(f"shared_up_{n}", of.hidden, of.intermediate)
    text.weight(f"shared_down_{n}", of.intermediate, of.hidden)
    text.weight(f"share_{n}", of.hidden, 1)
    written = _EXPERTS.replace("@next", f"x_{n + 1}").replace("TOP", str(of.top_k))
    text.nodes.append(written.replace("@", f"_{n}"))


_EXPERTS = """
he@ = RMSNormalization <epsilon = 1e-6> (mid@, norm_of_experts@)
flat_he@ = Reshape(he@, single)
logits@ = MatMul(flat_he@, router@)
mixed@ = com.microsoft.MoE <k = TOP, activation_type = "swiglu", swiglu_fusion = 1,
  normalize_routing_weights = 1, activation_alpha = 1.0, activation_beta = 0.0>
  (he@, logits@, up@, , down@)
sg@ = MatMul(he@, shared_gate@)
ss@ = Sigmoid(sg@)
sa@ = Mul(sg@, ss@)
su@ = MatMul(he@, shared_up@)
sm@ = Mul(sa@, su@)
so@ = MatMul(sm@, shared_down@)
sl@ = MatMul(he@, share@)
sw@ = Sigmoid(sl@)
shared@ = Mul(so@, sw@)
both@ = Add(mixed@, shared@)
@next = Add(mid@, both@)
"""
