"""The cheapest layouts, against trying all."""

from collections.abc import Sequence
from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer import layouts
from benanza_analyzer.models.contraction import Positions

Case = tuple[list[float], list[float], list[float], list[tuple[int, int]]]

Edges = list[tuple[int, int]]


def channels_last(
    first: list[float], last: list[float], conversion: list[float], edges: Edges
) -> list[bool]:
    found: list[bool] = layouts.channels_last(
        np.array(first), np.array(last), np.array(conversion), *ends(edges)
    ).tolist()
    return found


def conversions_us(last: Sequence[bool], conversion: list[float], edges: Edges) -> list[float]:
    found: list[float] = layouts.conversions_us(
        np.array(last, np.bool_), np.array(conversion), *ends(edges)
    ).tolist()
    return found


def ends(edges: Edges) -> tuple[Positions, Positions]:
    sources, targets = np.array(edges, np.int32).reshape(-1, 2).T
    return sources, targets


eighths = st.integers(0, 40).map(lambda n: n / 8)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Calls that mostly can do both, and edges from each to later ones."""
    count = draw(st.integers(1, 6))
    first, last = [], []
    for _ in range(count):
        only = draw(st.sampled_from(["", "", "", "first", "last"]))
        first.append(inf if only == "last" else draw(eighths))
        last.append(inf if only == "first" else draw(eighths))
    edges = [
        (call, reader)
        for call in range(count)
        for reader in range(call + 1, count)
        if draw(st.booleans())
    ]
    return first, last, draw(st.lists(eighths, min_size=count, max_size=count)), edges


def total(case: Case, choice: tuple[bool, ...] | list[bool]) -> float:
    first, last, conversion, edges = case
    calls = sum(last[i] if is_last else first[i] for i, is_last in enumerate(choice))
    return calls + sum(conversions_us(choice, conversion, edges))


@given(cases())
def test_no_other_choice_takes_less(case: Case) -> None:
    found = channels_last(*case)
    least = min(total(case, choice) for choice in product((False, True), repeat=len(found)))
    assert total(case, found) == least


def test_a_value_is_converted_once_for_all_its_readers() -> None:
    edges = [(0, 1), (0, 2), (0, 3)]
    case: Case = [1.0, 9.0, 9.0, 9.0], [9.0, 1.0, 1.0, 1.0], [5.0, 0.0, 0.0, 0.0], edges
    assert channels_last(*case) == [False, True, True, True]
    assert conversions_us([False, True, True, True], case[2], edges) == [5.0, 0.0, 0.0, 0.0]
    assert total(case, [False, True, True, True]) == 9.0


def test_what_takes_longer_to_convert_than_it_saves_stays() -> None:
    chain = [(0, 1), (1, 2)]
    dear: Case = [5.0, 2.0, 5.0], [1.0, 4.0, 1.0], [3.0, 3.0, 0.0], chain
    cheap: Case = [5.0, 2.0, 5.0], [1.0, 4.0, 1.0], [0.5, 0.5, 0.0], chain
    assert channels_last(*dear) == [True, True, True]
    assert channels_last(*cheap) == [True, False, True]


def test_calls_that_do_not_mind_go_with_the_others() -> None:
    assert channels_last([2.0, 3.0], [2.0, 3.0], [1.0, 1.0], [(0, 1)]) == [False, False]
    chain = [(0, 1), (1, 2)]
    assert channels_last([9.0, 3.0, 9.0], [1.0, 3.0, 1.0], [1.0, 1.0, 1.0], chain) == [True] * 3


@pytest.mark.parametrize("count", [1_001, 20_000])
def test_what_cannot_be_is_not_chosen_however_many_conversions_that_takes(count: int) -> None:
    """Conversions that were not measured are assumed to take long."""
    dear = 1e6
    edges = [(call, count) for call in range(count)]
    first, last = [inf] * count + [1.0], [1.0] * count + [inf]
    assert channels_last(first, last, [dear] * count + [0.0], edges) == [True] * count + [False]
    read = [(0, call + 1) for call in range(count)]
    first, last = [1.0] + [3.0] * count, [dear] + [2.0] * count
    assert channels_last(first, last, [0.5] + [0.0] * count, read) == [False] + [True] * count
    assert channels_last(first, last, [dear] + [0.0] * count, read) == [False] * (count + 1)
