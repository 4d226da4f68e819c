"""Gives out places in a block of memory, and takes them back: first fit, lowest place first."""

from bisect import insort

ALIGNMENT = 512
"""In bytes, as CUDA aligns its own allocations."""


class Arena:
    """Gives out offsets. It grows as needed; `size` is how many bytes it takes in all.

    The lowest free place that is wide enough is taken, so that freed memory is soon used again
    while it is still in a cache. The allocators of frameworks do so, too.
    """

    def __init__(self) -> None:
        self.size = 0
        self._free: list[tuple[int, int]] = []
        self._taken: dict[int, int] = {}

    def take(self, size: int, *, unused: bool = False) -> int:
        """The offset of so many bytes. If they are to be `unused`, nobody had them before."""
        size = max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)
        for index, (start, end) in enumerate(() if unused else self._free):
            if end - start >= size:
                self._free[index : index + 1] = [(start + size, end)] if end - start > size else []
                self._taken[start] = size
                return start
        start = self.size
        if not unused and self._free and self._free[-1][1] == self.size:
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
