"""Which row of a reduction each element of a value belongs to.

A reduction has one row for each place along its outer axes. Rows are numbered in that order, and
`Rows` says how the number of the row follows from an element's place: each axis is a sequence of
digits, the most significant first, each with its size and with its weight in the row's number. A
digit within a row has the weight 0. So a value `[2, 5, 8]` that is normalised over its last axis
has the rows `(((2, 5),), ((5, 1),), ((8, 0),))`. Digits of size 1 are left out, and neighbours that
count on are one digit, so that equal rows look equal.

Source: layouts of sizes and strides, as in CuTe ("CuTe Layout Algebra", CUTLASS documentation).
"""

from collections.abc import Iterable, Sequence

Digit = tuple[int, int]
Rows = tuple[tuple[Digit, ...], ...]

Origin = tuple[int, int]
"""A result of a layer: the position of the layer, and which of its results it is."""

_UNKNOWN = 0
"""No digit has this size."""


def rows_of(shape: Sequence[int], inner: frozenset[int]) -> Rows:
    """The rows of a value that is reduced over these axes, which count from 0."""
    weight = 1
    rows: list[tuple[Digit, ...]] = []
    for axis in reversed(range(len(shape))):
        size = shape[axis]
        if axis in inner:
            rows.append(_digits([(size, 0)]))
        else:
            rows.append(_digits([(size, weight)]))
            weight *= size
    return tuple(reversed(rows))


def unknown(origin: Origin) -> Rows:
    """Each element belongs to one row, but which one isn't known: rows were shifted, say.

    Values with the same origin belong to the same rows, element by element.
    """
    layer, slot = origin
    return (((_UNKNOWN, layer), (_UNKNOWN, slot)),)


def reshaped(rows: Rows, shape: Sequence[int], origin: Origin) -> Rows:
    """The rows of a value that is seen in another shape; if they aren't known, of this origin."""
    if _is_unknown(rows):
        return unknown(origin)
    pending = [digit for axis in reversed(rows) for digit in reversed(axis)]
    axes: list[tuple[Digit, ...]] = []
    for wanted in shape:
        axis: list[Digit] = []
        while wanted > 1:
            if not pending:
                return unknown(origin)
            size, weight = pending.pop()
            if wanted % size == 0:
                axis.append((size, weight))
                wanted //= size
            elif size % wanted == 0:  # its more significant part
                rest = size // wanted
                axis.append((wanted, weight * rest))
                pending.append((rest, weight))
                wanted = 1
            else:
                return unknown(origin)
        axes.append(_digits(axis))
    return tuple(axes)


def repeated(rows: Rows, shape: Sequence[int], origin: Origin) -> Rows:
    """The rows of a value that is broadcast to this shape; if not known, of this origin."""
    if _is_unknown(rows):
        return unknown(origin)
    missing = len(shape) - len(rows)
    axes: list[tuple[Digit, ...]] = []
    for axis, size in enumerate(shape):
        own = rows[axis - missing] if axis >= missing else ()
        axes.append(own if own or size == 1 else ((size, 0),))
    return tuple(axes)


def changed_along(rows: Rows, axis: int, size: int, origin: Origin) -> Rows:
    """The rows after elements along one axis were left out, added or put in another order.

    They aren't known, and are of this origin, unless the axis runs within rows.
    """
    if _is_unknown(rows) or any(weight for _, weight in rows[axis]):
        return unknown(origin)
    return (*rows[:axis], _digits([(size, 0)]), *rows[axis + 1 :])


def _is_unknown(rows: Rows) -> bool:
    return len(rows) == 1 and len(rows[0]) == 2 and rows[0][0][0] == _UNKNOWN


def _digits(digits: Iterable[Digit]) -> tuple[Digit, ...]:
    merged: list[Digit] = []
    for size, weight in digits:
        if size == 1:
            continue
        if merged and merged[-1][1] == size * weight:
            size *= merged.pop()[0]
        merged.append((size, weight))
    return tuple(merged)
