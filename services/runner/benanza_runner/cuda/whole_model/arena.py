"""Places in a block of memory, given out and taken back: the lowest one that is wide enough."""

from bisect import insort

ALIGNMENT = 512
"""Bytes; what CUDA's own allocations are aligned to."""


class Arena:
    """Hands out offsets. It grows as needed: `size` is how many bytes it takes in all.

    As the lowest free place is taken, what was freed last is soon used again: so do the
    allocators of frameworks, and memory that is still in a cache is written anew.
    """

    def __init__(self) -> None:
        self.size = 0
        self._free: list[tuple[int, int]] = []
        self._taken: dict[int, int] = {}

    def take(self, size: int) -> int:
        """The offset of so many bytes."""
        size = max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)
        for index, (start, end) in enumerate(self._free):
            if end - start >= size:
                self._free[index : index + 1] = [(start + size, end)] if end - start > size else []
                self._taken[start] = size
                return start
        start = self.size
        if self._free and self._free[-1][1] == self.size:
            start, _ = self._free.pop()
        self.size = start + size
        self._taken[start] = size
        return start

    def give_back(self, offset: int) -> None:
        """Frees what `take` gave out at this offset."""
        insort(self._free, (offset, offset + self._taken.pop(offset)))
        joined: list[tuple[int, int]] = []
        for start, end in self._free:
            if joined and joined[-1][1] == start:
                joined[-1] = joined[-1][0], end
            else:
                joined.append((start, end))
        self._free = joined
