"""Attention to pages counts the pairs of the lengths that its sequences are taken to have."""

import pytest

from tests.ingest.onnx_text import only_layer

OWN = {"com.microsoft": 1}
HEADS, DEPTH = 4, 16


def flops(tokens: int, blocks: int, width: int, more: str = "", tables: str = "") -> int:
    given = ", float16[99,8] c, float16[99,8] s" if tables else ""
    text = f"""g (float16[{tokens},64] q, float16[{tokens},32] k, float16[{blocks},16,2,16] pk,
        float16[{blocks},16,2,16] pv, int32[3] e, int32[2] l, int32[2,{width}] b{given})
        => (y, nk, nv) {{ y, nk, nv = com.microsoft.PagedAttention
        <num_heads = 4, kv_num_heads = 2{more}> (q, k, k, pk, pv, e, l, b{tables}) }}"""
    return only_layer(text, 21, OWN).flops


def operations(pairs: int, of_a_pair: int = 5) -> int:
    return HEADS * pairs * (4 * DEPTH + of_a_pair)


@pytest.mark.parametrize(
    ("tokens", "blocks", "width", "keys"), [(2, 8, 4, 64), (2, 99, 3, 48), (2, 5, 4, 32)]
)
def test_sequences_are_as_long_as_table_and_cache_allow(
    tokens: int, blocks: int, width: int, keys: int
) -> None:
    assert flops(tokens, blocks, width) == operations(2 * keys)


def test_new_tokens_are_shared_out() -> None:
    """Two and three tokens, each of which sees the keys up to its own."""
    assert flops(5, 8, 4) == operations(63 + 64 + 62 + 63 + 64)
    assert flops(5, 8, 4, ", is_causal = 0") == operations(5 * 64)
    assert flops(5, 8, 4, ", local_window_size = 9, softcap = 3.0") == operations(5 * 9, 8)


def test_rotating_takes_three_operations_for_each_element() -> None:
    rotated = flops(2, 8, 4, ", do_rotary = 1", ", c, s")
    assert rotated == operations(2 * 64) + 3 * 2 * (4 + 2) * DEPTH
