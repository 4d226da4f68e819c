"""Lets faults befall one target, one after the other, and remembers when they did."""

import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Thread
from typing import NamedTuple

from benanza_backbone.closing import Closing
from tests.chaos.faults import Fault

LOOK_S = 0.1


class Struck(NamedTuple):
    """A fault, and from when until when it lasted, by the monotonic clock; infinity until it
    ends."""

    began: float
    ended: float
    fault: Fault


class Injector(Closing):
    """Has a thread of its own, in which `_run` takes faults, until it is closed.

    `happened` is told what happens, when it does.
    """

    def __init__(self, name: str, happened: Callable[[str], None]) -> None:
        self.name = name
        self.struck: list[Struck] = []
        self._happened = happened
        self._faults: Queue[Fault] = Queue()
        self._closing = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def suffer(self, fault: Fault) -> None:
        """It happens at once, or when the former one is over."""
        self._faults.put(fault)

    def settled(self) -> bool:
        """Whether no fault lasts or is still to come."""
        return self._faults.unfinished_tasks == 0

    def close(self) -> None:
        self._closing.set()
        self._thread.join()

    @abstractmethod
    def _run(self) -> None:
        """Takes faults until `_closing` is set."""

    def _next(self) -> Fault | None:
        """The next one, if it comes soon."""
        with suppress(Empty):
            return self._faults.get(timeout=LOOK_S)
        return None

    def _begins(self, fault: Fault) -> None:
        self.struck.append(Struck(time.monotonic(), float("inf"), fault))
        self._happened(f"{self.name}: {fault}")

    def _is_over(self) -> None:
        self.struck[-1] = self.struck[-1]._replace(ended=time.monotonic())
        self._faults.task_done()


class Ailment(Injector):
    """Faults that begin and pass: `begin` and `end` make them do so."""

    def __init__(
        self,
        name: str,
        begin: Callable[[Fault], None],
        end: Callable[[], None],
        happened: Callable[[str], None],
    ) -> None:
        self._begin = begin
        self._end = end
        super().__init__(name, happened)

    def _run(self) -> None:
        while not self._closing.is_set():
            if fault := self._next():
                self._begins(fault)
                self._begin(fault)
                self._closing.wait(fault.away_s)
                self._end()
                self._happened(f"{self.name}: the {fault.how} is over")
                self._is_over()
