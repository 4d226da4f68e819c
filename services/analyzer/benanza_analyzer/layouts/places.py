"""The layers and groups of a model at their places, with the bits by which a pass over the model
knows what was chosen.

A pass goes from the last position to the first. Bits are relative to the position that it is at:
each position has a few, and those of earlier ones are higher. One says whether a group that was
chosen covers the position; one for each layout, whether its value is wanted in that layout; and one
for each layout but the first, whether what a view makes of it is converted again.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_analyzer.models.architecture import Architecture
from benanza_schemas.layer import Accounting


class Bits(NamedTuple):
    """The bits of a position where there are so many layouts. Bit 0 is that of a covered one."""

    layouts: int

    @property
    def each(self) -> int:
        """How many bits a position has."""
        return 2 * self.layouts

    @property
    def all_of_one(self) -> int:
        """All bits of the first position."""
        return (1 << self.each) - 1

    def wanted(self, layout: int) -> int:
        """The bit of a value that is wanted in this layout."""
        return 1 + layout

    def again(self, layout: int) -> int:
        """The bit of a value of which a view is converted between the first layout and this one."""
        return self.layouts + layout

    def of(self, positions: int, which: Iterable[int]) -> int:
        """These bits of the positions whose bits 0 are set."""
        found = 0
        for bit in which:
            found |= positions << bit
        return found

    def at(self, end: int, positions: Iterable[int]) -> int:
        """The bits 0 of these positions, seen from the position `end`."""
        found = 0
        for position in positions:
            found |= 1 << (end - position) * self.each
        return found


class PlacedBlock(NamedTuple):
    """A layer, or a group in place of its layers, which are at `positions`, ascending.

    Bits 0 as seen from the last of these: `members`; `sources`, which its members read from
    others; `early`, the members whose values others read before the last position; and `shared`,
    the sources that are early in some group. `kept` are all bits but those of its members.
    `foreign` are the bits of members, for each layout, that ask for another one. `leaving` are the
    positions of members that others read.
    """

    positions: tuple[int, ...]
    members: int
    sources: int
    early: int
    shared: int
    kept: int
    foreign: tuple[int, ...]
    leaving: tuple[int, ...]


class PlacedBlocks(NamedTuple):
    """The layers of a model by position, then all its groups.

    `numbers` holds the number of each. `ending` holds for each position the places that end there.
    `read` and `readers` hold for each position those that it reads, and that read it. `early` are
    the positions that are early in some group. `reached` holds for each position the earliest one
    that it or a later one reads, or shares a group with: bits of no earlier one are set there.
    """

    bits: Bits
    places: tuple[PlacedBlock, ...]
    numbers: npt.NDArray[np.int32]
    ending: tuple[tuple[int, ...], ...]
    read: tuple[tuple[int, ...], ...]
    readers: tuple[tuple[int, ...], ...]
    early: frozenset[int]
    reached: tuple[int, ...]


@lru_cache(maxsize=64)
def places_of(model: Architecture, accounting: Accounting, layouts: int) -> PlacedBlocks:
    """All layers and groups of a model at their places."""
    counted = model.counted(accounting)
    size = len(counted.numbers)
    read: list[list[int]] = [[] for _ in range(size)]
    readers: list[list[int]] = [[] for _ in range(size)]
    for source, target in zip(model.sources.tolist(), model.targets.tolist(), strict=True):
        read[target].append(source)
        readers[source].append(target)
    groups: list[tuple[int, ...]] = []
    blocks: list[int] = []
    for shape, of_blocks, occurrences in counted.components:
        first = of_blocks.start + shape.size
        for members in occurrences:
            groups += members
            blocks += range(first, first + len(members))
    early_of = [_early(positions, readers) for positions in groups]
    early = frozenset[int]().union(*early_of)
    bits = Bits(layouts)
    places = [
        _place(bits, positions, read, readers, of, early)
        for positions, of in (
            *(((position,), ()) for position in range(size)),
            *zip(groups, early_of, strict=True),
        )
    ]
    ending: list[list[int]] = [[] for _ in range(size)]
    for index, place in enumerate(places):
        ending[place.positions[-1]].append(index)
    reached = list(range(size))
    for end in range(size - 1, -1, -1):
        firsts = [places[index].positions[0] for index in ending[end]]
        reads = [
            source for index in ending[end] for p in places[index].positions for source in read[p]
        ]
        reached[end] = min([*reached[end : end + 2], *firsts, *reads])
    return PlacedBlocks(
        bits,
        tuple(places),
        np.concatenate((counted.numbers, counted.block_numbers[blocks])),
        tuple(map(tuple, ending)),
        tuple(map(tuple, read)),
        tuple(map(tuple, readers)),
        early,
        tuple(reached),
    )


def _early(positions: tuple[int, ...], readers: Sequence[Sequence[int]]) -> tuple[int, ...]:
    inside = set(positions)
    last = positions[-1]
    return tuple(
        member
        for member in positions
        if any(reader < last and reader not in inside for reader in readers[member])
    )


def _place(
    bits: Bits,
    positions: tuple[int, ...],
    read: Sequence[Sequence[int]],
    readers: Sequence[Sequence[int]],
    early: tuple[int, ...],
    early_in_some: frozenset[int],
) -> PlacedBlock:
    inside = set(positions)
    sources = {source for position in positions for source in read[position]} - inside
    end = positions[-1]
    members = bits.at(end, positions)
    again = bits.of(members, map(bits.again, range(1, bits.layouts)))
    foreign = [
        again | bits.of(members, (bits.wanted(j) for j in range(bits.layouts) if j != layout))
        for layout in range(bits.layouts)
    ]
    return PlacedBlock(
        positions,
        members,
        bits.at(end, sources),
        bits.at(end, early),
        bits.at(end, sources & early_in_some),
        ~(members * bits.all_of_one),
        tuple(foreign),
        tuple(p for p in positions if not inside.issuperset(readers[p])),
    )
