"""Ends a process that hangs, so that whoever started it starts another one.

Docker restarts a container that ends, and leaves alone one that is merely unhealthy.
"""

import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from threading import Event, Thread

from benanza_backbone.closing import Closing
from benanza_backbone.service.status_server import Check

HUNG = 1
"""The exit status."""

LOOK_S = 0.5
PATIENCE_S = 30.0
LAST_WORDS_S = 5

log = logging.getLogger(__name__)


class Watchdog(Closing):
    """Looks at a service's liveness, and ends the process once it was denied for so long.

    From a thread of its own, without waiting for the others: what wasn't committed is done again.
    What stood still as a whole, a container that was paused for instance, has that time again.
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
        denied = 0
        while not self._closed.wait(LOOK_S):
            hung = [check for check in self._liveness() if not check.ok]
            # Looks are counted, as time goes on while a process doesn't.
            denied = denied + 1 if hung else 0
            if denied * LOOK_S > self._patience_s and not self._closed.is_set():
                _end(hung)


def _end(hung: Sequence[Check]) -> None:
    # A thread that hangs while it logs keeps all others from it: then the system ends the process.
    signal.alarm(LAST_WORDS_S)
    try:
        what = "; ".join(f"{check.name}: {check.detail}" for check in hung)
        log.critical("the process hangs (%s), and ends; what it was at is done again", what)
        sys.stdout.flush()
    finally:
        os._exit(HUNG)
