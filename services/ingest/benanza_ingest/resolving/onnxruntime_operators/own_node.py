"""A node of ONNX Runtime's own operators, as the rules for its results see it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy.typing as npt

Shape = tuple[int, ...]


class UnknownResultError(ValueError):
    """The shapes of a node's results don't follow from what is known of it; the text says why."""


@dataclass(frozen=True)
class OwnNode:
    """`shapes` and `values` are those of the inputs, by position: None for one that is left out,
    and a value also for one that is no constant. `attributes` has defaults for those left out.
    """

    op_type: str
    attributes: Mapping[str, Any]
    shapes: Sequence[Shape | None]
    values: Sequence[npt.NDArray[Any] | None]

    def has(self, position: int) -> bool:
        """Whether this input is given."""
        return position < len(self.shapes) and self.shapes[position] is not None

    def shape(self, position: int) -> Shape:
        """The shape of an input that must be given."""
        sizes = self.shapes[position] if position < len(self.shapes) else None
        if sizes is None:
            raise UnknownResultError(f"it lacks input {position + 1}")
        return sizes

    def numbers(self, position: int) -> list[int]:
        """The elements of an input that decides a shape."""
        value = self.values[position] if position < len(self.values) else None
        if value is None:
            raise UnknownResultError(f"its input {position + 1} is no constant")
        return [int(element) for element in value.ravel()]

    def only_value(self, position: int) -> float:
        """The one element of an input that decides a shape."""
        value = self.values[position] if position < len(self.values) else None
        if value is None:
            raise UnknownResultError(f"its input {position + 1} is no constant")
        return float(value.item())

    def number(self, name: str, default: int = 0) -> int:
        """An attribute that is a whole number."""
        return int(self.attributes.get(name, default))

    def list(self, name: str, default: Sequence[int]) -> list[int]:
        """An attribute that is a list of whole numbers."""
        return [int(element) for element in self.attributes.get(name) or default]


Rule = Callable[[OwnNode], Sequence[Shape]]
"""The shapes of a node's results, by position; as many as it may have, or fewer.

Raises `UnknownResultError` if they don't follow, and what Python raises if the inputs don't fit.
"""


def like(*positions: int) -> Rule:
    """Results with the shapes of these inputs."""
    return lambda node: [node.shape(position) for position in positions]


def broadcast(*shapes: Shape) -> Shape:
    """The shape to which all of these are broadcast. Raises `ValueError` if they don't fit."""
    result: list[int] = []
    for back in range(1, max(map(len, shapes)) + 1):
        sizes = {shape[-back] for shape in shapes if len(shape) >= back} - {1}
        if len(sizes) > 1:
            raise ValueError(f"{' and '.join(map(str, shapes))} don't fit together")
        result.insert(0, sizes.pop() if sizes else 1)
    return tuple(result)


def divided(whole: int, parts: int) -> int:
    """`whole` / `parts`. Raises `ValueError` if that isn't a whole number."""
    if parts < 1 or whole % parts:
        raise ValueError(f"{whole} can't be divided by {parts}")
    return whole // parts


def elements(shape: Shape) -> int:
    """The number of elements."""
    return prod(shape)
