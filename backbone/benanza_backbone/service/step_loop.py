"""A step that is turned over and over in a thread of its own, and made anew when it fails."""

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Event, Thread

from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.circuit_breaker import CircuitOpenError
from benanza_backbone.service.standstill import Standstill, StandstillError
from benanza_backbone.service.status_server import Check
from benanza_backbone.service.step import Step

POLL_S = 0.5
"""Seconds that a turn waits for records; so a stop is heeded within them."""

CHECK_S = 3.0
"""Seconds between two looks at what is still to be processed, and whether all that is needed
answers."""

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 10.0
"""Seconds between two tries to reach what is away: the first, doubled up to the longest."""

OpenStep = Callable[[], AbstractContextManager[Step]]
"""Makes a step with all that it stands on, and gives that back at the end of the block."""

log = logging.getLogger(__name__)


class StepLoop:
    """Turns a step, `limit` records at a time, until `stop` is set.

    What a `BenanzaError` names (the log or the store is away) is waited for, as long as it
    takes: then the step is made anew. After a `CircuitOpenError` it is closed, and none is made
    until the process is started again. A step that is given nothing although records wait (see
    `Standstill`), and any other error, which is a defect, ends the loop and sets `stop` for the
    others. `failed` is set in these cases. A turn of over `longest_turn_s` seconds counts as hung.
    """

    def __init__(
        self, name: str, open_step: OpenStep, stop: Event, *, limit: int, longest_turn_s: float
    ) -> None:
        self.name = name
        self.failed = False
        self._open_step = open_step
        self._stop = stop
        self._limit = limit
        self._longest_turn_s = longest_turn_s
        self._problem = "is starting"
        self._held: int | None = None
        self._standstill = Standstill()
        self._alive_at = time.monotonic()
        # A thread that hangs must not keep the process from ending.
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Starts the thread, in which the step is made, turned and closed."""
        self._thread.start()

    def join(self, timeout: float) -> bool:
        """Waits for the thread; whether it has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def alive(self) -> Check:
        """Whether the loop turns."""
        silent = time.monotonic() - self._alive_at
        well = silent <= self._longest_turn_s and self._thread.is_alive()
        return Check(f"{self.name} turns", well, f"turned {silent:.1f} s ago")

    def ready(self) -> Check:
        """Whether the step does its work, or stands by for another member of its group."""
        if self._problem:
            return Check(self.name, False, self._problem)
        turns = self.alive()
        if not turns.ok:
            return Check(self.name, False, f"hangs, or has ended: {turns.detail}")
        work = self._standstill.ready()
        if not work.ok:
            return Check(self.name, False, work.detail)
        if self._held is None:
            return Check(self.name, False, "waits for its group to share out the partitions")
        if self._held == 0:
            return Check(self.name, True, "stands by: other members hold all partitions")
        return Check(self.name, True, f"holds {self._held} partitions")

    def _run(self) -> None:
        try:
            wait = FIRST_WAIT_S
            while not self._stop.is_set():
                try:
                    with self._open_step() as step:
                        self._turn(step)
                except (CircuitOpenError, StandstillError):
                    raise
                except BenanzaError as error:
                    # What was well for a while fails for the first time.
                    wait = FIRST_WAIT_S if not self._problem else min(2 * wait, LONGEST_WAIT_S)
                    self._problem = str(error)
                    self._alive_at = time.monotonic()
                    log.warning("%s tries again in %.1f s: %s", self.name, wait, error)
                    self._stop.wait(wait)
        except CircuitOpenError as error:
            self._problem = str(error)
            self.failed = True
            log.critical("%s", error)
            self._stand_still()
        except StandstillError as error:
            self._problem = str(error)
            self.failed = True
            log.critical("%s ends, and goes on when it is started again: %s", self.name, error)
            self._stop.set()
        except Exception as error:
            self._problem = f"{type(error).__name__}: {error}"
            self.failed = True
            log.critical("%s ends: %s", self.name, error, exc_info=error)
            self._stop.set()

    def _turn(self, step: Step) -> None:
        checked_at = 0.0
        busy = False
        processed = 0
        while not self._stop.is_set():
            done = step.turn(self._limit, POLL_S)
            processed += done
            self._alive_at = time.monotonic()
            self._held = step.held()
            if self._alive_at - checked_at > CHECK_S or (busy and not done):
                self._standstill.look(step.check(), processed)
                checked_at = self._alive_at
            self._problem = ""
            busy = done > 0

    def _stand_still(self) -> None:
        while not self._stop.wait(POLL_S):
            self._alive_at = time.monotonic()
