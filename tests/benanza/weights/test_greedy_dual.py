"""Which goes first: by use, and by what it costs to bring back."""

from hypothesis import given
from hypothesis import strategies as st

from benanza.weights.greedy_dual import GreedyDual


@given(st.lists(st.integers(0, 5), min_size=1))
def test_of_equals_the_least_recently_used_goes_first(uses: list[int]) -> None:
    policy: GreedyDual[int] = GreedyDual()
    for key in uses:
        policy.use(key, 1.0, 100)
    order: list[int] = []
    while (least := policy.least(set(uses) - set(order))) is not None:
        policy.give_up(least)
        order.append(least)
    assert order == sorted(set(uses), key=lambda key: len(uses) - 1 - uses[::-1].index(key))


def test_what_is_cheap_by_the_byte_goes_before_what_was_used_earlier() -> None:
    policy: GreedyDual[str] = GreedyDual()
    policy.use("slow", 10.0, 100)
    policy.use("large", 10.0, 10_000)
    assert policy.least(["slow", "large"]) == "large"


def test_what_is_not_used_any_more_goes_in_the_end_however_dear() -> None:
    policy: GreedyDual[str] = GreedyDual()
    policy.use("dear", 5.0, 1)
    rounds = 0
    while rounds < 10:
        policy.use("cheap", 1.0, 1)
        least = policy.least(["dear", "cheap"])
        assert least is not None
        policy.give_up(least)
        if least == "dear":
            break
        rounds += 1
    assert 3 <= rounds <= 6


def test_only_what_may_go_goes() -> None:
    policy: GreedyDual[str] = GreedyDual()
    policy.use("cheap", 1.0, 1)
    policy.use("dear", 5.0, 1)
    assert policy.least(["dear"]) == "dear"
    assert policy.least([]) is None
