"""Attention in the forms in which exporters write it. `LARGEST` of `FORMS` has them by name."""

from typing import NamedTuple

from onnx import ModelProto

from tests.ingest.onnx_text import proto

LOW = "-3.4028234663852886e38"
FIXED = (
    "float s = {0.25}, float half = {0.5}, float two = {2.0}, float zero = {0.0},"
    f" float low = {{{LOW}}}, float none = {{-inf}}, bool nothing = {{0}},"
    ' float[1,4,7,7] bias = ["location": "w"], float[1,1,7,7] w = ["location": "w"],'
    ' bool[1,1,7,7] seen = ["location": "w"],'
    " int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {2}, int64[1] l0 = {0}, int64[1] l1 = {1},"
    " int64[1] l2 = {2}, int64[1] l3 = {3}, int64[1] l99 = {99}, int64[4] back = {2, 7, 4, 8},"
    " int64[5] three = {2, 7, 3, 4, 8}, int64[3] merged = {8, 7, 8}, int64[4] split = {2, 4, 7, 8},"
    " int64[5] grouped = {2, 2, 2, 7, 8}, int64[3] flat = {2, 7, 32}, int64[3] keys3 = {8, 7, 8},"
    " int64[4] kt4 = {2, 4, 8, 7}, int64[5] windows = {1, 2, 4, 7, 7},"
    " int64[4] joined = {2, 4, 7, 7}"
)
PLAIN = "float[2,4,7,8] q, float[2,4,7,8] k, float[2,4,7,8] v"
NATURAL = "float[2,7,32] x, float[2,7,32] y, float[2,7,32] z"
END = "p = Softmax(c) o = MatMul(p, v)"
TURNED = "kt = Transpose<perm=[0,1,3,2]>(k)"
BY_HEAD = (
    "x4 = Reshape(x, back) y4 = Reshape(y, back) z4 = Reshape(z, back)"
    " q = Transpose<perm=[0,2,1,3]>(x4) v = Transpose<perm=[0,2,1,3]>(z4)"
)


class Form(NamedTuple):
    """A model that computes an attention, and the layer of the largest group."""

    inputs: str
    body: str
    largest: str
    opset: int = 21

    def model(self, more: str = "") -> ModelProto:
        """The model; with values that it returns `more`."""
        return proto(
            f"g ({self.inputs}) => (o{more}) <{FIXED}> {{ {self.body} }}", opset=self.opset
        )


def between(steps: str, largest: str, inputs: str = PLAIN) -> Form:
    """The scores are `a` first and `c` at last."""
    return Form(inputs, f"{TURNED} a = MatMul(q, kt) {steps} {END}", largest)


FORMS = {
    "no scale": between("c = Identity(a)", "Attention"),
    "scaled after": between("c = Mul(a, s)", "Attention"),
    "scaled after, the number first": between("c = Mul(s, a)", "Attention"),
    "divided": between("c = Div(a, two)", "Attention"),
    "scaled on both": Form(
        PLAIN,
        f"{TURNED} q1 = Mul(q, half) k1 = Mul(half, kt) c = MatMul(q1, k1) {END}",
        "Attention",
    ),
    "keys scaled before they are transposed": Form(
        PLAIN,
        f"k0 = Div(k, two) kt = Transpose<perm=[0,1,3,2]>(k0) c = MatMul(q, kt) {END}",
        "Attention",
    ),
    "with a mask": between(
        "b = Mul(a, s) c = Add(b, m)", "Attention", f"{PLAIN}, float[2,1,7,7] m"
    ),
    "with a cap, as Gemma 2 has it": between(
        "b = Mul(a, s) b1 = Div(b, two) b2 = Tanh(b1) b3 = Mul(b2, two) c = Add(b3, m)",
        "Attention",
        f"{PLAIN}, float[2,1,7,7] m",
    ),
    "with a cap of one": between("c = Tanh(a)", "Attention"),
    "with a cap and a mask that are scaled": between(
        "b1 = Tanh(a) b2 = Mul(b1, two) b3 = Add(b2, w) c = Div(b3, two)", "Mul+Attention"
    ),
    "with a mask of keys": between(
        "c = Add(m, a)", "Expand+Attention", f"{PLAIN}, float[2,1,1,7] m"
    ),
    "with a mask of one axis": between(
        "c = Add(a, m)", "Reshape+Expand+Attention", f"{PLAIN}, float[7] m"
    ),
    "with a mask and a bias": between(
        "b = Add(a, bias) c = Add(m, b)", "Add+Attention", f"{PLAIN}, float[2,1,7,7] m"
    ),
    "with a mask that is scaled": between("b = Add(a, w) c = Div(b, two)", "Mul+Attention"),
    "kept where a mask says so": between(
        "c = Where(m, a, none)", "Attention", f"{PLAIN}, bool[2,1,7,7] m"
    ),
    "left out where a mask says so": between(
        "c = Where(m, none, a)", "Where+Attention", f"{PLAIN}, bool[2,1,7,7] m"
    ),
    "the lowest number where a mask says so": between(
        "c = Where(m, low, a)", "Where+Attention", f"{PLAIN}, bool[2,1,7,7] m"
    ),
    "a bias, and kept where a mask says so": between(
        "b = Add(a, bias) c = Where(m, b, low)", "Where+Attention", f"{PLAIN}, bool[1,1,7,7] m"
    ),
    "kept where a mask says so, and a bias": between(
        "b = Where(m, a, none) c = Add(b, bias)", "Where+Add+Attention", f"{PLAIN}, bool[1,1,7,7] m"
    ),
    "a fixed mask of bools": between("c = Where(seen, a, none)", "Attention"),
    "guarded against rows of which all is masked": Form(
        f"{PLAIN}, float[2,1,7,7] m",
        f"{TURNED} a = MatMul(q, kt) c = Add(a, m) p1 = Softmax(c) nan = IsNaN(p1)"
        " p = Where(nan, zero, p1) o = MatMul(p, v)",
        "Attention",
    ),
    "guarded, with rows of which all is masked": Form(
        f"{PLAIN}, bool[2,1,7,1] m",
        f"{TURNED} a = MatMul(q, kt) c = Where(m, a, none) p1 = Softmax(c) nan = IsNaN(p1)"
        " p = Where(nan, zero, p1) o = MatMul(p, v)",
        "Expand+Attention",
    ),
    "the softmax in float32": Form(
        "float16[2,4,7,8] q, float16[2,4,7,8] k, float16[2,4,7,8] v",
        f"{TURNED} a = MatMul(q, kt) b = Cast<to=1>(a) c = Softmax(b) p = Cast<to=10>(c)"
        " o = MatMul(p, v)",
        "Attention",
    ),
    "views between": Form(
        PLAIN,
        f"{TURNED} a = MatMul(q, kt) b = Identity(a) p1 = Softmax(b) p = Dropout(p1)"
        " o = MatMul(p, v)",
        "Attention",
    ),
    "in windows": between(
        "b = Add(a, bias) b5 = Reshape(b, windows) c5 = Add(b5, m) c = Reshape(c5, joined)",
        "Reshape+Add+Attention",
        f"{PLAIN}, float[1,2,1,7,7] m",
    ),
    "of three axes": Form(
        "float[6,7,8] q, float[6,7,8] k, float[6,7,8] v, float[6,1,7] m",
        f"kt = Transpose<perm=[0,2,1]>(k) a = MatMul(q, kt) c = Add(a, m) {END}",
        "Reshape+Reshape+Reshape+Expand+Attention+Reshape",
    ),
    "of one head": Form(
        "float[7,8] q, float[7,8] k, float[7,8] v",
        f"kt = Transpose<perm=[1,0]>(k) c = MatMul(q, kt) {END}",
        "Reshape+Reshape+Reshape+Attention+Reshape",
    ),
    "of five axes": Form(
        "float[2,3,4,7,8] q, float[2,3,4,7,8] k, float[2,3,4,7,8] v",
        f"kt = Transpose<perm=[0,1,2,4,3]>(k) c = MatMul(q, kt) {END}",
        "Reshape+Reshape+Reshape+Attention+Reshape",
    ),
    "by rows": Form(
        NATURAL,
        f"{BY_HEAD} kt = Transpose<perm=[0,2,3,1]>(y4) c = MatMul(q, kt) p = Softmax(c)"
        " o4 = MatMul(p, v) o = Transpose<perm=[0,2,1,3]>(o4)",
        "Transpose+Transpose+Transpose+Attention+Transpose",
    ),
    "by rows, keys transposed twice, merged": Form(
        NATURAL,
        f"{BY_HEAD} k = Transpose<perm=[0,2,1,3]>(y4) k3 = Reshape(k, keys3)"
        " kt3 = Transpose<perm=[0,2,1]>(k3) kt = Reshape(kt3, kt4) c = MatMul(q, kt)"
        " p = Softmax(c) o4 = MatMul(p, v) o = Transpose<perm=[0,2,1,3]>(o4)",
        "Transpose+Transpose+Transpose+Attention+Transpose",
    ),
    "by rows, all merged": Form(
        NATURAL,
        f"{BY_HEAD} k = Transpose<perm=[0,2,1,3]>(y4) q3 = Reshape(q, merged)"
        " k3 = Reshape(k, merged) v3 = Reshape(v, merged) kt = Transpose<perm=[0,2,1]>(k3)"
        " c = MatMul(q3, kt) p = Softmax(c) o3 = MatMul(p, v3) o4 = Reshape(o3, split)"
        " o = Transpose<perm=[0,2,1,3]>(o4)",
        "Transpose+Transpose+Transpose+Attention+Transpose",
    ),
    "as Einsum": Form(
        "float[2,7,4,8] q, float[2,7,4,8] k, float[2,7,4,8] v",
        'c = Einsum<equation="bqhd,bkhd->bhqk">(q, k) p = Softmax(c)'
        ' o = Einsum<equation="bhqk,bkhd->bqhd">(p, v)',
        "Transpose+Transpose+Transpose+Attention+Transpose",
    ),
    "of one product, split": Form(
        "float[2,7,96] x",
        "a3, b3, c3 = Split<axis=2, num_outputs=3>(x) x4 = Reshape(a3, back) y4 = Reshape(b3, back)"
        " z4 = Reshape(c3, back) q = Transpose<perm=[0,2,1,3]>(x4)"
        " v = Transpose<perm=[0,2,1,3]>(z4) kt = Transpose<perm=[0,2,3,1]>(y4)"
        f" c = MatMul(q, kt) {END}",
        "Reshape+Slice+Transpose+Slice+Transpose+Slice+Transpose+Attention",
    ),
    "of one product, gathered": Form(
        "float[2,7,96] x",
        "n = Relu(x) x5 = Reshape(n, three) t = Transpose<perm=[2,0,3,1,4]>(x5) q = Gather(t, i0)"
        " k = Gather(t, i1) v = Gather(t, i2) kt = Transpose<perm=[0,1,3,2]>(k)"
        f" c = MatMul(q, kt) {END}",
        "Reshape+Slice+Transpose+Slice+Transpose+Slice+Transpose+Attention",
    ),
    "of one product, sliced and squeezed": Form(
        "float[2,7,3,4,8] x",
        "t = Transpose<perm=[2,0,3,1,4]>(x) q5 = Slice(t, l0, l1, l0) k5 = Slice(t, l1, l2, l0)"
        " v5 = Slice(t, l2, l3, l0) q = Squeeze(q5, l0) k = Squeeze(k5, l0) v = Squeeze(v5, l0)"
        f" {TURNED} c = MatMul(q, kt) {END}",
        "Reshape+Slice+Transpose+Slice+Transpose+Slice+Transpose+Attention",
    ),
    "grouped queries": Form(
        "float[2,4,7,8] q, float[2,2,7,8] k0, float[2,2,7,8] v0",
        "k1 = Unsqueeze(k0, l2) k2 = Expand(k1, grouped) k = Reshape(k2, split)"
        " v1 = Unsqueeze(v0, l2) v2 = Expand(v1, grouped) v = Reshape(v2, split)"
        f" {TURNED} c = MatMul(q, kt) {END}",
        "Reshape+Reshape+Attention",
    ),
    "one head of keys": Form(
        "float[2,4,7,8] q, float[2,1,7,8] k, float[2,1,7,8] v",
        f"{TURNED} c = MatMul(q, kt) {END}",
        "Attention",
    ),
    "learned queries": Form(
        "float[4,7,8] q, float[2,4,7,8] k, float[2,4,7,8] v",
        f"{TURNED} c = MatMul(q, kt) {END}",
        "Reshape+Expand+Attention",
    ),
    "keys of all that is seen": Form(
        "float[2,4,7,8] q, float[4,7,8] k, float[2,4,7,8] v",
        f"kt = Transpose<perm=[0,2,1]>(k) c = MatMul(q, kt) {END}",
        "Reshape+Expand+Attention",
    ),
    "values first": Form(
        "float[2,4,8,7] q0, float[2,4,8,7] k, float[2,4,8,7] v",
        "q = Transpose<perm=[0,1,3,2]>(q0) c = MatMul(q, k) p = Softmax(c)"
        " pt = Transpose<perm=[0,1,3,2]>(p) o = MatMul(v, pt)",
        "Transpose+Transpose+Transpose+Attention+Transpose",
    ),
    "over channels": Form(
        "float[2,7,96] x",
        "n = Relu(x) x5 = Reshape(n, three) t = Transpose<perm=[2,0,3,4,1]>(x5) q = Gather(t, i0)"
        " k = Gather(t, i1) v = Gather(t, i2) kt = Transpose<perm=[0,1,3,2]>(k)"
        f" c = MatMul(q, kt) {END}",
        "Reshape+Slice+Transpose+Slice+Transpose+Slice+Transpose+Attention",
    ),
    "keys of every second token": Form(
        "float[2,4,7,8] q, float[2,14,4,8] y, float[2,14,4,8] z",
        "k0 = Slice(y, l0, l99, l1, l2) v0 = Slice(z, l1, l99, l1, l2)"
        " kt = Transpose<perm=[0,2,3,1]>(k0) v = Transpose<perm=[0,2,1,3]>(v0)"
        f" c = MatMul(q, kt) {END}",
        "Reshape+Slice+Transpose+Reshape+Slice+Transpose+Attention",
    ),
    "ONNX's operator": Form(
        "float[2,7,4,8] q0, float[2,7,2,8] k0, float[2,2,7,8] v",
        "q = Transpose<perm=[0,2,1,3]>(q0) k = Transpose<perm=[0,2,1,3]>(k0)"
        " o4 = Attention<is_causal=1, scale=0.5>(q, k, v) o = Transpose<perm=[0,2,1,3]>(o4)",
        "Transpose+Transpose+Attention+Transpose",
        opset=23,
    ),
    "ONNX's operator with a cap": Form(
        "float[2,7,4,8] q0, float[2,7,2,8] k0, float[2,2,7,8] v",
        "q = Transpose<perm=[0,2,1,3]>(q0) k = Transpose<perm=[0,2,1,3]>(k0)"
        " o4 = Attention<softcap=0.5>(q, k, v) o = Transpose<perm=[0,2,1,3]>(o4)",
        "Transpose+Transpose+Attention+Transpose",
        opset=23,
    ),
    "ONNX's operator, all of whose keys count": Form(
        "float[2,7,4,8] q0, float[2,9,2,8] k0, float[2,2,9,8] v, bool[7,9] m",
        "q = Transpose<perm=[0,2,1,3]>(q0) k = Transpose<perm=[0,2,1,3]>(k0)"
        " n = Constant<value_ints=[9, 9]>() o4 = Attention<is_causal=1>(q, k, v, m, , , n)"
        " o = Transpose<perm=[0,2,1,3]>(o4)",
        "Transpose+Transpose+Attention+Transpose",
        opset=24,
    ),
    "ONNX's operator of three axes": Form(
        "float[7,2,32] q0, float[2,7,16] k, float[2,7,16] v, bool[7,7] m",
        "q = Transpose<perm=[1,0,2]>(q0) o3 = Attention<q_num_heads=4, kv_num_heads=2>(q, k, v, m)"
        " o = Transpose<perm=[1,0,2]>(o3)",
        "Reshape+Transpose+Reshape+Transpose+Reshape+Transpose+Attention+Transpose+Reshape",
        opset=23,
    ),
}
