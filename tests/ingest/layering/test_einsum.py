"""Operations of an Einsum, by the order of its operands that takes the fewest."""

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benanza_ingest.layering.einsum import einsum_flops

CHAIN = [(2, 300), (300, 5), (5, 400), (400, 3)]


@pytest.mark.parametrize(
    ("equation", "shapes", "flops"),
    [
        ("ij,jk->ik", [(2, 3), (3, 5)], 2 * 2 * 3 * 5),
        ("...ij,...jk->...ik", [(7, 2, 3), (3, 5)], 2 * 7 * 2 * 3 * 5),
        ("bij,bjk", [(7, 2, 3), (7, 3, 5)], 2 * 7 * 2 * 3 * 5),
        ("ij->i", [(2, 3)], 6),
        ("ij,jk,kl->il", [(256, 256)] * 3, 2 * 2 * 256**3),
        ("ab,bc,cd,de->ae", CHAIN, 2 * (2 * 300 * 5 + 5 * 400 * 3 + 2 * 5 * 3)),
        ("i,i,i->", [(9,)] * 3, 9 + 2 * 9),
        ("i,j->ij", [(3,), (5,)], 15),
        ("ij , jk -> ik", [(1, 3), (3, 5)], 2 * 3 * 5),
    ],
)
def test_they_are_two_where_a_pair_is_summed(
    equation: str, shapes: list[tuple[int, ...]], flops: int
) -> None:
    assert einsum_flops(equation, shapes) == flops


@given(st.lists(st.integers(1, 9), min_size=3, max_size=7))
@example([1, 1, 1, 1, 2])
def test_a_chain_takes_no_more_than_from_left_to_right(sizes: list[int]) -> None:
    letters = "abcdefgh"[: len(sizes)]
    terms = [f"{a}{b}" for a, b in itertools.pairwise(letters)]
    shapes = list(itertools.pairwise(sizes))
    found = einsum_flops(f"{','.join(terms)}->{letters[0]}{letters[-1]}", shapes)
    in_turn = sum(2 * sizes[0] * a * b for a, b in itertools.pairwise(sizes[1:]))
    assert 0 < found <= in_turn
