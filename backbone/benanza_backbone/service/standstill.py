"""Whether a service does the work that waits for it."""

import time
from collections.abc import Callable, Hashable

from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.status_server import Check

NOT_READY_S = 10.0
"""After this long a service that does nothing is not ready."""

STANDSTILL_S = 30.0
"""After this long it ends itself, so that whoever started it starts another one."""

LONGEST_S = 5.0
"""Seconds that one look adds at most: a turn that took longer has done something, and a container
that was paused could do nothing."""


class StandstillError(BenanzaError):
    """Records wait, Kafka answers, and none was processed for `STANDSTILL_S`.

    What another try in the same process can't be trusted to mend: it ends.
    """


class Standstill:
    """Measures for how long records have waited while none was processed.

    `clock` gives monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked = clock()
        self._done: Hashable = None
        self._waiting = 0
        self._stood_s = 0.0

    def look(self, waiting: int, done: Hashable) -> None:
        """So many records wait now; `done` is another value whenever some were processed.

        To be called every few seconds while the brokers answer. Raises `StandstillError` once
        that has gone on for too long.
        """
        now = self._clock()
        if waiting and self._waiting and done == self._done:
            self._stood_s += min(now - self._looked, LONGEST_S)
        else:
            self._stood_s = 0.0
        self._looked, self._waiting, self._done = now, waiting, done
        if self._stood_s > STANDSTILL_S:
            raise StandstillError(self._what())

    def ready(self) -> Check:
        """Whether what waits is being processed."""
        return self._check(NOT_READY_S)

    def alive(self) -> Check:
        """Whether the process is worth keeping."""
        return self._check(STANDSTILL_S)

    def _check(self, longest_s: float) -> Check:
        if self._stood_s > longest_s:
            return Check("work", False, self._what())
        return Check("work", True, f"{self._waiting:,} waiting records")

    def _what(self) -> str:
        return (
            f"none of {self._waiting:,} waiting records was processed for {self._stood_s:.0f} s "
            "although Kafka answers"
        )
