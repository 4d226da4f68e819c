"""Calls by pieces of so many bytes of weights."""

from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.cuda.whole_model.pieces import pieces


def test_a_piece_ends_where_it_has_enough() -> None:
    assert pieces([3, 0, 4, 9, 0, 1], least=5) == [range(3), range(3, 4), range(4, 6)]
    assert pieces([], least=5) == []
    assert pieces([0, 0], least=5) == [range(2)]


@given(st.lists(st.integers(0, 9)), st.integers(1, 20))
def test_each_call_is_in_one_piece_and_no_piece_is_larger_than_it_must(
    weights: list[int], least: int
) -> None:
    found = pieces(weights, least)
    assert [call for piece in found for call in piece] == list(range(len(weights)))
    sizes = [[weights[call] for call in piece] for piece in found]
    assert all(sum(size) >= least for size in sizes[:-1])
    assert all(sum(size[:-1]) < least for size in sizes)
