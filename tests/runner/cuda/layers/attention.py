"""Attention as exporters and ONNX have it, and norms of sums: groups as ingest makes them."""

from benanza_schemas.identity import canonical
from benanza_schemas.layer import OMITTED, AttributeValue, Layer, Tensor
from tests.ingest.onnx_text import extracted
from tests.runner.cuda.layers.more import fixed, layer
from tests.runner.layers import floats, weights
from tests.runner.layers import operator as one


def group(text: str, rule: str, opset: int = 21) -> Layer:
    """The largest group that a rule finds in a model."""
    found = [group for group in extracted(text, opset).groups if group.rule == rule]
    return max(found, key=lambda group: len(group.layers)).layer


def attention(inputs: str, body: str) -> Layer:
    """A group of `q`, `k`, `v`; masks are `m`, computed, and `w`, `by_head`, …, fixed."""
    fixed = (
        " float none = {-inf}, float low = {-3.4028234663852886e38}, int64[1] l2 = {2},"
        ' float s = {0.4}, bool[1,1,7,9] seen = ["location": "w"],'
        ' float[1,1,7,9] w = ["location": "w"],'
        ' float[1,4,7,9] by_head = ["location": "w"], float[1,2,1,7,9] windows = ["location": "w"],'
        ' float[1,1,64,64] square = ["location": "w"], float[4] sinks4 = ["location": "w"],'
        ' float[16] sinks16 = ["location": "w"], float[2] sinks2 = ["location": "w"]'
    )
    return group(f"g ({inputs}) => (y) <{fixed}> {{ {body} }}", "attention")


def of_one_product(tokens: int, size: int) -> Layer:
    """Queries, keys and values are parts of one value, of four heads of a size."""
    return attention(
        f"float[2,{tokens},{12 * size}] x",
        f"n = Constant<value_ints=[2, {tokens}, 4, {size}]>() q0, k0, v0 ="
        " Split<axis=2, num_outputs=3>(x) q1 = Reshape(q0, n) k1 = Reshape(k0, n)"
        " v1 = Reshape(v0, n) q = Transpose<perm=[0,2,1,3]>(q1)"
        " k = Transpose<perm=[0,2,3,1]>(k1) v = Transpose<perm=[0,2,1,3]>(v1) a = MatMul(q, k)"
        f" p = Softmax(a) o = MatMul(p, v) {BACK}",
    )


def of_grouped_queries(queries: int, keys: int, size: int) -> Layer:
    """Four heads of queries and two of keys and values, each of which two heads read."""
    moved = (
        "{0}1 = Transpose<perm=[0,2,1,3]>({0}0) {0}2 = Unsqueeze({0}1, l2)"
        " {0}3 = Expand({0}2, n) {0}4 = Reshape({0}3, m)"
    )
    return attention(
        f"float[2,{queries},4,{size}] q0, float[2,{keys},2,{size}] k0, float[2,{keys},2,{size}] v0",
        f"n = Constant<value_ints=[2, 2, 2, {keys}, {size}]>()"
        f" m = Constant<value_ints=[2, 4, {keys}, {size}]>() q = Transpose<perm=[0,2,1,3]>(q0)"
        f" {moved.format('k')} k = Transpose<perm=[0,1,3,2]>(k4) {moved.format('v')}"
        f" a = MatMul(q, k) p = Softmax(a) o = MatMul(p, v4) {BACK}",
    )


def behind_kept_keys(mask: str = "") -> Layer:
    """The Attention of four queries of a step, with what moves its operands and its result. 296
    former keys are in a buffer.
    """
    kept, after, m = "float[2,2,296,64]", "float[2,2,300,64]", "m" if mask else ""
    return group(
        f"g (float[2,4,8,64] q0, float[2,2,4,64] k, float[2,2,4,64] v, {kept} pk, {kept} pv"
        f"{mask and f', {mask} m'}) => (float[2,4,8,64] y, {after} c, {after} d)"
        " { q = Transpose<perm=[0,2,1,3]>(q0)"
        f" o, c, d = Attention<is_causal=1>(q, k, v, {m}, pk, pv)"
        " y = Transpose<perm=[0,2,1,3]>(o) }",
        "attention",
        opset=24,
    )


def of_codes(element: str, keys: int, queries: int = 1, *, written_out: bool = False) -> Layer:
    """Eight heads of queries and two of keys and values that are kept in a buffer in 8 bits, by
    head, or by token where attention is written out.
    """
    zero = {"int8": ", int8 z = {0}", "float8e4m3fn": ""}[element]
    point = ", z" if zero else ""
    made = f"kd = DequantizeLinear(k, s{point}) vd = DequantizeLinear(v, t{point})"
    if written_out:
        body = (
            "kt = Transpose<perm=[0,2,3,1]>(kd) vt = Transpose<perm=[0,2,1,3]>(vd)"
            " a = MatMul(q, kt) p = Softmax(a) y = MatMul(p, vt)"
        )
        cache = f"{element}[2,{keys},8,64]"
    else:
        body, cache = "y = Attention(q, kd, vd)", f"{element}[2,2,{keys},64]"
    return group(
        f"g (float[2,8,{queries},64] q, {cache} k, {cache} v) => (y)"
        f" <float s = {{0.02}}, float t = {{0.05}}{zero}> {{ {made} {body} }}",
        "attention",
        opset=23,
    )


def with_sinks(
    queries: int, keys: int, size: int, shared: int, scores: str, more: str = ""
) -> Layer:
    """Attention of two heads of keys with sinks, as GPT-OSS has it, and what is done to scores `a`
    for `c`; each head of keys serves so many of queries.
    """
    heads = 2 * shared
    return attention(
        f"float[2,{queries},{heads},{size}] q0, float[2,2,{keys},{size}] k0,"
        f" float[2,2,{keys},{size}] v0{more}",
        f"n = Constant<value_ints=[2, 2, {shared}, {keys}, {size}]>()"
        f" f = Constant<value_ints=[2, {heads}, {keys}, {size}]>() l0 = Constant<value_ints=[0]>()"
        f" last = Constant<value_ints=[-1]>() h = Constant<value_ints=[1, {heads}, 1, 1]>()"
        f" column = Constant<value_ints=[2, {heads}, {queries}, 1]>()"
        " k1 = Unsqueeze(k0, l2) k2 = Expand(k1, n) k3 = Reshape(k2, f)"
        " v1 = Unsqueeze(v0, l2) v2 = Expand(v1, n) v = Reshape(v2, f)"
        " q = Transpose<perm=[0,2,1,3]>(q0) k = Transpose<perm=[0,1,3,2]>(k3) a = MatMul(q, k)"
        f" {scores} r = Reshape(sinks{heads}, h) e = Expand(r, column) j = Concat<axis=-1>(c, e)"
        " t = ReduceMax<keepdims=1>(j, last) d = Sub(j, t) w0 = Softmax(d)"
        f" w1 = Slice(w0, l0, last, last) o = MatMul(w1, v) {BACK}",
    )


BACK = "y = Transpose<perm=[0,2,1,3]>(o)"
PLAIN = "float[2,4,7,16] q, float[2,4,16,9] k, float[2,4,9,8] v"
NATURAL = "float[2,7,4,16] q0, float[2,9,4,16] k0, float[2,4,9,8] v"
TURNED = "q = Transpose<perm=[0,2,1,3]>(q0) k = Transpose<perm=[0,2,3,1]>(k0)"
RANGE = (
    "zero = Constant<value_int=0>() one = Constant<value_int=1>() nine = Constant<value_int=9>()"
    " places = Range(zero, nine, one) is = Less(places, first)"
    " nothing = Constant<value_float=0.0>() row = Where(is, none, nothing)"
    " hides = Expand(row, shape)"
)
SHAPES = "n5 = Constant<value_ints=[1, 2, 4, 7, 9]>() n4 = Constant<value_ints=[2, 4, 7, 9]>()"

GROUPS = {
    "attention to keys in int8": of_codes("int8", 300),
    "attention of tokens to keys in int8": of_codes("int8", 40, 3),
    "attention to keys in float8": of_codes("float8e4m3fn", 300),
    "written-out attention to keys in int8": of_codes("int8", 70, 2, written_out=True),
    "attention": attention(PLAIN, "a = MatMul(q, k) p = Softmax(a) y = MatMul(p, v)"),
    "attention, scaled and masked": attention(
        PLAIN, "a = MatMul(q, k) b = Mul(a, s) c = Add(b, w) p = Softmax(c) y = MatMul(p, v)"
    ),
    "attention, masked and divided": attention(
        PLAIN, "a = MatMul(q, k) b = Add(w, a) c = Div(b, s) p = Softmax(c) y = MatMul(p, v)"
    ),
    "attention with two fixed masks": attention(
        PLAIN,
        "a = MatMul(q, k) b = Add(a, by_head) c = Add(b, w) p = Softmax(c) y = MatMul(p, v)",
    ),
    "attention with a computed mask": attention(
        f"{PLAIN}, float[2,1,7,9] m",
        "a = MatMul(q, k) b = Mul(s, a) c = Add(m, b) p = Softmax(c) y = MatMul(p, v)",
    ),
    "attention with a mask of keys": attention(
        f"{PLAIN}, float[9] m", "a = MatMul(q, k) c = Add(a, m) p = Softmax(c) y = MatMul(p, v)"
    ),
    "attention with its transposes": attention(
        NATURAL, f"{TURNED} a = MatMul(q, k) b = Mul(a, s) p = Softmax(b) o = MatMul(p, v) {BACK}"
    ),
    "attention with its transposes and a mask": attention(
        f"{NATURAL}, float[2,1,7,9] m",
        f"{TURNED} a = MatMul(q, k) b = Add(a, m) p = Softmax(b) o = MatMul(p, v) {BACK}",
    ),
    "attention as BERT has it": attention(
        "float[2,64,4,64] q0, float[2,64,4,64] k0, float[2,4,64,64] v",
        f"{TURNED} a = MatMul(q, k) b = Mul(a, s) c = Add(b, square) p = Softmax(c)"
        f" o = MatMul(p, v) {BACK}",
    ),
    "attention with one head of keys, transposed": attention(
        "float[2,4,32,64] q, float[2,1,48,64] k0, float[2,1,48,32] v",
        "k = Transpose<perm=[0,1,3,2]>(k0) a = MatMul(q, k) b = Mul(a, s) p = Softmax(b)"
        " y = MatMul(p, v)",
    ),
    "attention with scaled keys, merged and split": attention(
        "float[1,4,7,16] q, float[1,4,9,16] k0, float[1,4,9,8] v",
        "n1 = Constant<value_ints=[4, 9, 16]>() n2 = Constant<value_ints=[1, 4, 16, 9]>()"
        " z = Relu(k0) k1 = Reshape(z, n1) k2 = Transpose<perm=[0,2,1]>(k1) k3 = Reshape(k2, n2)"
        " k = Mul(s, k3) a = MatMul(q, k) p = Softmax(a) y = MatMul(p, v)",
    ),
    "attention with a mask of bools": attention(
        f"{PLAIN}, bool[2,4,7,9] m",
        "a = MatMul(q, k) b = Where(m, a, none) p = Softmax(b) y = MatMul(p, v)",
    ),
    "attention with the lowest number where a mask says so": attention(
        f"{PLAIN}, bool[2,1,7,9] m",
        "a = MatMul(q, k) b = Where(m, low, a) p = Softmax(b) y = MatMul(p, v)",
    ),
    "attention with a fixed mask of bools": attention(
        PLAIN, "a = MatMul(q, k) b = Where(seen, a, none) p = Softmax(b) y = MatMul(p, v)"
    ),
    "attention of one product": of_one_product(7, 8),
    "attention of one long product": of_one_product(64, 64),
    "attention of grouped queries": of_grouped_queries(7, 9, 16),
    "attention of many grouped queries": of_grouped_queries(64, 64, 64),
    "attention with values first": attention(
        "float[2,4,16,7] q0, float[2,4,16,9] k, float[2,4,8,9] v",
        "q = Transpose<perm=[0,1,3,2]>(q0) a = MatMul(q, k) p = Softmax(a)"
        " t = Transpose<perm=[0,1,3,2]>(p) y = MatMul(v, t)",
    ),
    "attention in windows": attention(
        PLAIN,
        f"{SHAPES} a = MatMul(q, k) b = Add(a, by_head) c = Reshape(b, n5) d = Add(c, windows)"
        " e = Reshape(d, n4) p = Softmax(e) f = Identity(p) y = MatMul(f, v)",
    ),
    "attention of one head": attention(
        "float[7,16] q, float[16,9] k, float[9,8] v",
        "a = MatMul(q, k) p = Softmax(a) y = MatMul(p, v)",
    ),
    "attention of three axes": attention(
        "float[6,7,16] q, float[6,16,9] k, float[6,9,8] v, float[6,1,9] m",
        "a = MatMul(q, k) b = Add(a, m) p = Softmax(b) y = MatMul(p, v)",
    ),
    "attention with one head of keys": attention(
        "float[2,4,7,16] q, float[2,1,16,9] k, float[2,1,9,8] v",
        "a = MatMul(q, k) p = Softmax(a) y = MatMul(p, v)",
    ),
    "attention of one query": attention(
        "float[2,4,1,64] q, float[2,4,64,300] k, float[2,4,300,64] v",
        "a = MatMul(q, k) b = Mul(a, s) p = Softmax(b) y = MatMul(p, v)",
    ),
    "attention of one grouped query": of_grouped_queries(1, 300, 64),
    "attention, long, of wide heads": attention(
        "float[1,2,130,72] q, float[1,2,72,200] k, float[1,2,200,136] v",
        "a = MatMul(q, k) b = Mul(a, s) p = Softmax(b) y = MatMul(p, v)",
    ),
    "attention with a cap and a mask": attention(
        f"{PLAIN}, float[2,1,7,9] m",
        "a = MatMul(q, k) b = Div(a, s) c = Tanh(b) d = Mul(c, s) e = Add(d, m) p = Softmax(e)"
        " y = MatMul(p, v)",
    ),
    "attention with sinks": with_sinks(7, 9, 16, 2, "b = Mul(a, s) c = Add(b, w)"),
    "attention with sinks and a mask of bools": with_sinks(
        7, 9, 16, 2, "b = Mul(a, s) c = Where(seen, b, none)"
    ),
    "attention with sinks and a computed mask": with_sinks(
        7, 9, 16, 2, "b = Mul(a, s) c = Add(b, m)", ", float[2,1,7,9] m"
    ),
    "attention with sinks to keys in a window": with_sinks(
        *(7, 9, 16, 2),
        "first = Constant<value_int=2>() shape = Constant<value_ints=[1, 1, 7, 9]>()"
        f" {RANGE} b = Mul(a, s) c = Add(b, hides)",
    ),
    "attention with sinks, of heads of their own": with_sinks(7, 9, 16, 1, "c = Mul(a, s)"),
    "attention with sinks of one query": with_sinks(1, 300, 64, 8, "c = Mul(a, s)"),
    "attention of one query to kept vectors": attention(
        "float[2,16,1,576] q, float[2,300,576] kept",
        "l1 = Constant<value_ints=[1]>() l0 = Constant<value_ints=[0]>()"
        " l3 = Constant<value_ints=[3]>() rank = Constant<value_ints=[512]>()"
        " k0 = Unsqueeze(kept, l1) v = Slice(k0, l0, rank, l3)"
        " k = Transpose<perm=[0,1,3,2]>(k0) a = MatMul(q, k) b = Mul(a, s) p = Softmax(b)"
        " y = MatMul(p, v)",
    ),
    "attention with fixed masks of which a part is read": attention(
        PLAIN,
        "first = Constant<value_int=2>()"
        f" shape = Constant<value_ints=[1, 1, 7, 9]>() {RANGE}"
        " a = MatMul(q, k) b = Add(a, hides) c = Add(b, by_head) p = Softmax(c) y = MatMul(p, v)",
    ),
    "causal attention behind kept keys": behind_kept_keys(),
    "causal attention behind kept keys with a mask": behind_kept_keys("float[4,300]"),
}


def operator(
    query: tuple[int, ...],
    key: tuple[int, ...],
    value: tuple[int, ...],
    result: tuple[int, ...],
    *more: Tensor,
    **attributes: AttributeValue,
) -> Layer:
    """ONNX's Attention."""
    inputs = (floats(*query), floats(*key), floats(*value), *more)
    return layer("Attention", inputs, floats(*result), opset=23, **attributes)


def behind(
    query: tuple[int, ...],
    key: tuple[int, ...],
    *mask: Tensor,
    **attributes: AttributeValue,
) -> Layer:
    """ONNX's Attention over a buffer, all of whose keys count."""
    counted = fixed(*[key[2]] * key[0])
    tensors = (floats(*query), floats(*key), floats(*key), *mask, counted, floats(*query))
    *given, count, result = range(len(tensors))
    inputs = (*given, *(OMITTED,) * (6 - len(given)), count)
    node = one("Attention", 24, inputs, (result,), "", **attributes)
    return canonical(Layer(tensors, (node,), (result,)))


WHOLE = (2, 4, 7, 16), (2, 4, 9, 16), (2, 4, 9, 8), (2, 4, 7, 8)
FEW = (2, 8, 3, 64), (2, 2, 300, 64), (2, 2, 300, 64), (2, 8, 3, 64)
ONE = (1, 4, 1, 256), (1, 1, 1000, 256), (1, 1, 1000, 256), (1, 4, 1, 256)
SQUARE = (2, 4, 9, 16), (2, 4, 9, 16), (2, 4, 9, 8), (2, 4, 9, 8)

OPERATORS = {
    "Attention": operator(*WHOLE),
    "Attention, scaled and masked": operator(*WHOLE, floats(7, 9), scale=0.3),
    "Attention with a fixed mask": operator(*WHOLE, weights(2, 1, 7, 9)),
    "Attention with a mask of bools": operator(*WHOLE, Tensor("bool", (7, 9))),
    "Attention with a cap": operator(*WHOLE, softcap=0.5),
    "Attention with a cap and a mask": operator(*WHOLE, floats(7, 9), softcap=0.5),
    "Attention of few queries with a cap": operator(*FEW, Tensor("bool", (3, 300)), softcap=0.5),
    "causal Attention": operator(*SQUARE, is_causal=1),
    "causal Attention of more keys than queries": operator(*WHOLE, is_causal=1),
    "causal Attention of long heads": operator(*((1, 2, 150, 64),) * 4, is_causal=1),
    "Attention of few queries": operator(*FEW),
    "Attention of few queries with a mask": operator(*FEW, floats(2, 1, 3, 300)),
    "Attention of few queries with a mask of bools": operator(*FEW, Tensor("bool", (3, 300))),
    "Attention of one query of wide heads": operator(*ONE),
    "causal Attention of few queries": operator(*((2, 4, 40, 128),) * 4, is_causal=1),
    "causal Attention behind kept keys": behind(*FEW[:2], is_causal=1),
    "causal Attention behind kept keys with a mask": behind(
        *FEW[:2], floats(2, 1, 3, 300), is_causal=1
    ),
    "causal Attention behind kept keys with a mask of bools": behind(
        *FEW[:2], Tensor("bool", (3, 300)), is_causal=1
    ),
    "causal Attention of a chunk behind kept keys": behind(
        (1, 4, 130, 64), (1, 2, 400, 64), is_causal=1
    ),
    "causal Attention of small heads behind kept keys": behind(
        (2, 4, 7, 16), (2, 4, 9, 16), is_causal=1
    ),
    "Attention all of whose keys count": behind(*FEW[:2]),
    "Attention of three axes, in groups": operator(
        (2, 7, 64), (2, 9, 32), (2, 9, 16), (2, 7, 32), q_num_heads=4, kv_num_heads=2
    ),
}

SUMS = {
    "layer norm of a sum": group(
        'g (float[3,5,12] x, float[3,5,12] z) => (y) <float[12] s = ["location": "w"],'
        ' float[12] b = ["location": "w"]> { a = Add(x, z) y = LayerNormalization(a, s, b) }',
        "region",
    ),
    "rms norm of a sum": group(
        'g (float[3,1500] x, float[3,1500] z) => (y) <float[1500] s = ["location": "w"]>'
        "{ a = Add(x, z) y = RMSNormalization(a, s) }",
        "region",
        opset=23,
    ),
    "layer norm of twice the same": group(
        'g (float[3,5,12] x) => (y) <float[5,12] s = ["location": "w"]>'
        "{ a = Add(x, x) y = LayerNormalization<axis=1>(a, s) }",
        "region",
    ),
}

ATTENTIONS = GROUPS | OPERATORS | SUMS
