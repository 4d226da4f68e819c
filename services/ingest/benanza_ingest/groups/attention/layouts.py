"""Where the elements of a value are in another one, after operators that only move them.

An axis is a sequence of pieces `(size, stride)`, outermost first, as in the layouts of CuTe. One
that was joined of two axes that don't follow each other in memory has two pieces.
"""

from itertools import chain
from math import prod
from typing import NamedTuple

Shape = tuple[int, ...]
Axis = tuple[tuple[int, int], ...]


class Placed(NamedTuple):
    """Elements of a value in row-major order: those at `offset` and, from there, along `axes`.

    Strides count elements. A stride of zero repeats an element. No size is one or zero.
    """

    offset: int
    axes: tuple[Axis, ...]

    def shape(self) -> Shape:
        """The number of elements along each axis."""
        return tuple([size_of(axis) for axis in self.axes])


def size_of(axis: Axis) -> int:
    """The number of elements along an axis."""
    return prod([size for size, _ in axis])


def whole(shape: Shape) -> Placed:
    """All of a value of this shape."""
    axes: list[Axis] = []
    stride = 1
    for size in reversed(shape):
        axes.append(((size, stride),) if size > 1 else ())
        stride *= size
    return Placed(0, tuple(reversed(axes)))


def transposed(view: Placed, order: Shape) -> Placed:
    """The same elements with their axes in this order."""
    return Placed(view.offset, tuple([view.axes[axis] for axis in order]))


def reshaped(view: Placed, shape: Shape) -> Placed | None:
    """The same elements in another shape; None if an axis would end within a piece."""
    axes = cut(tuple(chain.from_iterable(view.axes)), shape)
    return None if axes is None else Placed(view.offset, axes)


def cut(pieces: Axis, shape: Shape) -> tuple[Axis, ...] | None:
    """An axis as axes of these sizes; None if one would end within a piece."""
    left = list(reversed(joined(pieces)))
    axes: list[Axis] = []
    for wanted in shape:
        axis: list[tuple[int, int]] = []
        while wanted > 1:
            if not left:
                return None
            size, stride = left.pop()
            if size > wanted:
                if size % wanted:
                    return None
                left.append((size // wanted, stride))
                size, stride = wanted, stride * (size // wanted)
            if wanted % size:
                return None
            axis.append((size, stride))
            wanted //= size
        axes.append(tuple(axis))
    return None if left else tuple(axes)


def joined(pieces: Axis) -> Axis:
    """The same axis in as few pieces as possible."""
    axis: list[tuple[int, int]] = []
    for size, stride in pieces:
        if axis and axis[-1][1] == size * stride:
            axis[-1] = (axis[-1][0] * size, stride)
        else:
            axis.append((size, stride))
    return tuple(axis)


def sliced(view: Placed, axis: int, start: int, size: int, step: int) -> Placed | None:
    """The elements at `size` places of an axis; None if it has several pieces that are cut."""
    pieces = joined(view.axes[axis])
    if size == size_of(pieces) and (step == 1 or size == 1):
        return view
    if len(pieces) != 1:
        return None
    stride = pieces[0][1]
    part = ((size, stride * step),) if size > 1 else ()
    return Placed(view.offset + start * stride, (*view.axes[:axis], part, *view.axes[axis + 1 :]))


def expanded(view: Placed, shape: Shape) -> Placed:
    """The same elements, repeated along axes of one and along new ones before the others."""
    axes = ((),) * (len(shape) - len(view.axes)) + view.axes
    return Placed(
        view.offset,
        tuple([a if a or n == 1 else ((n, 0),) for a, n in zip(axes, shape, strict=True)]),
    )


def inverse(view: Placed, shape: Shape) -> Placed | None:
    """Where the elements of a value of this shape are in a view of all of it."""
    pieces = [piece for axis in view.axes for piece in axis]
    placed, stride = [], 1
    for size, theirs in reversed(pieces):
        placed.append((theirs, (size, stride)))
        stride *= size
    axes = cut(tuple([piece for _, piece in sorted(placed, reverse=True)]), shape)
    return None if axes is None else Placed(0, axes)
