"""Changes all inputs between any two calls of a kernel, so that no result, nor a part of one, can
be used twice.

The referee and the worker make the same changes, from the same seed. The referee so knows what the
inputs have to be after some calls, and sees whether the kernel wrote to them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benanza_runner.arrays import Array

BLOCK = 1 << 16
"""Inputs are changed in blocks of so many elements, whose pool so stays in the caches."""

SHIFTS = 4096
"""A block is elements of the input's pool, from one of so many places on: each element so changes
its place by an amount that nobody knows before.
"""

PLACES, PATTERNS = 251, 256
"""So many of these places, and so many patterns of bits, are taken in turn. Neither divides the
other, so that it takes 64,256 changes until an input may be as it was.
"""

CHANGED_BITS = {"float64": 48, "float32": 19, "float16": 6, "bfloat16": 3}
"""The last bits of the mantissa, of which a pattern negates some in all elements alike, by the type
of floats. Four bits of the mantissa stay: an element stays within a sixteenth of what it was drawn
as, and what was computed of it before is off by several hundredths.
"""

_Change = Callable[[int], None]


def pool_size(size: int) -> int:
    """How many elements there have to be to change an input of so many."""
    return min(size, BLOCK) + SHIFTS - 1


class BlockChanges(NamedTuple):
    """How a block of an input changes, turn by turn: from which place in the pool on it is, and
    which bits are negated. `patterns` are unsigned numbers as wide as the elements; None where
    elements keep their bits.
    """

    begin: int
    starts: list[int]
    patterns: Array | None


class Disturbance:
    """Changes all these arrays at a time, to elements of their pools, which have the same types.
    With None in the place of a pool an array stays as it is.
    """

    def __init__(self, arrays: Sequence[Array], pools: Sequence[Array | None], seed: int) -> None:
        random = np.random.default_rng(seed)
        self._changes = [
            _change(array.reshape(-1)[block.begin :][:BLOCK], pool, block)
            for array, pool in zip(arrays, pools, strict=True)
            if pool is not None
            for block in block_changes(array.size, array.dtype, random)
        ]
        self._count = 0

    def step(self) -> None:
        """Makes the next change."""
        self._count += 1
        for change in self._changes:
            change(self._count)

    def skip(self, steps: int) -> None:
        """Makes so many changes, of which only the last one counts."""
        self._count += steps - 1
        self.step()


def block_changes(
    size: int, dtype: np.dtype[Any], random: np.random.Generator
) -> Iterator[BlockChanges]:
    """How the blocks of an input of so many elements change."""
    bits = CHANGED_BITS.get(dtype.name)
    unsigned: np.dtype[Any] = np.dtype(f"uint{8 * dtype.itemsize}")
    for begin in range(0, size, BLOCK):
        starts = random.integers(0, SHIFTS, PLACES).tolist()
        patterns = random.integers(0, 1 << bits, PATTERNS).astype(unsigned) if bits else None
        yield BlockChanges(begin, starts, patterns)


def _change(block: Array, pool: Array, changes: BlockChanges) -> _Change:
    if changes.patterns is None:
        places = [pool[start : start + block.size] for start in changes.starts]
        copy = np.copyto
        return lambda count: copy(block, places[count % PLACES])
    drawn, result = pool.view(changes.patterns.dtype), block.view(changes.patterns.dtype)
    places = [drawn[start : start + block.size] for start in changes.starts]
    patterns = list(changes.patterns)
    negate = np.bitwise_xor

    def change(count: int) -> None:
        negate(places[count % PLACES], patterns[count % PATTERNS], out=result)

    return change
