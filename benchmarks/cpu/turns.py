"""Runs of one model in several ways, which take turns."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context

import msgspec

from benanza_runner.measuring.stopping import summary
from benchmarks.cpu import ways
from benchmarks.cpu.ways import Way

TURNS = 5
PAUSE_S = 0.3
"""Threads that wait for work give up meanwhile."""

ENDED = "its process ended"


class Run(msgspec.Struct, frozen=True):
    """What came of a model in one way: times of calls in microseconds, or why there are none."""

    way: str
    median_us: float = 0.0
    iqr_us: float = 0.0
    calls: int = 0
    failure: str = ""


class Processes:
    """A process for each way, with the model that it runs."""

    def __init__(self, known: Sequence[Way]) -> None:
        self._pools = {way: _pool() for way in known}

    def runs(self, content: bytes, batch: int | None) -> list[Run]:
        """The runs of a model, way by way. What fails in one is part of its run."""
        failures: dict[Way, str] = {}
        samples: dict[Way, list[float]] = {way: [] for way in self._pools}
        for way in samples:
            try:
                failures[way] = self._pools[way].submit(ways.load, way, content, batch).result()
            except BrokenProcessPool:
                failures[way] = self._anew(way)
        for number in range(TURNS):
            for way in _from(list(samples), number):
                if failures[way]:
                    continue
                time.sleep(PAUSE_S)
                try:
                    samples[way] += self._pools[way].submit(ways.turn).result()
                except BrokenProcessPool:
                    failures[way] = self._anew(way)
        return [_run(way, samples[way], failures[way]) for way in samples]

    def close(self) -> None:
        """Ends the processes."""
        for pool in self._pools.values():
            pool.shutdown()

    def _anew(self, way: Way) -> str:
        self._pools[way].shutdown()
        self._pools[way] = _pool()
        return ENDED


@contextmanager
def processes(known: Sequence[Way]) -> Iterator[Processes]:
    """Processes for these ways, which end with the block."""
    found = Processes(known)
    try:
        yield found
    finally:
        found.close()


def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))


def _from(known: Sequence[Way], first: int) -> list[Way]:
    """In another order each time: each follows another."""
    start = first % len(known)
    return [*known[start:], *known[:start]]


def _run(way: Way, samples_us: Sequence[float], failure: str) -> Run:
    if failure:
        return Run(way.title(), failure=failure)
    times = summary(sorted(samples_us))
    return Run(way.title(), times.median, times.iqr, len(samples_us))
