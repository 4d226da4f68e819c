"""The cheapest sides, against trying all."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.two_sides import NEVER, TwoSides

Alone = list[tuple[int, int]]
Apart = dict[tuple[int, int], int]


@st.composite
def problems(draw: st.DrawFn) -> tuple[Alone, Apart]:
    """Nodes of which many have few neighbours, and some may not be on one of the sides."""
    count = draw(st.integers(1, 7))
    costs = st.integers(0, 9) | st.just(NEVER)
    alone = draw(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=count, max_size=count)
    )
    pairs = [(one, two) for one in range(count) for two in range(count) if one != two]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=9)) if pairs else []
    return alone, {pair: draw(costs) for pair in chosen}


def total(alone: Alone, apart: Apart, sides: tuple[int, ...] | list[int]) -> int:
    own = sum(costs[side] for costs, side in zip(alone, sides, strict=True))
    return own + sum(
        cost for (one, two), cost in apart.items() if (sides[one], sides[two]) == (0, 1)
    )


@given(problems())
def test_no_other_sides_cost_less(problem: tuple[Alone, Apart]) -> None:
    alone, apart = problem
    sides = TwoSides(len(alone))
    for node, costs in enumerate(alone):
        sides.add(node, *costs)
    for (one, two), cost in apart.items():
        sides.add_apart(one, two, cost)
    least = min(total(alone, apart, each) for each in product((0, 1), repeat=len(alone)))
    assert total(alone, apart, sides.sides()) == least


def test_what_costs_the_same_is_on_the_first_side() -> None:
    assert TwoSides(2).sides() == [0, 0]


def test_long_chains_are_no_cut() -> None:
    """Each node would rather be on the side where its neighbours aren't."""
    sides = TwoSides(10_000)
    for node in range(10_000):
        sides.add(node, node % 2, 1 - node % 2)
        if node:
            sides.add_apart(node - 1, node, 2)
            sides.add_apart(node, node - 1, 2)
    assert len(set(sides.sides())) == 1
