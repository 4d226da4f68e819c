"""A fixed piece of work that is timed now and then: when it gets slower, so does all else."""

from collections.abc import Callable

TOLERANCE = 0.08
"""How much longer the work may take than at first before the process counts as slow."""


class SlowdownDetector:
    """Times the same work when it is made, and again at each `check`.

    `measure` does the work and returns how long it took, in microseconds; noise makes up to
    `tolerance` of it. `last_us` is the latest of these times.
    """

    def __init__(self, measure: Callable[[], float], tolerance: float = TOLERANCE) -> None:
        self._measure = measure
        self._tolerance = tolerance
        self._first_us = self.last_us = measure()

    def check(self) -> bool:
        """Whether the work takes longer now than at first, by more than noise."""
        self.last_us = self._measure()
        return self.last_us > (1 + self._tolerance) * self._first_us
