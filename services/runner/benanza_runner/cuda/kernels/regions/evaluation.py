"""Statements of C that compute elements of a region's values at some index.

A value is computed where it is read: what lies between it and the operands is only arithmetic of
indices.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from benanza_runner.cuda.calls.region import (
    Concatenated,
    Gathered,
    Given,
    Padded,
    Place,
    Pointwise,
    Reduced,
    Region,
    Reshaped,
    Strided,
)
from benanza_runner.cuda.elements import IN_MEMORY, variable
from benanza_runner.cuda.kernels.regions.index import (
    ZERO,
    Index,
    Variable,
    flattened,
    number,
    parted,
    total,
    unflattened,
)

Indices = tuple[Index, ...]

LANE = "j"
"""The variable that counts the elements that a thread reads and writes at once."""


class Operand(NamedTuple):
    """Where an operand is in memory: its stride on each axis, in elements, and its type."""

    strides: tuple[int, ...]
    element: str


class Body:
    """The statements of one pass over elements: those before the elements of a thread, and those
    for each of them.
    """

    def __init__(self) -> None:
        self.before: list[str] = []
        self.each: list[str] = []
        self.known: list[dict[object, str]] = [{}]
        self.conditions: list[tuple[str, bool]] = []

    def find(self, key: object) -> str | None:
        """The variable that holds this already, if any."""
        return next((known[key] for known in self.known if key in known), None)
