"""Regions: what stands between products, as exporters write it."""

import msgspec

from benanza_ingest.extract import wired
from benanza_ingest.limits import Limits
from benanza_schemas.identity import canonical
from benanza_schemas.layer import OMITTED, Layer, Tensor
from tests.ingest.onnx_text import content

OPSET = 23
W = '["location": "w"]'


def whole(text: str) -> Layer:
    """All layers of a model as one."""
    wiring = wired(content(text, OPSET), batch=None, dims={}, limits=Limits()).wiring
    places = {"": OMITTED}
    tensors: list[Tensor] = []
    operators = []
    for node, extracted in zip(wiring.graph.nodes, wiring.layers, strict=True):
        assert extracted.layer is not None
        operator = extracted.layer.operators[0]
        own = (*operator.inputs, *operator.outputs)
        names = (*node.inputs[: len(operator.inputs)], *node.outputs[: len(operator.outputs)])
        for index, name in zip(own, names, strict=True):
            if name not in places:
                places[name] = len(tensors)
                tensors.append(extracted.layer.tensors[index])
            elif name and extracted.layer.tensors[index].value is not None:
                tensors[places[name]] = extracted.layer.tensors[index]
        read, written = (
            tuple(places[name] for name in each)
            for each in (names[: len(operator.inputs)], names[len(operator.inputs) :])
        )
        operators.append(msgspec.structs.replace(operator, inputs=read, outputs=written))
    outputs = tuple(places[name] for name in wiring.graph.outputs)
    return canonical(Layer(tuple(tensors), tuple(operators), outputs))


def region(parameters: str, results: str, body: str, fixed: str = "") -> Layer:
    """A region of these operators. `w` and `b` are weights of 16 elements, `eps` one of one."""
    given = f"float[16] w = {W}, float[16] b = {W}, float eps = {W}{fixed}"
    return whole(f"g ({parameters}) => ({results}) <{given}> {{ {body} }}")


def numbers(**values: int) -> str:
    """Constants of one element."""
    return " ".join(f"{name} = Constant<value_ints=[{n}]>()" for name, n in values.items())


RMS = (
    "two = Constant<value_float=2.0>() last = Constant<value_ints=[-1]>() p = Pow(s, two)"
    " m = ReduceMean<keepdims=1>(p, last) e = Add(m, eps) q = Sqrt(e) r = Reciprocal(q)"
    " t = Mul(s, r) n = Mul(t, w)"
)
ROTATED = (
    f"{numbers(one=1, zero=0, half=8, end=16, three=3)} cu = Unsqueeze(c, one)"
    " su = Unsqueeze(s, one) lo = Slice(t, zero, half, three) hi = Slice(t, half, end, three)"
    " nh = Neg(hi) ro = Concat<axis=3>(nh, lo) f = Mul(t, cu) g = Mul(ro, su) n = Add(f, g)"
)
ANGLES = "float[2,5,16] c, float[2,5,16] s"

MERGED = {
    "queries, keys and values": region(
        "float[2,5,16] x",
        "q, k, v",
        "q = MatMul(x, m) k = MatMul(x, n) v = MatMul(x, o)",
        f", float[16,24] m = {W}, float[16,24] n = {W}, float[16,24] o = {W}",
    ),
    "gate and up with biases": region(
        "float[5,16] x",
        "g, u",
        "a = MatMul(x, m) g = Add(a, c) d = MatMul(x, n) u = Add(d, c)",
        f", float[16,24] m = {W}, float[16,24] n = {W}, float[24] c = {W}",
    ),
    "linear layers with biases": region(
        "float[5,16] x",
        "g, u",
        "g = Gemm<transB=1>(x, m, c) u = Gemm<transB=1>(x, n, c)",
        f", float[24,16] m = {W}, float[24,16] n = {W}, float[24] c = {W}",
    ),
}
"""Products of one operand."""

REGIONS = {
    "rms norm written out": region("float[2,5,16] s", "n", RMS),
    "sum and its rms norm": region(
        "float[2,5,16] x, float[2,5,16] y", "s, n", f"s = Add(x, y) {RMS}"
    ),
    "layer norm of a transposed map": region(
        "float[1,16,6,8] x",
        "n",
        "t = Transpose<perm=[0,2,3,1]>(x) a = LayerNormalization(t, w, b)"
        " n = Transpose<perm=[0,3,1,2]>(a)",
    ),
    "rotary positions": region(
        f"float[2,5,3,16] x, {ANGLES}", "n", f"t = Transpose<perm=[0,2,1,3]>(x) {ROTATED}"
    ),
    "norm of heads and rotary positions": region(
        f"float[2,5,48] x, {ANGLES}",
        "n",
        "h = Constant<value_ints=[2,5,3,16]>() y = Reshape(x, h)"
        f" z = RMSNormalization<axis=-1>(y, w) t = Transpose<perm=[0,2,1,3]>(z) {ROTATED}",
    ),
    "gated half of a product": region(
        "float[2,5,32] x",
        "n",
        "l, r = Split<axis=-1,num_outputs=2>(x) g = Sigmoid(l) h = Mul(l, g) n = Mul(h, r)",
    ),
    "queries, keys and values of a product": region(
        "float[2,5,48] x",
        "q, k, v",
        "h = Constant<value_ints=[2,5,3,2,8]>() y = Reshape(x, h)"
        " t = Transpose<perm=[2,0,3,1,4]>(y)"
        " i = Constant<value_int=0>() j = Constant<value_int=1>() l = Constant<value_int=2>()"
        " q = Gather<axis=0>(t, i) o = Gather<axis=0>(t, j) v = Gather<axis=0>(t, l)"
        " k = Transpose<perm=[0,1,3,2]>(o)",
    ),
    "queries and keys of a map": region(
        "float[2,24,3,4] x",
        "q, k",
        "h = Constant<value_ints=[2,3,8,12]>() y = Reshape(x, h)"
        " l, r = Split<axis=2,num_outputs=2>(y) q = Transpose<perm=[0,1,3,2]>(l)"
        " k = Transpose<perm=[0,1,3,2]>(r)",
    ),
    "heads that become a map": region(
        "float[2,3,12,4] x",
        "n",
        "t = Transpose<perm=[0,1,3,2]>(x) h = Constant<value_ints=[2,12,3,4]>()"
        " y = Reshape(t, h) n = Relu(y)",
    ),
    "norm, shifted windows": region(
        "float[1,8,8,16] x",
        "n",
        f"{numbers(zero=0, two=2, end=8, one=1)} a = LayerNormalization(x, w, b)"
        " l = Slice(a, two, end, one) f = Slice(a, zero, two, one) r = Concat<axis=1>(l, f)"
        " k = Slice(r, two, end, two) g = Slice(r, zero, two, two) s = Concat<axis=2>(k, g)"
        " h = Constant<value_ints=[1,2,4,2,4,16]>() y = Reshape(s, h)"
        " t = Transpose<perm=[0,1,3,2,4,5]>(y) i = Constant<value_ints=[4,16,16]>()"
        " n = Reshape(t, i)",
    ),
    "sum and its layer norm": region(
        "float[2,5,16] x, float[2,5,16] y", "s, n", "s = Add(x, y) n = LayerNormalization(s, w, b)"
    ),
    "group norm and swish": region(
        "float[2,8,6,6] x",
        "n",
        "h = Constant<value_ints=[2,4,72]>() y = Reshape(x, h) a = InstanceNormalization(y, u, v)"
        " i = Constant<value_ints=[2,8,6,6]>() z = Reshape(a, i) c = Mul(z, f) d = Add(c, f)"
        " s = Sigmoid(d) n = Mul(d, s)",
        f", float[4] u = {W}, float[4] v = {W}, float[8,1,1] f = {W}",
    ),
    "results of different rows": region(
        "float[2,4,16] x, float[3,16] y",
        "n, s, m",
        "n = Softmax<axis=-1>(x) s = LayerNormalization(y, w, b) m = Neg(y)",
    ),
    "reflected and blurred": region(
        "float[2,8,7,6] x",
        "n",
        'p = Constant<value_ints=[0,0,1,2,0,0,1,1]>() a = Pad<mode="reflect">(x, p)'
        " n = Conv<group=8,kernel_shape=[3,3],strides=[2,2]>(a, f)",
        f", float[8,1,3,3] f = {W}",
    ),
    "continued at the edges and around": region(
        "float[2,3,7,5] x",
        "n, m",
        'p = Constant<value_ints=[0,0,1,9,0,0,2,0]>() n = Pad<mode="edge">(x, p)'
        ' q = Constant<value_ints=[0,0,3,0,0,0,9,5]>() c = Pad<mode="wrap">(x, q) m = Neg(c)',
    ),
    "padded and activated": region(
        "float[2,3,7,7] x",
        "n",
        "p = Constant<value_ints=[0,0,1,2,0,0,0,3]>() a = Pad(x, p) n = Gelu(a)",
    ),
    "instance norm and swish": region(
        "float[2,16,6,6] x",
        "n",
        "a = InstanceNormalization(x, w, b) s = Sigmoid(a) n = Mul(a, s)",
    ),
    "norm of the first token": region(
        "float[2,5,16] x",
        "n, m",
        "z = Constant<value_int=0>() l = Constant<value_ints=[4,2,0]>()"
        " a = LayerNormalization(x, w, b) n = Gather<axis=1>(a, z) c = Gather<axis=1>(x, l)"
        " m = Neg(c)",
    ),
    "norm of a token": region(
        "float[2,5,16] x, int64 i",
        "n",
        "a = LayerNormalization(x, w, b) c = Gather<axis=1>(a, i) n = Neg(c)",
    ),
    "masked softmax": region(
        "float[2,3,5,9] x, bool[2,1,1,9] m",
        "n",
        "low = Constant<value_float=-10000.0>() a = Where(m, x, low) n = Softmax<axis=-1>(a)",
    ),
    "embeddings of tokens and their norm": region(
        "int64[2,5] i, float[5,16] x",
        "s, n",
        "a = Gather(table, i) s = Add(a, x) n = LayerNormalization(s, w, b)",
        f", float[30,16] table = {W}",
    ),
    "scores of relative positions and their softmax": region(
        "float[6,5,9] x, float[6,5,9] z, float[6,5,5] s, int64[1,5,5] i, int64[1,5,5] j",
        "n",
        "h = Constant<value_ints=[6,5,5]>() e = Expand(i, h) f = Expand(j, h)"
        " a = GatherElements<axis=-1>(x, e) c = GatherElements<axis=-1>(z, f)"
        " d = Transpose<perm=[0,2,1]>(c) g = Add(a, d) k = Add(g, s) n = Softmax<axis=-1>(k)",
    ),
    "tokens that are kept": region(
        "float[2,7,16] x, int64[2,4] i",
        "n",
        f"{numbers(two=2)} u = Unsqueeze(i, two) h = Constant<value_ints=[2,4,16]>()"
        " e = Expand(u, h) g = GatherElements<axis=1>(x, e) n = Gelu(g)",
    ),
    "some of the elements of some rows": region(
        "float[4,3,8] x, int64[2,3,5] i, float[2,3,5] y",
        "n",
        "g = GatherElements<axis=2>(x, i) n = Mul(g, y)",
    ),
    "paths and their softmax": region(
        "float[3,2,16,5,6] x, float[3,2,16,1,1] p",
        "n",
        "a = Constant<value_ints=[1]>() s = Softmax<axis=1>(p) m = Mul(x, s)"
        " n = ReduceSum<keepdims=0>(m, a)",
    ),
    "largest and product of a few": region(
        "float[3,4,16] x",
        "n, m",
        "a = Constant<value_ints=[1]>() s = ReduceMax(x, a) t = ReduceMin(x, a) n = Sub(s, t)"
        " m = ReduceProd<keepdims=0>(x, a)",
    ),
    "sum and its mean by channel": region(
        "float[2,8,6,6] x, float[2,8,6,6] y",
        "s, n",
        "s = Add(x, y) a = Constant<value_ints=[2,3]>() n = ReduceMean<keepdims=1>(s, a)",
    ),
    "mean by channel times the map": region(
        "float[2,8,3,3] x, float[2,8,1,1] y",
        "n",
        "s = Sigmoid(y) t = Mul(x, s) a = Constant<value_ints=[2,3]>()"
        " m = ReduceMax<keepdims=0>(t, a) n = Neg(m)",
    ),
    "tiled and expanded": region(
        "float[2,1,6] x",
        "n",
        "r = Constant<value_ints=[1,3,2]>() a = Tile(x, r) h = Constant<value_ints=[4,2,3,12]>()"
        " e = Expand(a, h) n = Neg(e)",
    ),
    "mask of what comes later": region(
        "int64[5] a, float[2,5,5] x",
        "n",
        f"{numbers(zero=0, one=1)} r = Unsqueeze(a, one) c = Unsqueeze(a, zero)"
        " m = LessOrEqual(c, r) low = Constant<value_float=-10000.0>() n = Where(m, x, low)",
    ),
    "depth-wise convolution of tokens": region(
        "float[2,30,16] x",
        "n",
        "t = Transpose<perm=[0,2,1]>(x) h = Constant<value_ints=[2,16,5,6]>() m = Reshape(t, h)"
        " c = Conv<group=16,kernel_shape=[3,3],pads=[1,1,1,1]>(m, f, b)"
        " i = Constant<value_ints=[2,16,30]>() y = Reshape(c, i)"
        " z = Transpose<perm=[0,2,1]>(y) n = Gelu(z)",
        f", float[16,1,3,3] f = {W}",
    ),
    "depth-wise convolution and its mean by channel": region(
        "float[2,16,9,8] x",
        "n, m",
        "c = Conv<group=16,kernel_shape=[3,5],strides=[2,2],dilations=[2,1],pads=[2,1,1,3]>(x, f)"
        " s = Sigmoid(c) n = Mul(c, s) m = GlobalAveragePool(n)",
        f", float[16,1,3,5] f = {W}",
    ),
    "depth-wise convolution of a sequence and its norm": region(
        "float[2,16,9] x",
        "n",
        'c = Conv<group=16,kernel_shape=[5],auto_pad="SAME_UPPER">(x, f, b)'
        " t = Transpose<perm=[0,2,1]>(c) n = LayerNormalization(t, w, b)",
        f", float[16,1,5] f = {W}",
    ),
    "what a mean over windows takes away": region(
        "float[2,8,7,6] x",
        "n",
        "p = AveragePool<kernel_shape=[3,3],strides=[1,1],pads=[1,1,1,1]>(x) n = Sub(p, x)",
    ),
    "largest in windows": region(
        "float[2,8,7,6] x",
        "n, m",
        "p = MaxPool<kernel_shape=[3,2],strides=[2,2],ceil_mode=1>(x) m = GlobalMaxPool(p)"
        " n = Relu(p)",
    ),
    "maps of several sizes and their sum": region(
        "float[2,8,3,5] x, float[2,8,6,10] y",
        "n",
        "r = Constant<value_floats=[1.0,1.0,2.0,2.0]>()"
        ' u = Resize<mode="nearest",nearest_mode="floor",'
        'coordinate_transformation_mode="asymmetric">(x, , r) s = Add(u, y) n = Relu(s)',
    ),
    "maps of several sizes between elements, and a gate": region(
        "float[2,3,4,5] x, float[2,3,9,12] y",
        "n",
        "z = Constant<value_ints=[2,3,9,12]>()"
        ' u = Resize<mode="linear",coordinate_transformation_mode="half_pixel">(x, , , z)'
        " s = Sigmoid(u) n = Mul(s, y)",
    ),
    "corners aligned, and what is cut off": region(
        "float[1,3,8,9] x, float[1,3,5,4] y",
        "n",
        "z = Constant<value_ints=[1,3,5,4]>()"
        ' u = Resize<mode="linear",coordinate_transformation_mode="align_corners">(x, , , z)'
        " n = Sub(y, u)",
    ),
    "few long rows": region(
        "float[1,3,80,160] x, float[1,3,80,160] y",
        "n, s",
        "s = Add(x, y) h = Constant<value_ints=[1,1,38400]>() r = Reshape(s, h)"
        " a = InstanceNormalization(r, u, v) i = Constant<value_ints=[1,3,80,160]>()"
        " z = Reshape(a, i) n = Relu(z)",
        f", float[1] u = {W}, float[1] v = {W}",
    ),
    "dilated window as large as its input": region(
        "float[2,8,3,3] x",
        "n",
        "p = MaxPool<kernel_shape=[3,3],dilations=[2,2],pads=[0,0,2,2]>(x) s = Sigmoid(p)"
        " n = Mul(p, s)",
    ),
    "largest in windows of a sequence": region(
        "float[2,16,9] x", "p, n", "p = MaxPool<kernel_shape=[3]>(x) n = Neg(p)"
    ),
    "windows of odd sizes joined": region(
        "float[2,3,7] x, float[2,4,7] y",
        "n",
        f"{numbers(zero=5, end=1, two=2, back=-2)} c = Concat<axis=1>(x, y)"
        " s = Slice(c, zero, end, end, back) n = Relu(s)",
    ),
}
"""Layers of several operators that no library runs, small, with odd sizes."""
