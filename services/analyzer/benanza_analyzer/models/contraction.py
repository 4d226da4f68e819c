"""The graph that is left where each block of a cover is one node: its order, and its cycles.

A block is represented by its last position. Where each block is read only after that, the blocks
are in topological order by their last positions. A group with several results may be read before.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int32]


class BlockOrder(NamedTuple):
    """`ranks` holds for the last position of each block its place in a topological order: of
    several orders, the one with the earlier positions first. `cycles` holds sets of blocks of
    several layers that can't be in a cover together; the ranks mean nothing then.
    """

    ranks: Positions
    cycles: tuple[tuple[int, ...], ...]


def block_order(sources: Positions, targets: Positions, ends: Positions) -> BlockOrder:
    """The order of the blocks of a cover.

    The layers' edges lead from `sources`, ascending, to `targets`. `ends` holds for each position
    the last one of its block.
    """
    ranks = np.arange(len(ends), dtype=np.int32)
    backward = sources[ends[sources] > ends[targets]]
    if not backward.size:
        return BlockOrder(ranks, ())
    # No block reaches from one section into another, and all edges between sections lead forward.
    after = np.flatnonzero(np.maximum.accumulate(ends) == ranks) + 1
    cycles: list[tuple[int, ...]] = []
    for section in np.unique(np.searchsorted(after, backward, side="right")).tolist():
        first, end = (int(after[section - 1]) if section else 0), int(after[section])
        inside = slice(*np.searchsorted(sources, (first, end)).tolist())
        edges = targets[inside] < end
        ordered, section_cycles = _section_order(
            (ends[first:end] - first).tobytes(),
            (sources[inside][edges] - first).tobytes(),
            (targets[inside][edges] - first).tobytes(),
        )
        if section_cycles:
            cycles += [tuple(first + block for block in cycle) for cycle in section_cycles]
        else:
            ranks[first + np.array(ordered)] = np.arange(first, first + len(ordered))
    return BlockOrder(ranks, tuple(cycles))


@lru_cache(maxsize=1 << 10)
def _section_order(
    ends_: bytes, sources_: bytes, targets_: bytes
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The blocks of a section in order, and if there is none, cycles. The arguments are the bytes
    of arrays like those of `block_order`.
    """
    ends, sources, targets = (
        np.frombuffer(array_bytes, np.int32).tolist() for array_bytes in (ends_, sources_, targets_)
    )
    readers: dict[int, set[int]] = {end: set() for end in ends}
    for source, target in zip(sources, targets, strict=True):
        if ends[source] != ends[target]:
            readers[ends[source]].add(ends[target])
    awaited = dict.fromkeys(readers, 0)
    for block_readers in readers.values():
        for reader in block_readers:
            awaited[reader] += 1
    ready = [block for block, count in awaited.items() if not count]
    heapify(ready)
    order = []
    while ready:
        block = heappop(ready)
        order.append(block)
        for reader in readers.pop(block):
            awaited[reader] -= 1
            if not awaited[reader]:
                heappush(ready, reader)
    several = {end for position, end in enumerate(ends) if position != end}
    return tuple(order), tuple(_cycles(readers, several))


def _cycles(readers: Mapping[int, set[int]], several: set[int]) -> Iterator[tuple[int, ...]]:
    """Blocks of several layers that are in a cycle, as few as there are; one cycle for each of
    them that is in no cycle before. Every cycle has at least two of them.
    """
    known: set[int] = set()
    for block in sorted(several & readers.keys()):
        if block not in known and (cycle := _shortest_cycle(block, readers, several)):
            known.update(cycle)
            yield cycle


def _shortest_cycle(
    block: int, readers: Mapping[int, set[int]], several: set[int]
) -> tuple[int, ...]:
    """The blocks of several layers on the cycle through this block that has the fewest of them;
    none if there is no cycle.
    """
    before: dict[int, int] = {}
    distances = {block: 0}
    pending = deque([block])
    while pending:
        current = pending.popleft()
        for reader in sorted(readers[current]):
            if reader == block:
                path = [current]
                while path[-1] != block:
                    path.append(before[path[-1]])
                return tuple(sorted(several.intersection(path)))
            further = reader in several
            if distances[current] + further < distances.get(reader, len(readers)):
                distances[reader] = distances[current] + further
                before[reader] = current
                # What is behind one more block of several layers comes later.
                (pending.append if further else pending.appendleft)(reader)
    return ()
