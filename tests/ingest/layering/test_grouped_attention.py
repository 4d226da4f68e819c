"""Grouped-query attention works on the keys that ONNX Runtime's results depend on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.extracted import ExtractedLayer
from tests.ingest.onnx_text import as_written, content, only_layer
from tests.ingest.running import Array, run

OWN = {"com.microsoft": 1}
DEPTH, HEADS, KEPT_HEADS, BATCH = 8, 4, 2, 1
GRAPH = """g (float[1,{length},32] q, float[1,{length},16] k, float[1,{length},16] v,
    float[1,2,{past},8] pk, float[1,2,{past},8] pv, int32[1] l{input}) =>
    (float[1,{length},32] y, float[1,2,{present},8] nk, float[1,2,{present},8] nv) {constant} {{
    y, nk, nv = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2,
        local_window_size = {window}, softcap = {softcap}> (q, k, v, pk, pv, l, t) }}"""


def graph(
    before: int, length: int, window: int, *, softcap: float = 0.0, fixed: bool, room: int = 0
) -> str:
    """With room for so many keys in all, or with new keys behind a copy of those from before."""
    total = before + length
    constant, given = (f"<int32 t = {{{total}}}>", "") if fixed else ("", ", int32 t")
    return GRAPH.format(
        length=length,
        past=room or before,
        present=room or total,
        window=window or -1,
        softcap=softcap,
        constant=constant,
        input=given,
    )


def layer_of(
    before: int, length: int, window: int, *, softcap: float = 0.0, room: int = 0
) -> ExtractedLayer:
    return only_layer(
        graph(before, length, window, softcap=softcap, fixed=True, room=room), 21, OWN
    )


def operations(pairs: int, softcap: float = 0.0) -> int:
    return BATCH * HEADS * pairs * (4 * DEPTH + (8 if softcap else 5))


@pytest.mark.parametrize("window", [0, 1, 4, 30])
@pytest.mark.parametrize("length", [1, 3])
def test_onnx_runtime_attends_to_as_many_keys(length: int, window: int) -> None:
    """A key counts for a query if the query's result depends on its value."""
    before = 6
    rng = np.random.default_rng(0)
    arrays: dict[str, Array] = {
        name: rng.random(shape, np.float32)
        for name, shape in {
            "q": (1, length, 32),
            "k": (1, length, 16),
            "v": (1, length, 16),
            "pk": (1, 2, before, 8),
            "pv": (1, 2, before, 8),
        }.items()
    }
    arrays |= {"l": np.array([before + length - 1], "i4"), "t": np.array(before + length, "i4")}
    model = content(graph(before, length, window, fixed=False), 21, OWN)
    expected = run(model, arrays)[0]
    pairs = 0
    for name, axis, count in (("pv", 2, before), ("v", 1, length)):
        for key in range(count):
            other = arrays[name].copy()
            other[(slice(None),) * axis + (key,)] += 100
            found = run(model, arrays | {name: other})[0]
            pairs += int((found != expected).any(axis=(0, 2)).sum())
    assert layer_of(before, length, window).flops == operations(pairs)


@given(
    before=st.integers(1, 50),
    length=st.integers(1, 20),
    window=st.integers(0, 60),
    softcap=st.sampled_from([0.0, 50.0]),
    more=st.integers(0, 9),
)
def test_costs_are_those_of_the_keys_in_the_window(
    before: int, length: int, window: int, softcap: float, more: int
) -> None:
    room = before + length + more
    pairs = sum(min(query + 1, window or room) for query in range(before, before + length))
    in_place = layer_of(before, length, window, softcap=softcap, room=room)
    copied = as_written(graph(before, length, window, softcap=softcap, fixed=True), 21, OWN)
    assert in_place.flops == copied.flops == operations(pairs, softcap)
    read = min(before, window - 1) if window else before
    given = 4 * length * (2 * 32 + 2 * 16) + 2 * 4
    row = 4 * BATCH * KEPT_HEADS * DEPTH
    assert in_place.bytes == given + 2 * row * (read + length)
    assert copied.bytes == given + 2 * row * (before + before + length)


def test_without_a_known_total_all_that_is_kept_counts() -> None:
    layer = only_layer(graph(40, 2, 0, fixed=False), 21, OWN)
    known = layer_of(40, 2, 0)
    assert (layer.flops, layer.bytes) == (known.flops, known.bytes)


def test_rotating_takes_three_operations_for_each_element() -> None:
    text = """g (float[1,3,64] x, float[1,2,5,8] pk, float[1,2,5,8] pv, int32[1] l,
        float[90,4] c, float[90,4] s) => (y, nk, nv) <int32 t = {8}> {
        y, nk, nv = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2,
            do_rotary = 1> (x, , , pk, pv, l, t, c, s) }"""
    assert only_layer(text, 21, OWN).flops == operations(6 + 7 + 8) + 3 * 3 * (4 + 2) * 8
    half = text.replace("float[90,4]", "float[90,2]")
    assert only_layer(half, 21, OWN).flops == operations(6 + 7 + 8) + 3 * 3 * (4 + 2) * 4
