import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.models import cover, packing
from benanza_analyzer.models.cover import ComponentCover, cheapest_groups, component_shape
from tests.examples import examples

Groups = tuple[tuple[int, ...], ...]
Component = tuple[int, Groups, Groups, tuple[float, ...]]

# Times that floats add up without rounding, so that sums can be compared exactly.
times = st.one_of(st.just(math.inf), st.just(0.0), st.integers(0, 80).map(lambda n: n / 8))


@contextmanager
def limits(**of: int) -> Iterator[None]:
    """Other limits of `cover`, with nothing remembered from before or kept for later."""
    known = {name: getattr(cover, name) for name in of}
    caches: list[_lru_cache_wrapper[Any]] = [cover.component_shape, cover._segment]
    caches += [cover._remembered, cover._advance_remembered, cover._packed]
    try:
        for cache in caches:
            cache.cache_clear()
        for name, limit in of.items():
            setattr(cover, name, limit)
        yield
    finally:
        for name, limit in known.items():
            setattr(cover, name, limit)
        for cache in caches:
            cache.cache_clear()


@st.composite
def components(draw: st.DrawFn) -> Component:
    """Layers, any groups of them, cuts, and a time for each block."""
    size = draw(st.integers(1, 9))
    layers = st.sets(st.integers(0, size - 1), min_size=1)
    groups = tuple(tuple(sorted(draw(layers))) for _ in range(draw(st.integers(0, 8))))
    cuts: Groups = ()
    if len(groups) > 1:
        several = st.sets(st.integers(0, len(groups) - 1), min_size=2, max_size=3)
        cuts = tuple(tuple(sorted(cut)) for cut in draw(st.lists(several, max_size=3)))
    count = size + len(groups)
    return size, groups, cuts, tuple(draw(st.lists(times, min_size=count, max_size=count)))


def allowed(groups: Groups, cuts: Groups = ()) -> Iterator[tuple[int, ...]]:
    """All choices of groups, as indices, that don't overlap and hold no cut."""
    for count in range(len(groups) + 1):
        for chosen in combinations(range(len(groups)), count):
            members = [layer for index in chosen for layer in groups[index]]
            if len(members) == len(set(members)) and not any(set(cut) <= {*chosen} for cut in cuts):
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


def check_the_cheapest(component: Component) -> None:
    size, groups, cuts, times_us = component
    found = cheapest_groups(component_shape(size, groups, cuts), times_us)
    covers = [
        other
        for other in allowed(groups, cuts)
        if all(times_us[size + index] < math.inf for index in other)
    ]
    assert tuple(sorted(found.groups)) in covers
    assert found.gap_us == 0
    assert cost(found.groups, size, groups, times_us) == min(
        cost(other, size, groups, times_us) for other in covers
    )


@examples(times=3)
@given(components())
def test_no_cover_is_cheaper(component: Component) -> None:
    check_the_cheapest(component)


@examples(times=3)
@given(components(), st.integers(1, 3))
def test_no_cover_is_cheaper_where_a_component_is_cut_into_segments(
    component: Component, longest: int
) -> None:
    with limits(LONGEST_SEGMENT=longest, NEIGHBOURS=1):
        check_the_cheapest(component)


@given(components())
def test_no_cover_is_cheaper_where_a_pass_would_take_too_long(component: Component) -> None:
    with limits(MOST_STATES=1):
        check_the_cheapest(component)


@st.composite
def large_components(draw: st.DrawFn) -> Component:
    """Groups of layers that are near each other."""
    size = draw(st.integers(30, 60))
    groups = set()
    for first in range(size - 6):
        for _ in range(draw(st.integers(0, 2))):
            near = st.sets(st.integers(first + 1, first + 5), min_size=1, max_size=4)
            groups.add((first, *sorted(draw(near))))
    found = tuple(sorted(groups))
    of_layers = draw(st.lists(times, min_size=size, max_size=size))
    # About what the layers take, so that many groups save something.
    of_groups = [draw(st.integers(0, 8 * 7 * len(group))) / 8 for group in found]
    return size, found, (), (*of_layers, *of_groups)


@given(large_components())
def test_a_pass_and_the_integer_program_find_the_same(component: Component) -> None:
    size, groups, cuts, times_us = component
    passed = cheapest_groups(component_shape(size, groups, cuts), times_us)
    with limits(MOST_STATES=1):
        packed = cheapest_groups(component_shape(size, groups, cuts), times_us)
    assert passed.gap_us == packed.gap_us == 0
    assert cost(passed.groups, size, groups, times_us) == cost(
        packed.groups, size, groups, times_us
    )


@pytest.mark.parametrize("most_states", [1, cover.MOST_STATES])
def test_a_thousandth_of_a_microsecond_beside_a_second_counts(most_states: int) -> None:
    """And a layer that is missing counts more than that."""
    with limits(MOST_STATES=most_states):
        groups = ((0, 1), (1, 2), (2, 3), (4, 5))
        shape = component_shape(6, groups)
        alone = (5e5, 5e5, 5e5, 5e5, 1.0, math.inf)
        assert set(cheapest_groups(shape, (*alone, 1e6, 1e6 - 0.001, 1e6, 1e6)).groups) == {1, 3}
        assert set(
            cheapest_groups(shape, (*alone, 1e6 - 0.001, 1e6 - 0.003, 1e6 - 0.0015, 1e6)).groups
        ) == {1, 3}
        assert set(
            cheapest_groups(shape, (*alone, 1e6 - 0.001, 1e6 - 0.003, 1e6 - 0.0025, 1e6)).groups
        ) == {0, 2, 3}


def test_what_the_search_leaves_open_is_said() -> None:
    """Three of each five layers in a row, in any way: only a long search proves the best."""
    size = 40
    groups = tuple(
        (first, *others)
        for first in range(size - 5)
        for others in combinations(range(first + 1, first + 6), 2)
    )
    times_us = tuple(3.0 + index % 5 / 8 for index in range(size)) + tuple(
        4.0 + index * 7919 % 23 / 8 for index in range(len(groups))
    )
    shape = component_shape(size, groups)
    best = cheapest_groups(shape, times_us)
    assert best.gap_us == 0
    with limits(MOST_STATES=1), pytest.MonkeyPatch.context() as patch:
        patch.setitem(packing.OPTIONS, "mip_max_nodes", 1)
        found = cheapest_groups(component_shape(size, groups), times_us)
        again = cheapest_groups(component_shape(size, groups), times_us)
    assert found == again
    (_, best_us), (_, found_us) = (
        cost(each.groups, size, groups, times_us) for each in (best, found)
    )
    assert 0 < found_us - best_us <= found.gap_us < 10


def test_a_layer_without_a_time_is_covered_by_its_group() -> None:
    pair = component_shape(2, ((0, 1),))
    assert cheapest_groups(pair, (1.0, math.inf, 100.0)) == ComponentCover((0,), 0.0)
    assert cheapest_groups(pair, (1.0, math.inf, math.inf)) == ComponentCover((), 0.0)


def test_fewer_missing_layers_come_before_less_time() -> None:
    three = component_shape(3, ((0, 1), (1, 2)))
    assert cheapest_groups(three, (math.inf, 1.0, 1.0, 50.0, 0.5)).groups == (0,)


def test_a_layer_that_need_not_be_covered_may_be() -> None:
    pair = component_shape(2, ((0, 1),))
    assert cheapest_groups(pair, (3.0, 0.0, 2.0)).groups == (0,)
    assert cheapest_groups(pair, (1.0, 0.0, 2.0)).groups == ()


def test_of_covers_that_cost_the_same_it_is_the_one_with_the_earlier_group_at_the_end() -> None:
    """As where either branch of a residual block may be joined with what follows."""
    groups = ((1, 2), (0, 2), (0, 2))
    times_us = (2.0, 2.0, 2.0, 3.0, 3.0, 3.0)
    assert cheapest_groups(component_shape(3, groups), times_us).groups == (0,)
    assert cheapest_groups(component_shape(3, groups[1:]), times_us[:-1]).groups == (0,)
    assert cheapest_groups(component_shape(3, groups), (2.0, 2.0, 2.0, 4.0, 4.0, 4.0)).groups == ()


def test_components_of_one_shape_share_it() -> None:
    assert component_shape(3, ((0, 1), (1, 2))) is component_shape(3, ((0, 1), (1, 2)))


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
    chosen = cheapest_groups(component_shape(200, groups), tuple(times_us)).groups
    assert cost(chosen, 200, groups, tuple(times_us)) == (0, best[200])


def test_the_work_grows_with_the_groups_not_with_their_combinations() -> None:
    """Forty branches of one join, each with two overlapping groups: 3^40 covers and more."""
    branches = 40
    size = 3 * branches + 1
    groups: Groups = ()
    for first in range(0, size - 1, 3):
        groups += ((first, first + 1), (first + 1, first + 2), (first + 2, size - 1))
    times_us = (1.0,) * size + (1.5,) * len(groups)
    start = time.process_time()
    chosen = cheapest_groups(component_shape(size, groups), times_us).groups
    assert time.process_time() - start < 1
    assert cost(chosen, size, groups, times_us) == (0, branches * 2.5 + 1.0 - 0.5)


def test_structure_that_repeats_is_solved_once() -> None:
    """Blocks of a network, each of which overlaps with the next: they are one component."""
    block = ((0, 1), (1, 2, 3), (3, 4), (4, 6), (5, 6, 7), (7, 8, 9), (9, 10), (10, 11, 12))
    blocks, length = 50, 12
    groups = tuple(
        tuple(n * length + layer for layer in group) for n in range(blocks) for group in block
    )
    size = blocks * length + 1
    times_us = tuple(1.0 + n % length / 4 for n in range(size))
    times_us += tuple(1.0 + n % len(block) / 2 for n in range(len(groups)))
    with limits():
        chosen = cheapest_groups(component_shape(size, groups), times_us)
        assert chosen.groups
        assert cover._segment.cache_info().misses < 6
        assert cover._advance_remembered.cache_info().misses < 10
