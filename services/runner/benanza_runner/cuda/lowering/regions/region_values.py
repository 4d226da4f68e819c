"""The values of a region under construction."""

from collections.abc import Mapping, Sequence
from math import prod

import msgspec
import numpy as np

from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.calls.region import (
    JOINED,
    AxisIndex,
    Concatenated,
    Gathered,
    GatheredByElement,
    Given,
    Padded,
    Pointwise,
    Reduced,
    RegionValue,
    Reindexed,
    Reshaped,
    Rolled,
)
from benanza_runner.cuda.elements import variable

MOST_UNROLLED = 4
"""So many elements are reduced by each thread alone, as PyTorch's Inductor does it: the threads of
a row, at least eight, would have too little to do.
"""

Operands = Mapping[str, int]
"""The numbers of the values that a call's operands are, by the call's names for them."""


class RegionValues:
    """Values by their numbers. A value that is there already is not added again."""

    def __init__(self) -> None:
        self.values: list[RegionValue] = []
        self._numbers: dict[RegionValue, int] = {}

    def shape(self, number: int) -> Shape:
        """The shape of a value."""
        return self.values[number].shape

    def element(self, number: int) -> str:
        """The type of a value's elements."""
        return self.values[number].element

    def given(self, name: str, shape: Shape, element: str) -> int:
        """An operand."""
        return self._add(Given(shape, element, name))

    def is_given(self, number: int) -> bool:
        """Whether a value is an operand."""
        return isinstance(self.values[number], Given)

    def lay(self, number: int, order: Shape) -> None:
        """Decides how a weight lies in memory: its axes from the slowest to the fastest."""
        value = self.values[number]
        assert isinstance(value, Given)
        self.values[number] = msgspec.structs.replace(value, order=order)
        self._numbers[self.values[number]] = number

    def place(self, shape: Shape, axis: int) -> int:
        """Numbers 0, 1, … along an axis of this shape, which has no other axes longer than one."""
        return self._add(AxisIndex(shape, "int64", axis))

    def pointwise(
        self,
        result: str,
        inputs: Sequence[int],
        element: str = "",
        statements: Sequence[str] = (),
        shape: Shape | None = None,
    ) -> int:
        """Statements and an expression over elements of the inputs, broadcast to the shape."""
        if shape is None:
            shape = np.broadcast_shapes(*(self.shape(number) for number in inputs))
        return self._add(Pointwise(shape, element, tuple(statements), result, tuple(inputs)))

    def reshaped(self, number: int, shape: Shape) -> int:
        """The same elements in another shape."""
        if shape == self.shape(number):
            return number
        value = self.values[number]
        if isinstance(value, Reshaped):
            return self.reshaped(value.input, shape)
        assert prod(shape) == prod(value.shape)
        return self._add(Reshaped(shape, value.element, number))

    def transposed(self, number: int, order: Sequence[int]) -> int:
        """A value with its axes in this order."""
        if tuple(order) == tuple(range(len(order))):
            return number
        given = self.shape(number)
        axes = tuple(list(order).index(axis) for axis in range(len(given)))
        shape = tuple(given[axis] for axis in order)
        return self._strided(number, shape, axes)

    def sliced(self, number: int, cuts: Sequence[slice]) -> int:
        """A value cut on each axis, as Python does it."""
        given = self.shape(number)
        ranges = [range(*cut.indices(size)) for cut, size in zip(cuts, given, strict=True)]
        shape = tuple(map(len, ranges))
        if shape == given and all(span.step > 0 for span in ranges):
            return number
        axes = tuple(range(len(given)))
        starts = tuple(span.start for span in ranges)
        return self._strided(number, shape, axes, starts, tuple(span.step for span in ranges))

    def expanded(self, number: int, shape: Shape) -> int:
        """A value repeated to this shape, as NumPy broadcasts it."""
        given = self.shape(number)
        if given == shape:
            return number
        lacking = len(shape) - len(given)
        axes = tuple(
            lacking + axis if size == shape[lacking + axis] else -1
            for axis, size in enumerate(given)
        )
        return self._strided(number, shape, axes)

    def concatenated(self, numbers: Sequence[int], axis: int) -> int:
        """Values one after another along an axis."""
        first = self.shape(numbers[0])
        length = sum(self.shape(number)[axis] for number in numbers)
        shape = (*first[:axis], length, *first[axis + 1 :])
        rolled = self._rolled(numbers, axis, shape)
        if rolled is not None:
            return self._add(rolled)
        return self._add(Concatenated(shape, self.element(numbers[0]), tuple(numbers), axis))

    def _rolled(self, numbers: Sequence[int], axis: int, shape: Shape) -> Rolled | None:
        """Two parts of a value, the second first, as that value rolled; None if they are not."""
        parts = [self.values[number] for number in numbers]
        if len(parts) != 2 or not all(isinstance(part, Reindexed) for part in parts):
            return None
        first, second = (part for part in parts if isinstance(part, Reindexed))
        shift = first.starts[axis] if axis < len(first.starts) else 0
        starts = tuple(shift if dimension == axis else 0 for dimension in range(len(shape)))
        alike = (
            first.input == second.input
            and self.shape(first.input) == shape
            and first.shape[axis] == shape[axis] - shift
            and first.starts == starts
            and not any(second.starts)
        )
        kept = all(
            part.axes == tuple(range(len(shape))) and set(part.steps) == {1}
            for part in (first, second)
        )
        if not alike or not kept:
            return None
        return Rolled(shape, first.element, first.input, axis, shift)

    def padded(self, number: int, before: Shape, shape: Shape, fill: str) -> int:
        """A value with more elements before and after it on each axis; fewer where negative."""
        return self._add(Padded(shape, self.element(number), number, before, fill))

    def gathered(self, number: int, indices: int, axis: int) -> int:
        """The elements of a value whose indices on an axis another value has."""
        given = self.shape(number)
        shape = (*given[:axis], *self.shape(indices), *given[axis + 1 :])
        return self._add(Gathered(shape, self.element(number), number, indices, axis))

    def gathered_by_element(self, number: int, indices: int, axis: int) -> int:
        """The elements of a value whose index on an axis each element of another value is."""
        shape, kind = self.shape(indices), self.element(number)
        return self._add(GatheredByElement(shape, kind, number, indices, axis))

    def reduced(self, number: int, axes: Sequence[int], kind: str) -> int:
        """A value reduced over axes, which are kept as axes of one. Over none it stays as it is."""
        if not axes:
            return number
        given = self.shape(number)
        if prod(given[axis] for axis in axes) <= MOST_UNROLLED:
            return self._unrolled(number, axes, kind)
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(given))
        return self._add(Reduced(shape, self.element(number), number, tuple(sorted(axes)), kind))

    def _unrolled(self, number: int, axes: Sequence[int], kind: str) -> int:
        """A value reduced over few elements, which are seen as values of their own."""
        parts = []
        for place in np.ndindex(*(self.shape(number)[axis] for axis in axes)):
            cuts = [slice(None)] * len(self.shape(number))
            for axis, index in zip(axes, place, strict=True):
                cuts[axis] = slice(index, index + 1)
            parts.append(self.sliced(number, cuts))
        element = self.element(number)
        lines = [f"{variable(element)} m = in0;"]
        lines += [
            f"m = {JOINED[kind].format(a='m', b=f'in{position}')};"
            for position in range(1, len(parts))
        ]
        return self.pointwise("m", parts, element, lines)

    def _strided(
        self,
        number: int,
        shape: Shape,
        axes: tuple[int, ...],
        starts: tuple[int, ...] = (),
        steps: tuple[int, ...] = (),
    ) -> int:
        starts, steps = starts or (0,) * len(axes), steps or (1,) * len(axes)
        return self._add(Reindexed(shape, self.element(number), number, axes, starts, steps))

    def _add(self, value: RegionValue) -> int:
        if value not in self._numbers:
            self._numbers[value] = len(self.values)
            self.values.append(value)
        return self._numbers[value]
