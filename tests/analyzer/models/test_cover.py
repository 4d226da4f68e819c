import math
import time
from collections.abc import Iterator
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.models.cover import cheapest_groups, component_shape

Groups = tuple[tuple[int, ...], ...]

# Times that floats add up without rounding, so that sums can be compared exactly.
times = st.one_of(st.just(math.inf), st.just(0.0), st.integers(0, 80).map(lambda n: n / 8))


@st.composite
def parts_of(draw: st.DrawFn, above: tuple[int, ...]) -> tuple[int, ...]:
    """A connected part of the tree: some layer and, from there down, some of those below."""
    members = {draw(st.integers(0, len(above)))}
    for layer in range(len(above) - 1, -1, -1):
        if above[layer] in members and draw(st.booleans()):
            members.add(layer)
    return tuple(sorted(members))


@st.composite
def components(draw: st.DrawFn) -> tuple[tuple[int, ...], Groups, tuple[float, ...]]:
    """A tree, some connected parts of it, and a time for each block."""
    size = draw(st.integers(1, 9))
    above = tuple(draw(st.integers(layer + 1, size - 1)) for layer in range(size - 1))
    groups = tuple(draw(st.lists(parts_of(above), max_size=8)))
    count = size + len(groups)
    return above, groups, tuple(draw(st.lists(times, min_size=count, max_size=count)))


def disjoint(groups: Groups) -> Iterator[tuple[int, ...]]:
    """All choices of groups, as indices, that don't overlap."""
    for count in range(len(groups) + 1):
        for chosen in combinations(range(len(groups)), count):
            members = [layer for index in chosen for layer in groups[index]]
            if len(members) == len(set(members)):
                yield chosen


def cost(
    chosen: tuple[int, ...], size: int, groups: Groups, times_us: tuple[float, ...]
) -> tuple[int, float]:
    """How many layers a cover leaves missing, and its time."""
    alone = set(range(size)).difference(*(groups[index] for index in chosen))
    missing = sum(times_us[layer] == math.inf for layer in alone)
    taken = [times_us[size + index] for index in chosen]
    taken += [times_us[layer] for layer in alone if times_us[layer] < math.inf]
    return missing, sum(taken)


@given(components())
def test_no_cover_is_cheaper(
    component: tuple[tuple[int, ...], Groups, tuple[float, ...]],
) -> None:
    above, groups, times_us = component
    size = len(above) + 1
    chosen = cheapest_groups(component_shape(above, groups), times_us)
    covers = [
        other
        for other in disjoint(groups)
        if all(times_us[size + index] < math.inf for index in other)
    ]
    assert tuple(sorted(chosen)) in covers
    assert cost(chosen, size, groups, times_us) == min(
        cost(other, size, groups, times_us) for other in covers
    )


def test_a_layer_without_a_time_is_covered_by_its_group() -> None:
    pair = component_shape((1,), ((0, 1),))
    assert cheapest_groups(pair, (1.0, math.inf, 100.0)) == (0,)
    assert cheapest_groups(pair, (1.0, math.inf, math.inf)) == ()


def test_fewer_missing_layers_come_before_less_time() -> None:
    three = component_shape((1, 2), ((0, 1), (1, 2)))
    assert cheapest_groups(three, (math.inf, 1.0, 1.0, 50.0, 0.5)) == (0,)


def test_a_layer_that_need_not_be_covered_may_be() -> None:
    pair = component_shape((1,), ((0, 1),))
    assert cheapest_groups(pair, (3.0, 0.0, 2.0)) == (0,)
    assert cheapest_groups(pair, (1.0, 0.0, 2.0)) == ()


def test_components_of_one_shape_share_their_plan() -> None:
    assert component_shape((1, 2), ((0, 1), (1, 2))) is component_shape((1, 2), ((0, 1), (1, 2)))


def chain(length: int) -> tuple[int, ...]:
    return tuple(range(1, length))


def intervals(length: int, longest: int) -> Groups:
    """All intervals of two to `longest` layers of a chain."""
    return tuple(
        tuple(range(first, first + size))
        for first in range(length)
        for size in range(2, longest + 1)
        if first + size <= length
    )


def test_a_long_chain_with_all_its_intervals_takes_the_time_that_the_textbook_finds() -> None:
    groups = intervals(200, 8)
    times_us = [1.0 + n * 37 % 11 for n in range(200)]
    times_us += [1.0 + (index * 7919) % 23 for index in range(len(groups))]
    best = [0.0]
    for end in range(1, 201):
        choices = [best[end - 1] + times_us[end - 1]]
        choices += [
            best[group[0]] + times_us[200 + index]
            for index, group in enumerate(groups)
            if group[-1] == end - 1
        ]
        best.append(min(choices))
    chosen = cheapest_groups(component_shape(chain(200), groups), tuple(times_us))
    assert cost(chosen, 200, groups, tuple(times_us)) == (0, best[200])


def test_the_work_grows_with_the_groups_not_with_their_combinations() -> None:
    """Forty branches of one join, each with two overlapping groups: 3^40 covers and more."""
    branches = 40
    size = 3 * branches + 1
    above = tuple(layer + 1 if layer % 3 < 2 else size - 1 for layer in range(size - 1))
    groups: Groups = ()
    for first in range(0, size - 1, 3):
        groups += ((first, first + 1), (first + 1, first + 2), (first + 2, size - 1))
    times_us = (1.0,) * size + (1.5,) * len(groups)
    start = time.monotonic()
    chosen = cheapest_groups(component_shape(above, groups), times_us)
    assert time.monotonic() - start < 1
    assert cost(chosen, size, groups, times_us) == (0, branches * 2.5 + 1.0 - 0.5)
