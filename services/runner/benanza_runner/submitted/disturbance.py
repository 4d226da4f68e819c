"""Changes inputs between any two calls of a kernel, so that no result can be used twice.

The referee and the worker make the same changes, from the same seed. The referee so knows what the
inputs have to be after some calls, and sees whether the kernel wrote to them.
"""

from collections.abc import Sequence

import numpy as np

from benanza_runner.arrays import Array

BLOCK = 4096
"""So many elements are changed at a time, at most: that takes less than a microsecond."""

SHARE = 16
"""And at most one in so many, so that what is read stays where it is in the caches."""

PLACES, SOURCES = 251, 256
"""Into how many places, and how many blocks, are written in turn. Neither divides the other, so
that it takes 64,256 changes until an input may be as it was.
"""


def block_of(size: int) -> int:
    """How many elements of so many are changed at a time, at least one."""
    return max(1, min(BLOCK, size // SHARE))


def pool_size(size: int) -> int:
    """How many elements there have to be to change an input of so many."""
    return block_of(size) + SOURCES - 1


class Disturbance:
    """Changes these arrays in turn, with elements of their pools, which have the same types."""

    def __init__(self, arrays: Sequence[Array], pools: Sequence[Array], seed: int) -> None:
        random = np.random.default_rng(seed)
        self._copy = np.copyto
        self._pairs: list[tuple[list[Array], list[Array]]] = []
        for array, pool in zip(arrays, pools, strict=True):
            flat, block = array.reshape(-1), block_of(array.size)
            starts = random.integers(0, array.size - block + 1, PLACES)
            places = [flat[start : start + block] for start in starts.tolist()]
            sources = [pool[start : start + block] for start in range(SOURCES)]
            self._pairs.append((places, sources))
        self._count = 0

    def step(self) -> None:
        """Makes the next change."""
        turn, which = divmod(self._count, len(self._pairs))
        self._count += 1
        places, sources = self._pairs[which]
        self._copy(places[turn % PLACES], sources[turn % SOURCES])
