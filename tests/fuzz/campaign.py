"""Runs many hostile inputs in a worker process, and survives what they do to it."""

import multiprocessing
import resource
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import NamedTuple

from tests.fuzz.cases import case, kind_of
from tests.fuzz.outcome import MOST_BYTES, WRONG, Outcome, outcome

PATIENCE_S = 60.0
"""How long the worker may say nothing before it counts as hanging."""


class Finding(NamedTuple):
    """An input that went wrong, and how."""

    number: int
    kind: str
    end: str
    said: str


@dataclass
class Tally:
    """How many inputs of which kind had which end; `slowest` is in seconds of the processor."""

    ends: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[Finding] = field(default_factory=list)
    slowest: float = 0.0
    seconds: float = 0.0

    @property
    def inputs(self) -> int:
        """All that were tried."""
        return sum(self.ends.values())


def campaign(seed: int, numbers: range, seconds: float) -> Tally:
    """Tries the inputs with these numbers, until there are no more or the time is over."""
    tally = Tally()
    started = time.monotonic()
    while numbers and time.monotonic() - started < seconds:
        for kind, found in _worked(seed, numbers):
            tally.ends[kind, found.end] += 1
            tally.slowest = max(tally.slowest, found.seconds)
            if found.end in (*WRONG, "crash", "hang"):
                tally.wrong.append(Finding(numbers[0], kind, found.end, found.said))
            numbers = numbers[1:]
            if time.monotonic() - started > seconds:
                break
    tally.seconds = time.monotonic() - started
    return tally


def _worked(seed: int, numbers: range) -> Iterator[tuple[str, Outcome]]:
    """The kind and the outcome of each input, until one ends the worker or makes it hang."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    worker = context.Process(target=_work, args=(there, seed, numbers), daemon=True)
    worker.start()
    there.close()
    try:
        for number in numbers:
            if not here.poll(PATIENCE_S):
                yield kind_of(number), Outcome("hang", f"over {PATIENCE_S:g} s", PATIENCE_S)
                return
            try:
                found = here.recv()
            except (EOFError, OSError):
                worker.join()
                said = f"the process ended with {worker.exitcode}"
                yield kind_of(number), Outcome("crash", said, 0.0)
                return
            yield found
    finally:
        worker.kill()
        worker.join()
        here.close()


def _work(connection: Connection, seed: int, numbers: range) -> None:
    """The worker: with less memory than would disturb others."""
    limit = 4 * MOST_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in numbers:
        each = case(seed, number)
        connection.send((each.kind, outcome(each)))
