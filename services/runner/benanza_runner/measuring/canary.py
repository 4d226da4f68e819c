"""A fixed piece of work that is timed now and then: when it takes longer, so does all else."""

from collections.abc import Callable

TOLERANCE = 0.08


class Canary:
    """Times the same work at the start and whenever it is looked at.

    `measure` says in microseconds what it takes.
    """

    def __init__(self, measure: Callable[[], float]) -> None:
        self._measure = measure
        self._first_us = self.last_us = measure()

    def look(self) -> bool:
        """Whether the work takes longer than at the start, by more than noise."""
        self.last_us = self._measure()
        return self.last_us > (1 + TOLERANCE) * self._first_us
