"""Decoders whose layers keep states of one size instead of keys and values, or mostly so.

    python -m benchmarks.decoders.hybrids FOLDER

writes their graphs, without weights: Mamba 2 as PyTorch's code writes out its step, in elementary
operators; and Qwen3-Next, three of whose four layers are gated delta nets, with ONNX Runtime's
operators, for a step or for a prompt. Sizes are those of the `config.json` of
https://huggingface.co/state-spaces/mamba2-2.7b and of Qwen/Qwen3-Next-80B-A3B-Instruct; structure
is that of their papers: Dao and Gu, "Transformers are SSMs", 2024; Yang et al., "Gated Delta
Networks", 2024.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

from onnx import ModelProto, parser

OPSETS = '"": 23, "com.microsoft": 1'


@dataclass(frozen=True)
class StateSpaceModel:
    """Mamba 2: `heads` states of `head_size` rows and `state_size` columns in each layer."""

    layers: int = 64
    hidden: int = 2560
    heads: int = 80
    head_size: int = 64
    state_size: int = 128
    places: int = 4
    vocabulary: int = 50_288
    precision: str = "float16"


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
    precision: str = "float16"


class _Text:
    """A graph in ONNX's text form: what it reads, returns and computes, and its weights."""

    def __init__(self, precision: str) -> None:
        self.precision = precision
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.weights: list[str] = []
        self.nodes: list[str] = []

    def model(self) -> ModelProto:
        inputs, outputs = ", ".join(self.inputs), ", ".join(self.outputs)
        weights, nodes = ", ".join(self.weights), "\n".join(self.nodes)
        text = f"decoder ({inputs}) => ({outputs})\n<{weights}> {{\n{nodes}\n}}"
        made: ModelProto = parser.parse_model(
            f"<ir_version: 10, opset_import: [{OPSETS}]>\n{text.replace('REAL', self.precision)}"
        )
        return made

    def weight(self, name: str, *shape: int) -> None:
        sizes = ",".join(map(str, shape))
        self.weights.append(f'REAL[{sizes}] {name} = ["location": "weights"]')

    def numbers(self, **values: int | tuple[int, ...]) -> None:
        """Constants that decide shapes and axes."""
        for name, value in values.items():
            several = value if isinstance(value, tuple) else (value,)
            listed = ", ".join(map(str, several))
            self.weights.append(f"int64[{len(several)}] {name} = {{{listed}}}")


def mamba2(of: StateSpaceModel) -> ModelProto:
    """A step: one new token of each sequence."""
    text, inner = _Text(of.precision), of.heads * of.head_size
    channels = inner + 2 * of.state_size
    text.inputs.append("int64[batch_size,1] input_ids")
    text.weight("words", of.vocabulary, of.hidden)
    text.weight("last_norm", of.hidden)
    text.numbers(axis1=1, end=-1, axes12=(1, 2), axes23=(2, 3), whole=2**31)
    text.numbers(widths=(inner, channels, of.heads), parts=(inner, of.state_size, of.state_size))
    text.numbers(by_head=(0, of.heads, of.head_size), flat=(0, 1, inner))
    text.nodes.append("x0 = Gather(words, input_ids)")
    for n in range(of.layers):
        text.inputs += [
            f"REAL[batch_size,{channels},{of.places}] conv{n}",
            f"REAL[batch_size,{of.heads},{of.head_size},{of.state_size}] state{n}",
        ]
        text.outputs += [f"newconv{n}", f"newstate{n}"]
        text.weight(f"norm{n}", of.hidden)
        text.weight(f"in{n}", of.hidden, inner + channels + of.heads)
        text.weight(f"filter{n}", channels, of.places)
        text.weight(f"bias{n}", channels)
        text.weight(f"dtbias{n}", of.heads)
        text.weight(f"a{n}", of.heads)
        text.weight(f"d{n}", of.heads, 1)
        text.weight(f"gatednorm{n}", inner)
        text.weight(f"out{n}", inner, of.hidden)
        text.nodes.append(_MAMBA2.replace("@next", f"x{n + 1}").replace("@", str(n)))
    text.nodes.append(
        f"last = RMSNormalization <epsilon = 1e-5> (x{of.layers}, last_norm)"
        " table = Transpose(words) logits = MatMul(last, table)"
    )
    text.outputs.append("logits")
    return text.model()


_MAMBA2 = """
h@ = RMSNormalization <epsilon = 1e-5> (x@, norm@)
wide@ = MatMul(h@, in@)
z@, xbc@, dt@ = Split <axis = -1> (wide@, widths)
column@ = Transpose <perm = [0, 2, 1]> (xbc@)
kept@ = Slice(conv@, axis1, whole, end)
newconv@ = Concat <axis = 2> (kept@, column@)
taps@ = Mul(newconv@, filter@)
sum@ = ReduceSum <keepdims = 0> (taps@, end)
biased@ = Add(sum@, bias@)
act@ = Sigmoid(biased@)
conved@ = Mul(biased@, act@)
xs@, b@, c@ = Split <axis = -1> (conved@, parts)
xh@ = Reshape(xs@, by_head)
dt2@ = Squeeze(dt@, axis1)
dt3@ = Add(dt2@, dtbias@)
step@ = Softplus(dt3@)
log@ = Mul(step@, a@)
decay@ = Exp(log@)
decay4@ = Unsqueeze(decay@, axes23)
step4@ = Unsqueeze(step@, axes23)
xh4@ = Unsqueeze(xh@, end)
b4@ = Unsqueeze(b@, axes12)
xdt@ = Mul(xh4@, step4@)
new@ = Mul(xdt@, b4@)
old@ = Mul(state@, decay4@)
newstate@ = Add(old@, new@)
c4@ = Unsqueeze(c@, axes12)
ccol@ = Transpose <perm = [0, 1, 3, 2]> (c4@)
shape@ = Shape <start = 0, end = 2> (newstate@)
rest@ = Shape <start = 2, end = 4> (ccol@)
wanted@ = Concat <axis = 0> (shape@, rest@)
cs@ = Expand(ccol@, wanted@)
read@ = MatMul(newstate@, cs@)
y@ = Squeeze(read@, end)
skip@ = Mul(xh@, d@)
total@ = Add(y@, skip@)
yflat@ = Reshape(total@, flat)
zs@ = Sigmoid(z@)
gate@ = Mul(z@, zs@)
gated@ = Mul(yflat@, gate@)
normed@ = RMSNormalization <epsilon = 1e-5> (gated@, gatednorm@)
o@ = MatMul(normed@, out@)
@next = Add(x@, o@)
"""


def qwen3_next(of: DeltaHybrid) -> ModelProto:
    """A step or a prompt, with keys and values in buffers of as many rows as there will be."""
    text = _Text(of.precision)
    keys, wide = of.key_heads * of.delta_size, of.value_heads * of.delta_size
    text.inputs += [
        "int64[batch_size,sequence_length] input_ids",
        "int32[batch_size] last_key",
        "int32 all_keys",
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
    text.nodes.append("x0 = Gather(words, input_ids)")
    for n in range(of.layers):
        full = (n + 1) % of.full_every == 0
        (_attention if full else _delta)(text, of, n)
        _experts(text, of, n)
    text.nodes.append(
        f"last = RMSNormalization <epsilon = 1e-6> (x{of.layers}, last_norm)"
        " logits = MatMul(last, scores)"
    )
    text.outputs.append("logits")
    return text.model()


def _delta(text: _Text, of: DeltaHybrid, n: int) -> None:
    size, keys = of.delta_size, of.key_heads * of.delta_size
    wide = of.value_heads * size
    text.inputs += [
        f"REAL[batch_size,{2 * keys + wide},{of.places - 1}] conv{n}",
        f"REAL[batch_size,{of.value_heads},{size},{size}] state{n}",
    ]
    text.outputs += [f"newconv{n}", f"newstate{n}"]
    text.weight(f"norm{n}", of.hidden)
    text.weight(f"in{n}", of.hidden, 2 * keys + 2 * wide)
    text.weight(f"ba{n}", of.hidden, 2 * of.value_heads)
    text.weight(f"filter{n}", 2 * keys + wide, 1, of.places)
    text.weight(f"dtbias{n}", of.value_heads)
    text.weight(f"a{n}", of.value_heads)
    text.weight(f"gatednorm{n}", size)
    text.weight(f"out{n}", wide, of.hidden)
    heads = f"q_num_heads = {of.key_heads}, kv_num_heads = {of.value_heads}"
    text.nodes.append(_DELTA.replace("HEADS", heads).replace("@", str(n)))


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


def _attention(text: _Text, of: DeltaHybrid, n: int) -> None:
    kept = f"REAL[batch_size,{of.kv_heads},total_sequence_length,{of.head_size}]"
    text.inputs += [f"{kept} keys{n}", f"{kept} values{n}"]
    text.outputs += [f"newkeys{n}", f"newvalues{n}"]
    wide, narrow = of.heads * of.head_size, of.kv_heads * of.head_size
    text.weight(f"norm{n}", of.hidden)
    for name, width in (("wq", 2 * wide), ("wk", narrow), ("wv", narrow)):
        text.weight(f"{name}{n}", of.hidden, width)
    for name in ("qnorm", "knorm"):
        text.weight(f"{name}{n}", of.head_size)
    text.weight(f"out{n}", wide, of.hidden)
    heads = f"num_heads = {of.heads}, kv_num_heads = {of.kv_heads}"
    text.nodes.append(_ATTENTION.replace("HEADS", heads).replace("@", str(n)))


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
  (qf@, kf@, v@, keys@, values@, last_key, all_keys, cosines, sines)
gs@ = Sigmoid(g@)
gated@ = Mul(y@, gs@)
o@ = MatMul(gated@, out@)
mid@ = Add(x@, o@)
"""


def _experts(text: _Text, of: DeltaHybrid, n: int) -> None:
    text.weight(f"norm_of_experts{n}", of.hidden)
    text.weight(f"router{n}", of.hidden, of.experts)
    text.weight(f"up{n}", of.experts, 2 * of.intermediate, of.hidden)
    text.weight(f"down{n}", of.experts, of.hidden, of.intermediate)
    text.weight(f"shared_gate{n}", of.hidden, of.intermediate)
    text.weight(f"shared_up{n}", of.hidden, of.intermediate)
    text.weight(f"shared_down{n}", of.intermediate, of.hidden)
    text.weight(f"share{n}", of.hidden, 1)
    written = _EXPERTS.replace("@next", f"x{n + 1}").replace("TOP", str(of.top_k))
    text.nodes.append(written.replace("@", str(n)))


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


def main() -> None:
    """Writes the files, and prints their names."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("folder", type=Path)
    folder: Path = asked.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    made = {"mamba2-2.7b": mamba2(StateSpaceModel()), "qwen3-next": qwen3_next(DeltaHybrid())}
    for name, model in made.items():
        path = folder / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        print(path)


if __name__ == "__main__":
    main()
