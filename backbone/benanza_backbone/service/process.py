"""A service's process: its steps in threads of their own, until a signal says to stop."""

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from types import FrameType

from benanza_backbone.service.status_server import Check, StatusServer
from benanza_backbone.service.step_loop import OpenStep, StepLoop
from benanza_backbone.service.watchdog import Watchdog
from benanza_backbone.settings import Settings

DONE = 0
FAILED = 1
"""Exit statuses."""

CLOSING_S = 10.0
"""Seconds beyond a turn that a step may take to be opened or closed."""

Started = Callable[[Sequence[str], str], None]
"""Told the consumer groups, and the address of the status pages, when a service starts."""

log = logging.getLogger(__name__)


class Service:
    """Some steps that run until SIGTERM or SIGINT, or until one hangs."""

    def __init__(self, name: str, settings: Settings) -> None:
        self._name = name
        self._settings = settings
        self._stop = Event()
        self._loops: list[StepLoop] = []

    def add(self, name: str, open_step: OpenStep, *, limit: int, longest_turn_s: float) -> StepLoop:
        """One more step; `StepLoop` says what each is."""
        loop = StepLoop(
            name, open_step, self._stop, limit=limit, longest_turn_s=longest_turn_s + CLOSING_S
        )
        self._loops.append(loop)
        return loop

    def run(self, started: Callable[[str], None]) -> int:
        """Runs the steps in this process's main thread and tells `started` the address of its
        status pages; the exit status.

        The first signal lets the turns under way end, and each step commit and leave its group,
        within `drain_timeout_s`. A second one, or the end of that time, ends the process at
        once: what wasn't committed comes again, to whoever goes on. Raises `BenanzaError` if
        the status port can't be had.
        """
        settings = self._settings
        status = StatusServer(
            settings.metrics_port,
            self._readiness,
            liveness=self._liveness,
            host=settings.metrics_host,
            name=self._name,
        )
        with status, self._heeding_signals():
            for loop in self._loops:
                loop.start()
            started(status.address)
            with Watchdog(self._liveness):
                self._stop.wait()
            deadline = time.monotonic() + settings.drain_timeout_s
            for loop in self._loops:
                if not loop.join(max(0.0, deadline - time.monotonic())):
                    log.error(
                        "%s: %s did not end within %g s; what it was at is done again",
                        self._name,
                        loop.name,
                        settings.drain_timeout_s,
                    )
                    _end_at_once()
        return FAILED if any(loop.failed for loop in self._loops) else DONE

    def _readiness(self) -> Sequence[Check]:
        return [loop.ready() for loop in self._loops]

    def _liveness(self) -> Sequence[Check]:
        return [loop.alive() for loop in self._loops]

    @contextmanager
    def _heeding_signals(self) -> Iterator[None]:
        def heed(number: int, _frame: FrameType | None) -> None:
            if self._stop.is_set():
                _end_at_once()
            log.info("%s: %s, ending", self._name, signal.Signals(number).name)
            self._stop.set()

        former = {number: signal.signal(number, heed) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)


def _end_at_once() -> None:
    """Without waiting for threads: one of them may hang."""
    sys.stdout.flush()
    os._exit(FAILED)
