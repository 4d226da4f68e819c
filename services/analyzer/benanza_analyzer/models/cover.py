"""The cheapest exact cover of a component: each layer alone, or in one of its groups.

A component is a tree of the layers in overlapping groups: each layer's parent is its nearest
post-dominator (see `post_dominators`), and a group is a connected part of the tree. So the
cheapest cover of the subtree below a layer is either the layer alone or a group with this layer on
top, together with the cheapest covers of the subtrees that hang from it. Each group is considered
once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import inf

REMEMBERED_BLOCKS = 32
"""Covers are cached for components of at most so many blocks, which limits the memory."""


@dataclass(frozen=True, eq=False, slots=True)
class ComponentShape:
    """The tree of a component's layers, and its groups in the tree.

    Layers are numbered from 0, each after those below it; the last is the top. Block `b` is the
    layer `b` alone for `b < size`, block `size + g` is the group `g`. `choices` holds for each
    layer the blocks with this layer on top, itself first, each with the layers that hang from it.
    """

    size: int
    choices: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]


@lru_cache(maxsize=1 << 12)
def component_shape(above: tuple[int, ...], groups: tuple[tuple[int, ...], ...]) -> ComponentShape:
    """The shape of a component; components of the same shape share it.

    `above` holds the parent of each layer but the last. `groups` hold layers, ascending, and are
    connected parts of the tree.
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
    return ComponentShape(size, tuple(map(tuple, choices)))


def cheapest_groups(shape: ComponentShape, times_us: tuple[float, ...]) -> tuple[int, ...]:
    """The indices of the groups in the cheapest cover; all other layers are blocks of their own.

    `times_us` holds the time of each block of the shape in microseconds: zero for a layer that
    doesn't count, infinite for a block without a time. A group without a time can't be chosen; a
    layer without one is missing unless a group covers it. The cheapest cover has the fewest
    missing layers, and among such covers the least time.
    """
    find = _remembered if len(times_us) <= REMEMBERED_BLOCKS else _cheapest
    return find(shape, times_us)


def _cheapest(shape: ComponentShape, times_us: tuple[float, ...]) -> tuple[int, ...]:
    costs: list[tuple[int, float]] = []
    chosen: list[tuple[int, tuple[int, ...]]] = []
    for choices in shape.choices:
        best = None
        for block, hanging in choices:
            missing, time = 0, times_us[block]
            if time == inf:
                if block >= shape.size:
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
    return tuple(_groups(shape, chosen))


# A measurement changes few of a model's components; the others are looked up here.
_remembered = lru_cache(maxsize=1 << 16)(_cheapest)


def _groups(shape: ComponentShape, chosen: list[tuple[int, tuple[int, ...]]]) -> Iterator[int]:
    """The groups among the chosen blocks, from the top down."""
    pending = [shape.size - 1]
    while pending:
        block, hanging = chosen[pending.pop()]
        pending.extend(hanging)
        if block >= shape.size:
            yield block - shape.size
