"""A region: element-wise operators, movement and reductions that run as one kernel.

A region is a list of values. Each value says how an element of it, at some index, follows from
elements of earlier values; so nothing has to be moved before it is read.
"""

import re

import msgspec

from benanza_runner.cuda.calls.shape import Shape


class _Value(msgspec.Struct, frozen=True, tag=True):
    """`element` is the type of the elements, as `elements` names it."""

    shape: Shape
    element: str


class Given(_Value, frozen=True):
    """The operand of this name.

    A weight may have an `order`: its axes from the slowest to the fastest in memory.
    """

    name: str
    order: Shape = ()


class AxisIndex(_Value, frozen=True):
    """The index of each element itself, on one axis."""

    axis: int


class Pointwise(_Value, frozen=True):
    """Statements of C over elements of other values, which are in variables `in0`, `in1`, ….

    `result` is an expression over these and what the statements define. Values with fewer axes, or
    with axes of one, are broadcast as NumPy does it.
    """

    statements: tuple[str, ...]
    result: str
    inputs: tuple[int, ...]


class Reshaped(_Value, frozen=True):
    """The same elements in the same order, in another shape."""

    input: int


class Reindexed(_Value, frozen=True):
    """The element of `input` whose index on each of its axes is `start + step · i`.

    `i` is the index on the axis of the result that is named; there is none (-1) where the index is
    `start` alone. So axes are exchanged, cut, reversed and repeated.
    """

    input: int
    axes: tuple[int, ...]
    starts: tuple[int, ...]
    steps: tuple[int, ...]


class Concatenated(_Value, frozen=True):
    """Values one after another along an axis."""

    inputs: tuple[int, ...]
    axis: int


class Rolled(_Value, frozen=True):
    """The elements of `input` that are `shift` further along an axis.

    Behind the end of the axis it begins again.
    """

    input: int
    axis: int
    shift: int


class Padded(_Value, frozen=True):
    """A value with `before` elements before it on each axis, and as many behind as there is room.

    What is added is the number that `fill` writes in C.
    """

    input: int
    before: tuple[int, ...]
    fill: str


class Gathered(_Value, frozen=True):
    """The elements of `input` whose indices on `axis` another value has.

    The axes of `indices` stand in place of that axis. Negative indices count from the end.
    """

    input: int
    indices: int
    axis: int


class GatheredByElement(_Value, frozen=True):
    """The elements of `input` at the same indices, but on `axis` at that which the same element of
    another value has. Negative indices count from the end.
    """

    input: int
    indices: int
    axis: int


class Reduced(_Value, frozen=True):
    """A value reduced over axes, which are kept as axes of one.

    `kind` is `sum`, `prod`, `max` or `min`.
    """

    input: int
    axes: tuple[int, ...]
    kind: str


JOINED = {
    "sum": "{a} + {b}",
    "prod": "{a} * {b}",
    "max": "{a} > {b} ? {a} : {b}",
    "min": "{a} < {b} ? {a} : {b}",
}
"""What joins two elements in C, for each kind of `Reduced`."""

_ROUNDING = re.compile(r"\b((rint|floor|ceil|round|trunc|fmod)f|float8_code)\(")

RegionValue = (
    Given
    | AxisIndex
    | Pointwise
    | Reshaped
    | Reindexed
    | Concatenated
    | Rolled
    | Padded
    | Gathered
    | GatheredByElement
    | Reduced
)


class Region(msgspec.Struct, frozen=True):
    """Values, each after those that it reads; `outputs` are the positions of the results.

    Windows move over feature maps of so many `channels`; zero if there are none, or if they differ.
    """

    values: tuple[RegionValue, ...]
    outputs: tuple[int, ...]
    channels: int = 0

    @property
    def rounds(self) -> bool:
        """Whether computed floats are rounded or compared: then the last place of one decides."""
        return any(
            (value.element or _ROUNDING.search(" ".join((*value.statements, value.result))))
            and not all(self.values[number].element for number in value.inputs)
            for value in self.values
            if isinstance(value, Pointwise)
        )
