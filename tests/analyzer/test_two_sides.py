"""The cheapest sides, against trying all."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.two_sides import cheapest_sides

Alone = list[tuple[int, int]]
Apart = dict[tuple[int, int], int]


@st.composite
def problems(draw: st.DrawFn) -> tuple[Alone, Apart]:
    """Nodes of which many have few neighbours, and some cost a lot more than all others."""
    count = draw(st.integers(1, 7))
    costs = st.integers(0, 9) | st.just(10**15)
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


def sides_of(alone: Alone, apart: Apart) -> list[int]:
    edges = np.array([(one, two, cost) for (one, two), cost in apart.items()], np.int64)
    on_0, on_1, costs = edges.reshape(-1, 3).T
    found: list[int] = cheapest_sides(np.array(alone, np.int64), on_0, on_1, costs).tolist()
    return found


@given(problems())
def test_no_other_sides_cost_less(problem: tuple[Alone, Apart]) -> None:
    alone, apart = problem
    least = min(total(alone, apart, each) for each in product((0, 1), repeat=len(alone)))
    assert total(alone, apart, sides_of(alone, apart)) == least


def test_what_costs_the_same_is_on_the_first_side() -> None:
    assert sides_of([(0, 0), (3, 3)], {}) == [0, 0]


def test_long_chains_are_no_cut() -> None:
    """Each node would rather be on the side where its neighbours aren't."""
    alone = [(node % 2, 1 - node % 2) for node in range(10_000)]
    apart = {pair: 2 for node in range(1, 10_000) for pair in ((node - 1, node), (node, node - 1))}
    assert len(set(sides_of(alone, apart))) == 1
