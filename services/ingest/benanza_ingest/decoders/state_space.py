"""Mamba 2, as PyTorch's code writes out its step: in elementary operators.

Sizes are those of the `config.json` of https://huggingface.co/state-spaces/mamba2-2.7b, structure
is that of Dao and Gu, "Transformers are SSMs", 2024.
"""

from dataclasses import dataclass

from onnx import ModelProto

from benanza_ingest.decoders.in_text import TextGraph


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


def mamba2(of: StateSpaceModel) -> ModelProto:
    """A step: one new token of each sequence."""
    text, inner = TextGraph(), of.heads * of.head_size
    channels = inner + 2 * of.state_size
    text.inputs.append("int64[batch_size,1] input_ids")
    text.weight("words", of.vocabulary, of.hidden)
    text.weight("last_norm", of.hidden)
    text.numbers(axis1=1, end=-1, axes12=(1, 2), axes23=(2, 3), whole=2**31)
    text.numbers(widths=(inner, channels, of.heads), parts=(inner, of.state_size, of.state_size))
    text.numbers(by_head=(0, of.heads, of.head_size), flat=(0, 1, inner))
    text.nodes.append("x_0 = Gather(words, input_ids)")
    for n in range(of.layers):
        text.inputs += [
            f"float[batch_size,{channels},{of.places}] conv_{n}",
            f"float[batch_size,{of.heads},{of.head_size},{of.state_size}] state_{n}",
        ]
        text.outputs += [f"newconv_{n}", f"newstate_{n}"]
        text.weight(f"norm_{n}", of.hidden)
        text.weight(f"in_{n}", of.hidden, inner + channels + of.heads)
        text.weight(f"filter_{n}", channels, of.places)
        text.weight(f"bias_{n}", channels)
        text.weight(f"dtbias_{n}", of.heads)
        text.weight(f"a_{n}", of.heads)
        text.weight(f"d_{n}", of.heads, 1)
        text.weight(f"gatednorm_{n}", inner)
        text.weight(f"out_{n}", inner, of.hidden)
        text.nodes.append(_MAMBA2.replace("@next", f"x_{n + 1}").replace("@", f"_{n}"))
    text.nodes.append(
        f"last = RMSNormalization <epsilon = 1e-5> (x_{of.layers}, last_norm)"
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
