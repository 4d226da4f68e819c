"""Blocks of a model: calls that repeat one after the other, and what names say of nesting."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

LEAST_TIMES = 3
"""Two of a kind may stand beside each other by chance."""

MOST_IN_BLOCK = 100


class Block(NamedTuple):
    """From position `start` on, `length` calls that come `times` times one after the other."""

    start: int
    length: int
    times: int


def repeated_blocks(calls: Sequence[Hashable]) -> list[Block]:
    """The blocks of a sequence of calls, from the first on, each as long and as short as it can be:
    of those that begin at one place the one that covers most, and of these the shortest.
    """
    blocks = []
    start = 0
    while start < len(calls):
        found = max(
            (
                Block(start, length, _times(calls, start, length))
                for length in range(1, min(MOST_IN_BLOCK, (len(calls) - start) // 2) + 1)
            ),
            key=lambda block: (block.length * block.times, -block.length),
            default=Block(start, 1, 1),
        )
        if found.times >= LEAST_TIMES:
            blocks.append(found)
            start += found.length * found.times
        else:
            start += 1
    return blocks


def _times(calls: Sequence[Hashable], start: int, length: int) -> int:
    times = 1
    while (
        calls[start : start + length]
        == calls[start + times * length : start + (times + 1) * length]
    ):
        times += 1
    return times


def paths(names: Sequence[str], calls: Sequence[Hashable]) -> list[tuple[str, ...]]:
    """What each call is nested in, from the outside in: by the slashes in the name of its first
    layer; where no name has any, the block that it is a part of.
    """
    nested = [tuple(filter(None, name.split("/")[:-1])) for name in names]
    if any(nested):
        return nested
    found: list[tuple[str, ...]] = [()] * len(calls)
    blocks = repeated_blocks(calls)
    for number, (start, length, times) in enumerate(blocks, 1):
        name = "block" if len(blocks) == 1 else f"block {number}:"
        for time in range(times):
            for position in range(start + time * length, start + (time + 1) * length):
                found[position] = (f"{name} {time + 1} of {times}",)
    return found
