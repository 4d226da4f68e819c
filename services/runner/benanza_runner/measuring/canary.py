"""A fixed piece of work that is timed now and then: when its time drifts, so do all others."""

from collections.abc import Callable

EVERY = 10
TOLERANCE = 0.03


class Canary:
    """Times the same work every `every` jobs, from the first on.

    `measure` gives its median in microseconds.
    """

    def __init__(self, measure: Callable[[], float], every: int = EVERY) -> None:
        self._measure = measure
        self._every = every
        self._jobs = 0
        self.first_us = 0.0
        self.last_us = 0.0

    def job(self) -> None:
        """Call before each job."""
        if self._jobs % self._every == 0:
            self.last_us = self._measure()
            self.first_us = self.first_us or self.last_us
        self._jobs += 1

    @property
    def drift(self) -> float:
        """How much longer the work took last than at first, as a share; 0 before any job."""
        return self.last_us / self.first_us - 1 if self.first_us else 0.0

    @property
    def drifted(self) -> bool:
        """Whether that is more than noise."""
        return abs(self.drift) > TOLERANCE
