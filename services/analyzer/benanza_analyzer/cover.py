"""The cheapest exact cover of a component: each layer alone, or in one of its groups.

A component is a tree of the layers that overlapping groups hold: each layer stands below its
nearest post-dominator (see `post_dominators`), and a group is a connected part of the tree.
So the cheapest cover of all that is at or below a layer is either the layer alone, or a group
that has it on top, and below these the cheapest covers of what hangs from them. Each group is
looked at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import inf

REMEMBERED_BLOCKS = 32
"""Covers of components with at most so many blocks are remembered, which bounds the memory."""


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """A component's shape: its tree, and where its groups are in it.

    Layers are counted from 0, each later than those below it; the last is the top. A block is
    what may be taken as one: block `b` below `size` is the layer `b` alone, block `size + g`
    is group `g`. `choices` holds for each layer the blocks that have it on top, itself first,
    each with the layers that hang from it.
    """

    size: int
    choices: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]


@lru_cache(maxsize=1 << 12)
def plan(above: tuple[int, ...], groups: tuple[tuple[int, ...], ...]) -> Plan:
    """The plan of a component; those of the same shape share it.

    `above` holds for each layer, but the last, the one that it stands below. `groups` hold
    layers, ascending, and are connected parts of the tree.
    """
    size = len(above) + 1
    below: list[list[int]] = [[] for _ in range(size)]
    for layer, parent in enumerate(above):
        below[parent].append(layer)
    choices = [[(layer, tuple(below[layer]))] for layer in range(size)]
    for index, group in enumerate(groups):
        inside = set(group)
        hanging = (layer for member in group for layer in below[member] if layer not in inside)
        choices[group[-1]].append((size + index, tuple(hanging)))
    return Plan(size, tuple(map(tuple, choices)))


def cheapest(plan: Plan, times_us: tuple[float, ...]) -> tuple[int, ...]:
    """The groups, as indices, that the cheapest cover takes; all other layers are alone.

    `times_us` holds a time for each block of the plan: zero for a layer that needn't be
    covered, infinite where there is none. A group without a time can't be taken; a layer
    without one is missing when it is left alone. The cheapest cover leaves the fewest layers
    missing, and among those takes the least time.
    """
    find = _remembered if len(times_us) <= REMEMBERED_BLOCKS else _cheapest
    return find(plan, times_us)


def _cheapest(plan: Plan, times_us: tuple[float, ...]) -> tuple[int, ...]:
    costs: list[tuple[int, float]] = []
    chosen: list[tuple[int, tuple[int, ...]]] = []
    for choices in plan.choices:
        best = None
        for block, hanging in choices:
            missing, time = 0, times_us[block]
            if time == inf:
                if block >= plan.size:
                    continue
                missing, time = 1, 0.0
            for layer in hanging:
                missing += costs[layer][0]
                time += costs[layer][1]
            if best is None or (missing, time) < best:
                best, choice = (missing, time), (block, hanging)
        assert best is not None  # A layer may always be left alone.
        costs.append(best)
        chosen.append(choice)
    return tuple(_groups(plan, chosen))


# A measurement changes few of a model's components; the others are looked up here.
_remembered = lru_cache(maxsize=1 << 16)(_cheapest)


def _groups(plan: Plan, chosen: list[tuple[int, tuple[int, ...]]]) -> Iterator[int]:
    """The groups among the blocks chosen, from the top down."""
    pending = [plan.size - 1]
    while pending:
        block, hanging = chosen[pending.pop()]
        pending.extend(hanging)
        if block >= plan.size:
            yield block - plan.size
