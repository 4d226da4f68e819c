"""A query sees as many keys as ONNX Runtime's results depend on, and as the definition says."""

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.layering.attended import Attended
from tests.ingest.onnx_text import content, extracted, only_layer
from tests.ingest.running import Array, run

OWN = {"com.microsoft": 1}
SIDE = st.one_of(st.none(), st.integers(0, 15))


@given(st.integers(0, 12), st.integers(0, 12), st.integers(-12, 12), SIDE, SIDE)
def test_pairs_are_counted_one_by_one(
    queries: int, keys: int, before: int, left: int | None, right: int | None
) -> None:
    pairs = [
        (query, key)
        for query in range(queries)
        for key in range(keys)
        if left is None or key >= query + before - left
        if right is None or key <= query + before + right
    ]
    attended = Attended(queries, keys, before, left, right)
    assert attended.pairs() == len(pairs)
    assert attended.seen() >= len({key for _, key in pairs})


STANDARD = """g (float[1,2,{q},4] q, float[1,2,{k},4] k, float[1,2,{k},4] v{more}) =>
    (float[1,2,{q},4] y) {{ y = Attention <is_causal = {causal}> (q, k, v{given}) }}"""
PAST = """g (float[1,2,{q},4] q, float[1,2,{q},4] k, float[1,2,{q},4] v, float[1,2,{p},4] pk,
    float[1,2,{p},4] pv) => (float[1,2,{q},4] y, float[1,2,N,4] nk, float[1,2,N,4] nv)
    {{ y, nk, nv = Attention <is_causal = {causal}> (q, k, v, , pk, pv) }}"""
OWN_HEADS = """g (float[1,{q},8] q, float[1,{q},8] k, float[1,{q},8] v) => (float[1,{q},8] y)
    {{ y = com.microsoft.MultiHeadAttention <num_heads = 2, unidirectional = {causal}>
        (q, k, v) }}"""
OWN_PAST = """g (float[1,{q},8] q, float[1,{q},8] k, float[1,{q},8] v, float[1,2,{p},4] pk,
    float[1,2,{p},4] pv) => (float[1,{q},8] y, float[1,2,N,4] nk, float[1,2,N,4] nv)
    {{ y, nk, nv = com.microsoft.MultiHeadAttention <num_heads = 2, unidirectional = {causal}>
        (q, k, v, , , , pk, pv) }}"""


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize(
    ("graph", "sizes"),
    [
        (STANDARD, {"q": 3, "k": 3, "more": "", "given": ""}),
        (STANDARD, {"q": 2, "k": 5, "more": "", "given": ""}),
        (STANDARD, {"q": 5, "k": 2, "more": "", "given": ""}),
        (STANDARD, {"q": 2, "k": 5, "more": ", int64[1] n", "given": ", , , , n"}),
        (PAST, {"q": 3, "p": 4}),
        (OWN_HEADS, {"q": 4}),
        (OWN_PAST, {"q": 3, "p": 2}),
    ],
)
def test_onnx_runtime_looks_at_as_many(graph: str, sizes: dict[str, object], causal: int) -> None:
    """A key counts for a query if the query's result depends on its value."""
    text = graph.format(**sizes, causal=causal)
    model = content(text, 24, OWN)
    *_, layer = extracted(text, 24, OWN).layers  # behind what appends to what it keeps
    rng = np.random.default_rng(0)
    arrays: dict[str, Array] = {}
    for given_ in onnx.load_from_string(model).graph.input:
        shape = [dim.dim_value for dim in given_.type.tensor_type.shape.dim]
        arrays[given_.name] = rng.random(shape, np.float32)
    if "n" in arrays:
        arrays["n"] = np.array([sizes["k"]])
    expected = run(model, arrays)[0]
    rows = expected.reshape(*expected.shape[:-2], -1, expected.shape[-1])
    pairs = 0
    for name in {"v", "pv"} & arrays.keys():
        for key in range(arrays[name].shape[-2]):
            other = arrays[name].copy()
            other[..., key, :] += 100
            changed = run(model, arrays | {name: other})[0] != expected
            over = tuple(axis for axis in range(rows.ndim) if axis != rows.ndim - 2)
            pairs += int(changed.any(axis=over).sum())
    assert layer.flops == 2 * pairs * (2 * (4 + 4) + 5)


def test_what_no_query_sees_is_not_read() -> None:
    """Of six keys the last three, and of a mask of each pair those that are in the triangle."""
    graph = """g (float[2,3,8] q, float[2,{k},8] k, float[2,{k},8] v, float[3,{k}] m) => (y) {{
        y = Attention <is_causal = 1, q_num_heads = 2, kv_num_heads = 2> (q, k, v, m) }}"""
    six, three = (only_layer(graph.format(k=keys), 24) for keys in (6, 3))
    assert six.bytes == three.bytes == 4 * (4 * 2 * 3 * 8 + 6)


def test_in_a_window_few_are_read() -> None:
    """A query behind 90 keys of which it sees the last five."""
    graph = """g (float[1,2,1,8] q, float[1,2,90,8] k, float[1,2,90,8] v, int64[1] n) => (y) {
        y = Attention <left_window_size = 4> (q, k, v, , , , n) }"""
    layer = only_layer(graph, 25)
    assert layer.flops == 2 * 5 * (2 * (8 + 8) + 5)
    assert layer.bytes == 4 * 2 * (1 + 5 + 5 + 1) * 8 + 8
