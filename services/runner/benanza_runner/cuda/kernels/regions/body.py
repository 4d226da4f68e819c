"""The statements of one pass over elements, as they are written."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple

from benanza_runner.cuda.kernels.regions.index import Index, Variable

LANE = "j"
"""The variable that counts the elements that a thread reads and writes at once."""


LOCAL = "local"
"""Stands for all variables that are declared within a pass."""


class Condition(NamedTuple):
    """An expression of C, which may depend on the elements of a thread."""

    text: str
    by_lane: bool


class Names:
    """New names of variables for a whole kernel."""

    def __init__(self) -> None:
        self._numbers = count()

    def new(self, letter: str) -> str:
        """A name that no other variable has."""
        return f"{letter}{next(self._numbers)}"


class Body:
    """`before` are the statements that come before the elements of a thread, `each` those for each
    of these elements.

    `outside` holds what is known outside of the pass: names of variables by what they hold. If the
    pass is over a row, `of_row` are the statements before it, in which the loops `rows` are known.
    """

    def __init__(
        self,
        outside: dict[Hashable, str],
        of_row: list[str] | None = None,
        rows: frozenset[str] = frozenset(),
    ) -> None:
        self._of_row = of_row
        self._rows = rows
        self.before: list[str] = []
        self.each: list[str] = []
        self._branches: list[tuple[Condition, list[str]]] = []
        self._known: list[dict[Hashable, str]] = [outside, {}]

    def find(self, key: Hashable) -> str | None:
        """The variable that holds this already, if any."""
        return next((known[key] for known in self._known if key in known), None)

    def lines(self, *, by_lane: bool) -> list[str]:
        """Where to write a statement, which depends on the elements of a thread or doesn't."""
        if self._branches:
            return self._branches[-1][1]
        return self.each if by_lane else self.before

    def lines_of_row(self, of: frozenset[str]) -> list[str] | None:
        """Where to write a statement that depends on these loops, if it can be before the pass."""
        return self._of_row if of <= self._rows and not self._branches else None

    def remember(self, key: Hashable, name: str) -> None:
        """Notes what a variable holds that was declared in `lines`."""
        self._known[-1][key] = name

    def remember_before(self, key: Hashable, name: str) -> None:
        """Notes what a variable holds that was declared in `before`."""
        self._known[1][key] = name

    def guard(self) -> str | None:
        """The conditions under which statements are written now, for use in `before`; None if they
        depend on the elements of a thread.
        """
        conditions = [condition for condition, _ in self._branches]
        if any(condition.by_lane for condition in conditions):
            return None
        return " && ".join(condition.text for condition in conditions)

    @contextmanager
    def branch(self, condition: Condition, lines: list[str]) -> Iterator[None]:
        """Writes a branch to these lines. What is written meanwhile is written into it."""
        lines.append(f"if ({condition.text}) {{")
        self._branches.append((condition, lines))
        self._known.append({})
        try:
            yield
        finally:
            self._known.pop()
            self._branches.pop()
            lines.append("}")


def by_lane(index: Index) -> bool:
    """Whether an index differs for the elements of a thread."""
    return LANE in index.of


def lane(width: int) -> Index:
    """The variable that counts so many elements of a thread."""
    if width == 1:
        return Index(())
    return Index(((Variable(LANE, width, frozenset((LANE,))), 1),))
