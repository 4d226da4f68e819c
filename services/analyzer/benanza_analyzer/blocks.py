"""The cheapest cover of a model, as the blocks that it consists of.

The components of the model are covered one by one. Groups of several components, or of one, may
need each other's results in a circle. Such components are joined and covered again, with a cut:
not all of these groups together; until there is no circle. What is cheapest then is the cheapest
of all covers: the cuts forbid nothing else.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_analyzer.models.architecture import Architecture, Counted
from benanza_analyzer.models.catalogue import NOTHING
from benanza_analyzer.models.contraction import Positions, block_order
from benanza_analyzer.models.cover import cheapest_groups, component_shape

Place = tuple[int, int]
"""A component, and one of its places."""


class Blocks(NamedTuple):
    """A cover of a model: each block is a layer, or a group in place of its layers.

    `numbers` holds a block's number at its last position and `NOTHING` elsewhere. `ranks` holds
    there the place of the block in a topological order. `groups` holds the positions of each block
    of several layers, by the last of them. The edges between blocks lead from `sources` to
    `targets`, which are last positions as well, in topological order of the sources. No cover
    takes more than `gap_us` less: zero where that is proven, infinite where another cover might
    leave fewer layers missing.
    """

    numbers: Positions
    ranks: Positions
    groups: dict[int, tuple[int, ...]]
    sources: Positions
    targets: Positions
    gap_us: float

    def ordered(self, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
        """The last positions of these blocks, in topological order."""
        ends = np.flatnonzero(chosen)
        return ends[np.argsort(self.ranks[ends], kind="stable")]


class _Group(NamedTuple):
    """A group at a place: its positions, and where its number is in `Counted.block_numbers`."""

    place: Place
    positions: tuple[int, ...]
    block: int


@dataclass
class _Joint:
    """Components at some of their places that are covered together, because of the cuts."""

    places: set[Place]
    cuts: list[tuple[_Group, ...]]


def cheapest_blocks(
    model: Architecture, counted: Counted, fusion: bool, times_us: npt.NDArray[np.float64]
) -> Blocks:
    """The cheapest cover by layers and, with fusion, groups. `times_us` are those of
    `counted.block_numbers`.
    """
    times: list[float] = times_us.tolist()
    separate, gaps = _separately(counted, times) if fusion else ([], {})
    joints: list[_Joint] = []
    while True:
        joined = set().union(*(joint.places for joint in joints))
        groups = [group for group in separate if group.place not in joined] if joined else separate
        gap_us = sum(gap_us for place, gap_us in gaps.items() if place not in joined)
        for joint in joints:
            more, more_us = _together(counted, joint, times)
            groups = groups + more
            gap_us += more_us
        numbers = counted.block_numbers[[group.block for group in groups]]
        positions = [group.positions for group in groups]
        blocks, cycles = contracted(model, counted, positions, numbers, gap_us)
        if not cycles:
            return blocks
        by_end = {group.positions[-1]: group for group in groups}
        for cycle in cycles:
            joints = _cut(joints, tuple(by_end[end] for end in cycle))


def _separately(
    counted: Counted, times: Sequence[float]
) -> tuple[list[_Group], dict[Place, float]]:
    """The groups in the cheapest cover of each component, and the gaps that aren't zero."""
    cheapest = []
    gaps = {}
    for index, (shape, blocks, places) in enumerate(counted.components):
        chosen, gap_us = cheapest_groups(shape, tuple(times[blocks]))
        at_places = [((index, occurrence), groups) for occurrence, groups in enumerate(places)]
        for group in chosen:
            block = blocks.start + shape.size + group
            cheapest += [_Group(place, groups[group], block) for place, groups in at_places]
        if gap_us:
            gaps.update({place: gap_us for place, _ in at_places})
    return cheapest, gaps


def _together(
    counted: Counted, joint: _Joint, times: Sequence[float]
) -> tuple[list[_Group], float]:
    """The groups in the cheapest cover of these components with these cuts, and the gap."""
    layers: dict[int, int] = {}
    groups: list[_Group] = []
    for place in sorted(joint.places):
        index, occurrence = place
        shape, blocks, places = counted.components[index]
        members = sorted({position for group in places[occurrence] for position in group})
        layers.update(zip(members, range(blocks.start, blocks.stop), strict=False))
        first = blocks.start + shape.size
        groups += [_Group(place, group, first + n) for n, group in enumerate(places[occurrence])]
    local = {position: n for n, position in enumerate(sorted(layers))}
    number = {group: n for n, group in enumerate(groups)}
    shape = component_shape(
        len(layers),
        tuple(tuple(local[position] for position in group.positions) for group in groups),
        tuple(tuple(number[group] for group in cut) for cut in joint.cuts),
    )
    of_layers = [times[layers[position]] for position in sorted(layers)]
    of_groups = [times[group.block] for group in groups]
    chosen, gap_us = cheapest_groups(shape, (*of_layers, *of_groups))
    return [groups[group] for group in chosen], gap_us


def _cut(joints: Iterable[_Joint], cut: tuple[_Group, ...]) -> list[_Joint]:
    """The joints with one more cut, which joins all those that it touches."""
    made = _Joint({group.place for group in cut}, [cut])
    others = []
    for joint in joints:
        if joint.places.isdisjoint(made.places):
            others.append(joint)
        else:
            made = _Joint(made.places | joint.places, [*joint.cuts, *made.cuts])
    return [*others, made]


def contracted(
    model: Architecture,
    counted: Counted,
    groups: Sequence[tuple[int, ...]],
    group_numbers: Positions,
    gap_us: float,
) -> tuple[Blocks, tuple[tuple[int, ...], ...]]:
    """The cover with these groups, given by their positions and numbers, and the circles that are
    in it: sets of groups, by their last positions, that can't be in a cover together.
    """
    numbers = counted.numbers.copy()
    ends = np.arange(len(numbers), dtype=np.int32)
    if groups:
        lasts = [positions[-1] for positions in groups]
        members = [position for positions in groups for position in positions]
        numbers[members] = NOTHING
        numbers[lasts] = group_numbers
        ends[members] = np.repeat(lasts, [len(positions) for positions in groups])
    ranks, cycles = block_order(model.sources, model.targets, ends)
    sources, targets = ends[model.sources], ends[model.targets]
    between = sources != targets
    sources, targets = sources[between], targets[between]
    order = np.argsort(ranks[sources], kind="stable")
    by_end = {positions[-1]: positions for positions in groups}
    return Blocks(numbers, ranks, by_end, sources[order], targets[order], gap_us), cycles
