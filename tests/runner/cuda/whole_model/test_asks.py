"""When weights are asked for."""

from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.cuda.whole_model.asks import asks

bytes_of_calls = st.lists(st.integers(0, 9))


def test_weights_are_asked_for_so_many_bytes_ahead() -> None:
    assert asks([5, 2, 2, 2, 2], ahead=4, least=1) == {
        0: range(1, 3),
        1: range(3, 4),
        2: range(4, 5),
    }


def test_what_is_larger_is_asked_for_one_call_ahead() -> None:
    assert asks([0, 9, 9], ahead=4, least=1) == {0: range(1, 2), 1: range(2, 3)}


def test_little_waits_for_more() -> None:
    assert asks([5, 1, 1, 1, 1], ahead=3, least=3) == {0: range(1, 4)}
    assert asks([5, 1, 1], ahead=9, least=3) == {}
    assert asks([], ahead=9, least=3) == {}


@given(bytes_of_calls, st.integers(0, 20), st.integers(1, 20))
def test_each_call_is_asked_for_once_and_before_it_starts(
    weights: list[int], ahead: int, least: int
) -> None:
    found = asks(weights, ahead, least)
    asked = [later for wanted in found.values() for later in wanted]
    assert asked == sorted(set(asked))
    for call, wanted in found.items():
        assert call < wanted.start
        size = sum(weights[later] for later in wanted)
        assert size >= least
        assert size <= ahead or wanted[-1] == call + 1


@given(bytes_of_calls)
def test_all_weights_are_asked_for_where_any_is_worth_it(weights: list[int]) -> None:
    found = asks(weights, ahead=9, least=1)
    asked = {later for wanted in found.values() for later in wanted}
    assert asked >= {call for call, size in enumerate(weights) if call and size}
