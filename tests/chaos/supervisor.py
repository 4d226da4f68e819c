"""A process that is started again whenever it ends, and the faults that befall it."""

import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from queue import Empty, Queue
from signal import SIGKILL
from subprocess import TimeoutExpired
from threading import Event, Thread
from typing import NamedTuple, Protocol

from benanza_backbone.closing import Closing
from tests.chaos.faults import Fault

LOOK_S = 0.1
RETRY_S = 1.0
SAID_BYTES = 2000


class Running(Protocol):
    """What is supervised, as long as it runs."""

    def status(self) -> int | None:
        """Its exit status, if it has ended."""

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


class Supervisor(Closing):
    """Keeps a process running, in a thread of its own, until it is closed.

    `findings` are the times at which it ended by itself; `refusals` those at which it was asked
    to end and did so with another status than `ends_with`. `happened` is told what happens, when it
    does. What each process has said goes to the file `said`.
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
        self.name = name
        self.findings: list[Ending] = []
        self.refusals: list[Ending] = []
        self.struck: list[tuple[float, Fault]] = []
        """Each fault, and when it happened, by the monotonic clock."""
        self.away: list[tuple[float, float]] = []
        """When it didn't run, by the same clock."""
        self._start = start
        self._happened = happened
        self._said = said
        self._ends_with = ends_with
        self._faults: Queue[Fault] = Queue()
        self._closing = Event()
        self._up = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def suffer(self, fault: Fault) -> None:
        """It happens at once, or when the process runs again."""
        self._faults.put(fault)

    def settled(self) -> bool:
        """Whether it runs, and no fault waits for it."""
        return self._up.is_set() and self._faults.empty()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        gone = time.monotonic()
        while not self._closing.is_set():
            try:
                process = self._start()
            except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
                self._find(f"didn't start: {error}")
                self._closing.wait(RETRY_S)
                continue
            self.away.append((gone, time.monotonic()))
            if self.struck:
                self._happened(f"{self.name} is back")
            with closing(process):
                self._up.set()
                fault = self._next_fault(process)
                self._up.clear()
                gone = time.monotonic()
                if fault:
                    self._befall(process, fault)
                self._keep(process.errors())
            if fault:
                self._closing.wait(fault.away_s)

    def _next_fault(self, process: Running) -> Fault | None:
        """Waits for one; None if the process ended by itself, or is to end for good."""
        while not self._closing.is_set():
            if (status := process.status()) is not None:
                self._find(f"ended by itself with status {status}: {self._end_of(process)}")
                return None
            with suppress(Empty):
                return self._faults.get(timeout=LOOK_S)
        return None

    def _befall(self, process: Running, fault: Fault) -> None:
        began = time.monotonic()
        self.struck.append((began, fault))
        self._happened(f"{self.name}: {fault}")
        if fault.how == SIGKILL:
            process.kill()
            return
        try:
            status = process.stop()
        except TimeoutExpired:
            self._find(f"goes on after SIGTERM: {self._end_of(process)}")
            return
        if status != self._ends_with:
            what = f"ended with status {status} after SIGTERM: {self._end_of(process)}"
            self.refusals.append(Ending(self.name, began, time.monotonic(), what))

    def _find(self, what: str) -> None:
        now = time.monotonic()
        self.findings.append(Ending(self.name, now, now, what))
        self._happened(f"FOUND: {self.name} {what}")

    def _end_of(self, process: Running) -> str:
        return process.errors()[-SAID_BYTES:].strip()

    def _keep(self, errors: str) -> None:
        with self._said.open("a") as file:
            file.write(errors + "---- ended\n")
