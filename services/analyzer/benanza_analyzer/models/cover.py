"""The cheapest exact cover of a component: each layer alone, or in one of its groups.

A component is a set of layers in overlapping groups. The covers of its last layers differ, for
the layers before, only in which of these they cover already. So one pass from the last layer to
the first that keeps the cheapest cover for each such set finds the cheapest of all. Groups reach
few layers back, so the sets are few; where they aren't, the pass keeps the most promising ones,
and `packing` goes on from the cover that it finds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise, product
from math import inf
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from benanza_analyzer.models.packing import cheapest_packing

MOST_STATES = 2_000
"""Sets of covered layers that a pass keeps at most."""

UNIT = 1 << 40
"""Parts of a microsecond in which times are added up: whole numbers, so that the order of adding
makes no difference."""

MISSING = 1 << 80
"""The cost of a layer without a time: more than any time."""

LONGEST_SEGMENT = 24
"""Rows."""

MOST_CROSSING = 16
"""Options that reach from one segment into the next at most, which limits the tables."""

NEIGHBOURS = 8
"""Rows on either side of the first row of a segment, none of which is crossed by fewer options."""

REMEMBERED_BLOCKS = 32
"""Covers are cached for components of at most so many blocks, which limits the memory."""

_Link: TypeAlias = "tuple[int, _Link] | None"
"""Options that were taken, the last one first."""

Table = tuple[tuple[int, int], ...]
"""For each set of further rows that may be covered already: the set as bits, the next row's
lowest, and how much more its cheapest cover costs than the cheapest of all."""

Traces = tuple[tuple[int, tuple[int, ...]], ...]
"""How each set of a table came about: from which set of the table before, with which groups."""


class ComponentCover(NamedTuple):
    """The groups in a cover, as indices; all other layers are blocks of their own.

    `gap_us` is how much time a cheaper cover could save at most: zero if there is none, infinite
    if one might leave fewer layers missing.
    """

    groups: tuple[int, ...]
    gap_us: float


@dataclass(frozen=True, eq=False, slots=True)
class Segment:
    """Some successive rows of a component.

    `starts` holds for each row the options that begin there, each as the rows that it covers: as
    bits relative to this row, and as places in the segment. Options may reach up to row `reach`.
    """

    starts: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]
    reach: int


class _Part(NamedTuple):
    """A segment in its component: `times` picks the times of its rows, up to its reach, and of its
    options, from those of all blocks and a zero. Its options begin at `first_option`.
    """

    segment: Segment
    times: Callable[[Sequence[float]], tuple[float, ...]]
    first_option: int


@dataclass(frozen=True, eq=False, slots=True)
class ComponentShape:
    """The layers and groups of a component.

    Layers are numbered from 0. Block `b` is the layer `b` alone for `b < size`, block `size + g`
    is the group `g`. A *row* is what may be covered once: a layer, or a place in a cut. `rows`
    holds the layer of each, the last layer first, and -1 for a place in a cut. An *option* is a
    group with the rows that it covers, ascending; `options` also has the group.
    """

    size: int
    rows: tuple[int, ...]
    options: tuple[tuple[tuple[int, ...], int], ...]
    parts: tuple[_Part, ...]


@lru_cache(maxsize=1 << 12)
def component_shape(
    size: int, groups: tuple[tuple[int, ...], ...], cuts: tuple[tuple[int, ...], ...] = ()
) -> ComponentShape:
    """The shape of a component; components of the same shape share it.

    `groups` hold layers, ascending. `cuts` hold two or more groups that a cover can't have all.
    A cut of `n` groups has `n - 1` places, and each of its groups takes one of them.
    """
    # Layers are negative here, so that the rows are in order.
    rows: list[tuple[int, ...]] = [(-layer,) for layer in range(size)]
    places: list[list[list[tuple[int, ...]]]] = [[] for _ in groups]
    for index, cut in enumerate(cuts):
        first = -min(groups[group][-1] for group in cut)
        free: list[tuple[int, ...]] = [(first, index, place) for place in range(len(cut) - 1)]
        rows += free
        for group in cut:
            places[group].append(free)
    rows.sort()
    row_of = {row: index for index, row in enumerate(rows)}
    options = [
        (tuple(sorted([row_of[row] for row in (*((-layer,) for layer in layers), *taken)])), group)
        for group, layers in enumerate(groups)
        for taken in product(*places[group])
    ]
    options.sort(key=lambda option: option[0][0])
    layers = tuple(-row[0] if len(row) == 1 else -1 for row in rows)
    return ComponentShape(size, layers, tuple(options), tuple(_parts(size, layers, options)))


def _parts(
    size: int, rows: tuple[int, ...], options: Sequence[tuple[tuple[int, ...], int]]
) -> list[_Part]:
    parts = []
    begun = 0
    borders = [0, *_borders(len(rows), [option for option, _ in options]), len(rows)]
    for first, end in pairwise(borders):
        starts: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in range(first, end)]
        first_option, reach = begun, end
        while begun < len(options) and options[begun][0][0] < end:
            option, _ = options[begun]
            bits = sum(1 << (row - option[0]) for row in option)
            starts[option[0] - first].append((bits, tuple(row - first for row in option)))
            reach = max(reach, option[-1] + 1)
            begun += 1
        segment = _segment(tuple(map(tuple, starts)), reach - first)
        groups = [size + group for _, group in options[first_option:begun]]
        # The zero at the end is the time of a place in a cut; here it makes the times a tuple.
        picks = (*rows[first:reach], *groups, -1)
        parts.append(_Part(segment, itemgetter(*picks), first_option))
    return parts


# Equal segments are one, so that what is known of one is known of all.
_segment = lru_cache(maxsize=1 << 12)(Segment)


def _borders(count: int, options: Sequence[tuple[int, ...]]) -> list[int]:
    """The rows at which a new segment begins: those that the fewest options cross.

    They follow from what is near, so that structure that repeats has segments that repeat.
    """
    crossing = [0] * (count + 1)
    for option in options:
        crossing[option[0] + 1] += 1
        crossing[option[-1] + 1] -= 1
    crossing = list(accumulate(crossing))
    borders = []
    last = 0
    for row in range(NEIGHBOURS + 1, count - NEIGHBOURS):
        before = min(crossing[row - NEIGHBOURS : row])
        after = min(crossing[row + 1 : row + NEIGHBOURS + 1])
        narrow = before > crossing[row] <= after
        if (narrow or row - last >= LONGEST_SEGMENT) and crossing[row] <= MOST_CROSSING:
            borders.append(row)
            last = row
    return borders


def cheapest_groups(shape: ComponentShape, times_us: tuple[float, ...]) -> ComponentCover:
    """The cheapest cover of the component.

    `times_us` holds the time of each block of the shape in microseconds: zero for a layer that
    doesn't count, infinite for a block without a time. A group without a time can't be chosen; a
    layer without one is missing unless a group covers it. The cheapest cover has the fewest
    missing layers, and among such covers the least time. Of covers that cost the same, it is the
    one in which the last layer is alone or in an earlier group, and so on up to the first layer.
    """
    find = _remembered if len(times_us) <= REMEMBERED_BLOCKS else _cheapest
    return find(shape, times_us)


def _cheapest(shape: ComponentShape, times_us: tuple[float, ...]) -> ComponentCover:
    times = (*times_us, 0.0)
    table: Table = ((0, 0),)
    passed = []
    advance = _advance if len(shape.parts) == 1 else _advance_remembered
    for segment, pick, _ in shape.parts:
        passed.append(advance(segment, pick(times), table))
        table = passed[-1].table
    chosen = []
    state = 0
    for part, segment_passed in zip(reversed(shape.parts), reversed(passed), strict=True):
        state, options = segment_passed.traces[state]
        chosen += [part.first_option + option for option in options]
    gap_us = 0.0
    if not all(step.complete for step in passed):
        chosen, gap_us = _packed(shape, times, tuple(chosen))
    return ComponentCover(tuple([shape.options[option][1] for option in chosen]), gap_us)


# A measurement changes few of a model's components; the others are looked up here.
_remembered = lru_cache(maxsize=1 << 16)(_cheapest)


class _Passed(NamedTuple):
    """The table after a segment, how it came about, and whether no set was left out on the way."""

    table: Table
    traces: Traces
    complete: bool


def _advance(segment: Segment, times_us: tuple[float, ...], table: Table) -> _Passed:
    """Passes over a segment. An option is taken only where it costs less than its rows alone."""
    costs = [_cost(us) for us in times_us[: segment.reach]]
    option = 0
    complete = True
    states: dict[int, tuple[int, int, _Link]] = {
        bits: (cost, index, None) for index, (bits, cost) in enumerate(table)
    }
    for row, starting in enumerate(segment.starts):
        cheaper = []
        for bits, rows in starting:
            us = times_us[segment.reach + option]
            if us < inf and (cost := _cost(us)) < sum([costs[covered_row] for covered_row in rows]):
                cheaper.append((bits, cost, option))
            option += 1
        alone = costs[row]
        following: dict[int, tuple[int, int, _Link]] = {}
        for covered, (cost, index, taken) in states.items():
            if covered & 1:
                successors = [(covered >> 1, cost, taken)]
            else:
                successors = [(covered >> 1, cost + alone, taken)]
                for bits, more, of in cheaper:
                    if not covered & bits:
                        successors.append(((covered | bits) >> 1, cost + more, (of, taken)))
            for after, total, links in successors:
                if after in following:
                    if total >= following[after][0]:
                        continue
                    # Sets stay in the order in which their covers were found.
                    del following[after]
                following[after] = total, index, links
        states = following
        if len(states) > MOST_STATES:
            states = _promising(states, costs[row + 1 :])
            complete = False
    least = min(cost for cost, _, _ in states.values())
    return _Passed(
        tuple([(bits, cost - least) for bits, (cost, _, _) in states.items()]),
        tuple([(index, _unlinked(taken)) for _, index, taken in states.values()]),
        complete,
    )


# A measurement changes few of a large component's segments; the others are looked up here.
_advance_remembered = lru_cache(maxsize=1 << 13)(_advance)


def _promising(
    states: dict[int, tuple[int, int, _Link]], costs: Sequence[int]
) -> dict[int, tuple[int, int, _Link]]:
    """The states that cost least, less what the rows that they cover already would cost alone."""

    def promise(item: tuple[int, tuple[int, int, _Link]]) -> int:
        bits, (cost, _, _) = item
        return cost - sum(of for row, of in enumerate(costs) if bits >> row & 1)

    return dict(sorted(states.items(), key=promise)[:MOST_STATES])


def _cost(us: float) -> int:
    return MISSING if us == inf else round(us * UNIT)


def _unlinked(taken: _Link) -> tuple[int, ...]:
    options = []
    while taken:
        option, taken = taken
        options.append(option)
    return tuple(options)


@lru_cache(maxsize=256)
def _packed(
    shape: ComponentShape, times_us: tuple[float, ...], known: tuple[int, ...]
) -> tuple[list[int], float]:
    """The options in the cheapest cover, where a full pass would take too long, and the gap.
    `known` are those in some cover.
    """
    alone = [times_us[layer] for layer in shape.rows]
    rows = [rows for rows, _ in shape.options]
    times = [times_us[shape.size + group] for _, group in shape.options]
    return cheapest_packing(alone, rows, times, known)
