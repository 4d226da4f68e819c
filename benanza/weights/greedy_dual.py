"""Which of the things held to give up first: GreedyDual-Size.

Each has a worth: what it costs to bring back, by the byte, above a floor. What is used gets its
worth anew; what is given up is the thing of the least worth, which becomes the floor. So what isn't
used any more falls behind, the sooner the cheaper it is. With equal costs by the byte that is least
recently used.

P. Cao and S. Irani, Cost-Aware WWW Proxy Caching Algorithms, USITS 1997.
"""

from collections.abc import Iterable
from typing import Generic, TypeVar

K = TypeVar("K")


class GreedyDual(Generic[K]):
    """The worths of what is held, by key."""

    def __init__(self) -> None:
        self._floor = 0.0
        self._worths: dict[K, float] = {}

    def use(self, key: K, cost_s: float, size: int) -> None:
        """It is used now. It has so many bytes, and takes so many seconds to bring back."""
        # The last of those of one worth is the one that was used last.
        self._worths.pop(key, None)
        self._worths[key] = self._floor + cost_s / max(size, 1)

    def least(self, among: Iterable[K]) -> K | None:
        """What of these to give up first, None if they are none."""
        allowed = set(among)
        held = [key for key in self._worths if key in allowed]
        return min(held, key=self._worths.__getitem__, default=None)

    def give_up(self, key: K) -> None:
        """It isn't held any more."""
        self._floor = max(self._floor, self._worths.pop(key))
