"""The operators of a trace that count, each with what it and those within it did."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from benanza.tracing.formats.recorded import TracedInputs
from benanza.tracing.results import TracedTotal
from benanza.tracing.spool import Nested, Spool


@dataclass
class TracedOperator:
    """Equal calls of one operator: how many, and their times together, in microseconds.

    `host_us` is how long the host was at work in it, `kernels` what GPUs did for it.
    """

    name: str
    inputs: TracedInputs | None
    calls: int = 0
    host_us: float = 0.0
    kernels: list[TracedTotal] = field(default_factory=list)

    @property
    def gpu_us(self) -> float:
        """How long GPUs were at work for it."""
        return sum(kernel.us for kernel in self.kernels)


class _Open(NamedTuple):
    """An operator that hasn't ended, and the number that what is within it counts under if it
    counts whole.
    """

    end_us: float
    owner: int
    is_whole: bool


def traced_operators(spool: Spool, is_whole: Callable[[str], bool]) -> list[TracedOperator]:
    """The operators of a trace, equal calls together.

    One whose name `is_whole` counts with all that is within it, and equal calls of it have
    equal inputs. Of others each one counts for what it does itself, whatever its inputs are.
    """
    counting = _Counting(spool, is_whole)
    spool.own(counting.owners())
    for number, total in spool.of_owners():
        counting.operators[number].kernels.append(total)
    return counting.operators


class _Counting:
    def __init__(self, spool: Spool, is_whole: Callable[[str], bool]) -> None:
        self.operators: list[TracedOperator] = []
        self._spool = spool
        self._is_whole = is_whole
        self._numbers: dict[tuple[int, int | None], int] = {}

    def owners(self) -> Iterator[tuple[int, int]]:
        """The identity of each operator, and the number of the one that it counts for."""
        thread, around = "", list[_Open]()
        for nested in self._spool.nested():
            if nested.thread != thread:
                thread, around = nested.thread, []
            while around and around[-1].end_us <= nested.start_us:
                around.pop()
            parent = around[-1] if around else None
            if parent is not None and parent.is_whole:
                owner, is_whole = parent.owner, True
            else:
                owner, is_whole = self._number(nested)
                self.operators[owner].calls += 1
                self.operators[owner].host_us += nested.us
                if parent is not None:
                    self.operators[parent.owner].host_us -= nested.us
            around.append(_Open(nested.start_us + nested.us, owner, is_whole))
            yield nested.identity, owner

    def _number(self, nested: Nested) -> tuple[int, bool]:
        name = self._spool.name(nested.name)
        is_whole = self._is_whole(name)
        key = nested.name, nested.inputs if is_whole else None
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.operators)
            self.operators.append(TracedOperator(name, self._spool.inputs(key[1])))
        return number, is_whole
