"""A process that is started again whenever it ends, and the faults that befall it."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from signal import SIGCONT, SIGSTOP, Signals
from subprocess import TimeoutExpired
from typing import NamedTuple, Protocol

from tests.chaos.faults import ENDS, Fault, How
from tests.chaos.injector import LOOK_S, Injector

RETRY_S = 1.0
SAID_BYTES = 2000
SHOWN = 200
"""Characters of that which are shown as it happens."""

SLOW_STOPPED_S, SLOW_GOES_S = 0.18, 0.02
"""A slow process gets a tenth of the time, in slices so short that no request fails by them."""


class Running(Protocol):
    """What is supervised, as long as it runs."""

    def status(self) -> int | None:
        """Its exit status, if it has ended."""

    def send_signal(self, number: Signals) -> None: ...
    def kill(self) -> None: ...
    def stop(self) -> int:
        """Asks it to end; its exit status."""

    def errors(self) -> str:
        """What it has said."""

    def close(self) -> None:
        """Ends it, if it still runs."""


class Ending(NamedTuple):
    """How a process ended that should not have, or not so."""

    name: str
    began: float
    ended: float
    what: str


class Supervisor(Injector):
    """Keeps a process running, in a thread of its own, until it is closed.

    `own_endings` are the times at which it ended by itself, or would not start; `refusals` those
    at which it was asked to end and did so with another status than `ends_with`. `happened` is told
    what happens, when it does. What each process has said goes to the file `said`.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[], Running],
        happened: Callable[[str], None],
        said: Path,
        *,
        ends_with: int = 0,
    ) -> None:
        self.own_endings: list[Ending] = []
        self.refusals: list[Ending] = []
        self.away: list[tuple[float, float]] = []
        """When it didn't run, by the monotonic clock."""
        self._start = start
        self._said = said
        self._ends_with = ends_with
        self._is_up = False
        super().__init__(name, happened)

    def settled(self) -> bool:
        """Whether it runs, and no fault lasts or waits for it."""
        return self._is_up and super().settled()

    def _run(self) -> None:
        gone = time.monotonic()
        fault: Fault | None = None
        while not self._closing.is_set():
            try:
                process = self._start()
            except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
                self._ended_itself(f"didn't start: {error}")
                self._closing.wait(RETRY_S)
                continue
            self.away.append((gone, time.monotonic()))
            if len(self.away) > 1:
                self._happened(f"{self.name} is back")
            self._is_up = True
            if fault:
                self._is_over()
            with closing(process):
                fault = self._next_ending(process)
                self._is_up = False
                gone = time.monotonic()
                if fault:
                    self._end(process, fault)
                self._keep(process.errors())
            if fault:
                self._closing.wait(fault.away_s)

    def _next_ending(self, process: Running) -> Fault | None:
        """Waits for a fault that ends it; None if it ended by itself, or is to end for good."""
        while not self._closing.is_set():
            if (status := process.status()) is not None:
                self._ended_itself(f"ended by itself with status {status}: {_end_of(process)}")
                return None
            if fault := self._next():
                self._begins(fault)
                if fault.how in ENDS:
                    return fault
                self._hold_up(process, fault)
                self._happened(f"{self.name} goes on")
                self._is_over()
        return None

    def _hold_up(self, process: Running, fault: Fault) -> None:
        """Stops it, for good or again and again, until the fault is over."""
        slow = fault.how == How.SLOW
        until = time.monotonic() + fault.away_s
        while time.monotonic() < until and not self._closing.is_set() and process.status() is None:
            process.send_signal(SIGSTOP)
            self._closing.wait(SLOW_STOPPED_S if slow else LOOK_S)
            if slow:
                process.send_signal(SIGCONT)
                self._closing.wait(SLOW_GOES_S)
        process.send_signal(SIGCONT)

    def _end(self, process: Running, fault: Fault) -> None:
        if fault.how != How.ASKED_TO_END:
            process.kill()
            return
        began = time.monotonic()
        try:
            status = process.stop()
        except TimeoutExpired:
            self._ended_itself(f"goes on after SIGTERM: {_end_of(process)}")
            return
        if status != self._ends_with:
            what = f"ended with status {status} after SIGTERM: {_end_of(process)}"
            self.refusals.append(Ending(self.name, began, time.monotonic(), what))

    def _ended_itself(self, what: str) -> None:
        now = time.monotonic()
        self.own_endings.append(Ending(self.name, now, now, what))
        first, *_, last = [*what.splitlines(), ""]
        self._happened(f"{self.name} {first[:SHOWN]} {last[:SHOWN]}")

    def _keep(self, errors: str) -> None:
        with self._said.open("a") as file:
            file.write(errors + "---- ended\n")


def _end_of(process: Running) -> str:
    return process.errors()[-SAID_BYTES:].strip()
