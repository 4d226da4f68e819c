"""Of tables, experts and kept keys, a layer reads what the tokens need."""

from math import prod

import numpy as np
import pytest

from benanza_ingest.extract import extract
from benanza_schemas.element_types import size_bytes
from tests.ingest.onnx_text import as_written, content
from tests.ingest.running import Array, run


def untouched(graph: str) -> int:
    """The bytes of the tensors of the graph's only layer that it leaves alone."""
    (layer,) = extract(content(graph, 23, {"com.microsoft": 1})).layers
    assert layer.layer is not None
    sizes = [size_bytes(each.dtype, prod(each.shape)) for each in layer.layer.tensors]
    return sum(sizes) - layer.bytes


ROTARY = (
    "g (float[2,3,32] x, int64[{positions}] p, float[{rows},4] c, float[{rows},4] s) => (y) "
    "{{ y = com.microsoft.RotaryEmbedding <num_heads = 4> (x, p, c, s) }}"
)


@pytest.mark.parametrize(
    ("graph", "elements"),
    [
        (ROTARY.format(positions="2,3", rows=100), 2 * 94 * 4),
        (ROTARY.format(positions="1", rows=100), 2 * 97 * 4),
        (ROTARY.format(positions="2,3", rows=5), 0),
        (
            "g (float[2,4,3,8] x, float[100,4] c, float[100,4] s, int64[2,3] p) => (y) "
            "{ y = RotaryEmbedding (x, c, s, p) }",
            2 * 94 * 4,
        ),
        (
            "g (int32[2,3] i, int32[2,3] t, float[50,8] w, float[40,8] p, float[2,8] s, "
            "float[8] a, float[8] b) => (y, m) "
            "{ y, m = com.microsoft.EmbedLayerNormalization (i, t, w, p, s, a, b) }",
            8 * (44 + 34),
        ),
        # Two of eight experts for each of two rows: 8 * (1 - (3 / 4)^2) = 3.5 on average.
        (
            "g (float[2,16] x, float[2,8] r, float[8,16,32] f, float[8,32] a, float[8,32,16] g, "
            "float[8,16] b) => (y) { y = com.microsoft.MoE <k = 2> (x, r, f, a, g, b) }",
            9 * (16 * 32 + 32 + 32 * 16 + 16) // 2,
        ),
    ],
)
def test_the_rest_is_left_alone(graph: str, elements: int) -> None:
    assert untouched(graph) == 4 * elements


def test_rows_of_a_quantised_embedding_and_of_torch_s() -> None:
    scales = ", ".join(f"float s{number}" for number in range(5))
    zeros = ", ".join(f"uint8 z{number}" for number in range(5))
    graph = (
        "g (int32[2,3] i, int32[2,3] t, uint8[50,8] w, uint8[40,8] p, uint8[2,8] s, uint8[8] a, "
        f"uint8[8] b, {scales}, {zeros}) => (y, m) {{ y, m = "
        "com.microsoft.QEmbedLayerNormalization "
        "(i, t, w, p, s, a, b, , s0, s1, s2, s3, s4, z0, z1, z2, z3, z4) }"
    )
    assert untouched(graph) == 8 * (44 + 34)
    graph = "g (float[50,8] w, int64[2,3] i) => (y) { y = com.microsoft.TorchEmbedding (w, i) }"
    assert untouched(graph) == 4 * 8 * 44


def test_a_quantised_table_with_its_scales() -> None:
    graph = (
        "g (uint8[100,32] t, int64[2,3] i, float[100,2] s) => (y) { y = "
        "com.microsoft.GatherBlockQuantized <bits = 8, block_size = 16> (t, i, s) }"
    )
    assert untouched(graph) == 94 * (32 + 2 * 4)


KEPT = """g (float[1,2,{queries}] q, float[1,2,16] k, float[1,2,16] v, float[1,2,64,8] pk,
    float[1,2,64,8] pv, int32[1] l, float[100,4] c, float[100,4] s) => (y, nk, nv)
    <int32 t = {{ {total} }}> {{ y, nk, nv = com.microsoft.GroupQueryAttention
    <num_heads = 4, kv_num_heads = 2, do_rotary = {rotary}> (q, k, v, pk, pv, l, t, c, s) }}"""


@pytest.mark.parametrize(("rotary", "rows"), [(1, 98), (0, 100)])
def test_kept_keys_are_read_up_to_the_total_and_written_where_they_are_new(
    rotary: int, rows: int
) -> None:
    """The memory for them has 64 places, of which the first 10 are in use with the 2 new ones."""
    graph = KEPT.format(queries=32, total=10, rotary=rotary)
    kept = 2 * 8 * ((64 - 8) + (64 - 2))
    assert untouched(graph) == 4 * (2 * kept + 2 * rows * 4)


@pytest.mark.parametrize(("window", "read"), [(-1, 2 * 64 - 5), (9, 2 * 8)])
def test_of_pages_those_are_read_that_the_table_may_name(window: int, read: int) -> None:
    """Two sequences have four blocks of sixteen each, with their new keys: two and three."""
    graph = f"""g (float16[5,64] q, float16[5,32] k, float16[9,16,2,16] pk, float16[9,16,2,16] pv,
        int32[3] c, int32[2] l, int32[2,4] b) => (y, nk, nv) {{
        y, nk, nv = com.microsoft.PagedAttention <num_heads = 4, kv_num_heads = 2,
            local_window_size = {window}> (q, k, k, pk, pv, c, l, b) }}"""
    assert untouched(graph) == 2 * 2 * (2 * 9 * 16 - 5 - read) * 2 * 16


def test_what_is_kept_elsewhere_is_written_anew() -> None:
    """The results are longer than what was kept, so they can't be in its place."""
    copied = as_written(KEPT.format(queries=32, total=66, rotary=1), 23, {"com.microsoft": 1})
    sizes = [size_bytes(each.dtype, prod(each.shape)) for each in copied.layer.tensors]
    assert sum(sizes) - copied.bytes == 4 * 2 * 98 * 4


def test_onnx_runtime_does_not_look_at_the_rest() -> None:
    """Its result is the same where the rest is no number."""
    rng = np.random.default_rng(0)
    arrays: dict[str, Array] = {
        "x": rng.random((2, 3, 32), np.float32),
        "p": np.array([[5, 6, 7], [0, 1, 2]]),
    } | {name: rng.random((100, 4), np.float32) for name in "cs"}
    model = content(ROTARY.format(positions="2,3", rows=100), 17, {"com.microsoft": 1})
    (expected,) = run(model, arrays)
    for name in "cs":
        table = np.full_like(arrays[name], np.nan)
        table[arrays["p"]] = arrays[name][arrays["p"]]
        arrays[name] = table
    (found,) = run(model, arrays)
    np.testing.assert_array_equal(found, expected)
