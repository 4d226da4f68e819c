"""Ends a process that hangs, so that whoever started it starts another one.

Docker restarts a container that ends, and leaves alone one that is merely unhealthy.
"""

import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from threading import Event, Thread

from benanza_backbone.closing import Closing
from benanza_backbone.status_server import Check

HUNG = 1
"""The exit status."""

LOOKS_A_SECOND = 2.0
PATIENCE_S = 30.0

log = logging.getLogger(__name__)


class Watchdog(Closing):
    """Looks at a service's liveness, and ends the process once it was denied for so long.

    From a thread of its own, without waiting for the others: what wasn't committed is done again.
    """

    def __init__(
        self, liveness: Callable[[], Sequence[Check]], patience_s: float = PATIENCE_S
    ) -> None:
        self._liveness = liveness
        self._patience_s = patience_s
        self._closed = Event()
        Thread(target=self._run, name="watchdog", daemon=True).start()

    def close(self) -> None:
        """Lets the process be."""
        self._closed.set()

    def _run(self) -> None:
        well_at = time.monotonic()
        while not self._closed.wait(1 / LOOKS_A_SECOND):
            hung = [check for check in self._liveness() if not check.ok]
            if not hung:
                well_at = time.monotonic()
            elif time.monotonic() - well_at > self._patience_s and not self._closed.is_set():
                for check in hung:
                    log.critical("this is no longer so: %s (%s)", check.name, check.detail)
                log.critical("the process hangs, and ends; what it was at is done again")
                sys.stdout.flush()
                os._exit(HUNG)
