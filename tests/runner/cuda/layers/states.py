"""Layers that keep a state from call to call: linear attention, and causal convolutions."""

from math import prod

from benanza_schemas.identity import canonical
from benanza_schemas.layer import AttributeValue, Layer, Tensor
from tests.runner.cuda.layers.regions import whole
from tests.runner.layers import floats, operator, single, weights

DOMAIN = "com.microsoft"


def _layer(
    name: str,
    given: dict[int, Tensor],
    results: tuple[Tensor, ...],
    domain: str,
    attributes: dict[str, AttributeValue],
) -> Layer:
    at = {place: number for number, place in enumerate(given)}
    read = tuple([at.get(place, -1) for place in range(max(given) + 1)])
    written = tuple(range(len(given), len(given) + len(results)))
    version = 1 if domain else 27
    node = operator(name, version, read, written, domain, **attributes)
    return canonical(Layer((*given.values(), *results), (node,), written))


def linear_attention(
    length: int,
    rule: str = "gated_delta",
    *,
    batch: int = 2,
    heads: tuple[int, int, int] = (2, 2, 2),
    sizes: tuple[int, int] = (16, 16),
    by_key: bool = False,
    betas: int = 0,
    past: bool = True,
    domain: str = DOMAIN,
    **more: AttributeValue,
) -> Layer:
    """Of so many tokens, with heads of queries, keys and states, whose keys and values have these
    sizes.
    """
    queries, keys, states = heads
    size, width = sizes
    window = more.get("state_window", 0)
    state = floats(
        *((window,) if isinstance(window, int) and window else ()), batch, states, *sizes
    )
    columns = {0: queries * size, 1: keys * size, 2: states * width}
    columns |= {4: states * size if by_key else states} if "gated" in rule else {}
    columns |= {5: betas or states} if "delta" in rule else {}
    given = {place: floats(batch, length, count) for place, count in columns.items()}
    given |= {3: state} if past else {}
    given = dict(sorted(given.items()))
    result = floats(batch, length, max(queries, states) * width)
    numbers: dict[str, AttributeValue] = {"q_num_heads": queries, "kv_num_heads": states}
    attributes = {**numbers, "update_rule": rule, **more}
    return _layer("LinearAttention", given, (result, state), domain, attributes)


LINEAR = {
    "linear attention of a token": linear_attention(1, sizes=(128, 128)),
    "linear attention of tokens": linear_attention(37, sizes=(64, 128), batch=1),
    "linear attention, linear": linear_attention(5, "linear"),
    "linear attention, gated": linear_attention(5, "gated", sizes=(16, 8)),
    "linear attention, gated by key": linear_attention(5, "gated", by_key=True, sizes=(8, 16)),
    "linear attention, delta": linear_attention(5, "delta", betas=1),
    "linear attention, gated by key, delta": linear_attention(20, by_key=True, sizes=(32, 64)),
    "linear attention without a past": linear_attention(19, past=False, sizes=(24, 40)),
    "linear attention of several queries": linear_attention(3, heads=(6, 2, 2), scale=0.4),
    "linear attention of shared queries": linear_attention(3, heads=(2, 4, 4), sizes=(32, 32)),
    "linear attention of shared keys": linear_attention(3, heads=(2, 2, 4), sizes=(32, 32)),
    "linear attention of odd sizes": linear_attention(3, sizes=(5, 7)),
    "standard linear attention": linear_attention(5, domain="", sizes=(32, 32)),
}


def causal(
    length: int,
    places: int = 4,
    *,
    channels: tuple[int, ...] = (24,),
    bias: bool = True,
    past: bool = True,
    domain: str = DOMAIN,
    **more: AttributeValue,
) -> Layer:
    """CausalConvWithState of two sequences of so many tokens, with a filter of so many places."""
    dilation = more.get("dilation", 1)
    assert isinstance(dilation, int)
    reach, wide = (places - 1) * dilation, prod(channels)
    last = more.get("channels_last")
    x = floats(2, length, *channels) if last else floats(2, *channels, length)
    state = floats(2, reach, *channels) if last else floats(2, *channels, reach)
    given = {0: x, 1: weights(wide, 1, places)}
    given |= {2: weights(wide)} if bias else {}
    given |= {3: state} if past else {}
    return _layer("CausalConvWithState", given, (x, state), domain, more)


CAUSAL = {
    "causal conv of a token": causal(1, activation="silu"),
    "causal conv of tokens": causal(37, activation="silu"),
    "causal conv of fewer tokens than it keeps": causal(2, bias=False),
    "causal conv without a past": causal(9, past=False, activation="swish"),
    "causal conv, dilated": causal(5, 3, dilation=2),
    "causal conv, channels last": causal(5, channels_last=1, activation="silu"),
    "causal conv, several axes of channels last": causal(
        1, channels=(3, 8), channels_last=1, activation="silu"
    ),
    "standard causal conv": causal(5, domain="", activation="silu"),
}

SELECTIVE = """g (float[2,4] dt, float[2,4,24] x, float[2,16] b, float[2,16] c, float[2,4,24,16] s)
    => (y, n) <float[4] a = ["location": "w"]> {
    last = Constant<value_ints=[-1]>() two = Constant<value_ints=[-1,-2]>()
    rows = Constant<value_ints=[1,2]>() one = Constant<value_ints=[1]>()
    t = Softplus(dt) p = Mul(t, a) e = Exp(p) e4 = Unsqueeze(e, two) t4 = Unsqueeze(t, two)
    x4 = Unsqueeze(x, last) b4 = Unsqueeze(b, rows) u = Mul(t4, x4) v = Mul(u, b4)
    d = Mul(s, e4) n = Add(d, v) READ }"""
"""A step of a selective state-space model: each head's state decays, and gets what is new."""

DELTA = """g (float[2,4,16] q, float[2,4,16] k, float[2,4,32] v, float[2,4] g, float[2,4] b,
    float[2,4,16,32] s) => (y, n) {
    last = Constant<value_ints=[-1]>() two = Constant<value_ints=[-1,-2]>()
    rows = Constant<value_ints=[-2]>()
    e = Exp(g) e4 = Unsqueeze(e, two) d = Mul(s, e4) k4 = Unsqueeze(k, last) p = Mul(d, k4)
    m = ReduceSum<keepdims=0>(p, rows) f = Sub(v, m) b3 = Unsqueeze(b, last) h = Mul(f, b3)
    h4 = Unsqueeze(h, rows) w = Mul(k4, h4) n = Add(d, w) q4 = Unsqueeze(q, last) r = Mul(n, q4)
    y = ReduceSum<keepdims=0>(r, rows) }"""
"""A step of the gated delta rule, as PyTorch code has it."""

WRITTEN_OUT = {
    "step of a state-space model, summed": whole(
        SELECTIVE.replace(
            "READ", "c4 = Unsqueeze(c, rows) r = Mul(n, c4) y = ReduceSum<keepdims=0>(r, last)"
        )
    ),
    "step of a state-space model, multiplied": whole(
        SELECTIVE.replace(
            "READ",
            "c3 = Unsqueeze(c, one) like = Constant<value_ints=[2,4,16]>() ce = Expand(c3, like)"
            " by = Constant<value_ints=[8,24,16]>() f = Reshape(n, by)"
            " col = Constant<value_ints=[8,16,1]>() cc = Reshape(ce, col) m = MatMul(f, cc)"
            " out = Constant<value_ints=[2,4,24]>() y = Reshape(m, out)",
        )
    ),
    "step of the gated delta rule": whole(DELTA),
}

ROWS, GATES = floats(2, 5, 64), floats(2, 5, 4)


def gated_norm(**more: AttributeValue) -> Layer:
    """GatedRMSNorm of four heads."""
    given = {0: ROWS, 1: weights(16), 2: ROWS}
    return _layer("GatedRMSNorm", given, (ROWS,), DOMAIN, {"epsilon": 1e-6, **more})


GATED = {
    "gates of linear attention": _layer(
        "LinearAttentionGate",
        {0: GATES, 1: weights(4), 2: weights(4), 3: GATES},
        (GATES, GATES),
        DOMAIN,
        {},
    ),
    "gate of linear attention": _layer(
        "LinearAttentionGate", {0: GATES, 1: weights(4), 2: weights(4)}, (GATES,), DOMAIN, {}
    ),
    "gated rms norm": gated_norm(),
    "gated rms norm with a sigmoid": gated_norm(activation="sigmoid"),
}


def scattered(cache: Tensor, new: tuple[int, ...], *, first: bool = True, mode: str) -> Layer:
    """TensorScatter of new tokens along the last axis but one, from a place on in each sequence."""
    of = (cache, Tensor(cache.dtype, new), Tensor("int64", new[:1]))
    return single("TensorScatter", 24, of if first else of[:2], (cache,), "", axis=-2, mode=mode)


SCATTERED = {
    "scattered tokens": scattered(floats(2, 3, 9, 4), (2, 3, 2, 4), mode="linear"),
    "scattered tokens, around": scattered(floats(2, 9, 4), (2, 3, 4), mode="circular"),
    "scattered bytes from the first place on": scattered(
        Tensor("int8", (2, 9, 4)), (2, 3, 4), first=False, mode="linear"
    ),
}

STATES = LINEAR | CAUSAL | WRITTEN_OUT | GATED | SCATTERED
