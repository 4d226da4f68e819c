"""A sum of products as products of matrices: which axes are rows, columns, pairs and rounds."""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from benanza_runner.cuda.calls import Matrices, Product, Shape
from benanza_runner.cuda.unsupported import UnsupportedError


class SharedAxis(NamedTuple):
    """An axis, and its stride in both operands and the result; None where there is no such axis."""

    size: int
    a: int | None
    b: int | None
    result: int | None


NO_AXIS = SharedAxis(1, 0, 0, 0)


def as_matrices(
    axes: Sequence[SharedAxis],
    output: Shape,
    starts: tuple[int, int] = (0, 0),
    transposed: tuple[bool, bool] = (False, False),
) -> Product:
    """The product of matrices in the fewest rounds that is this sum of products, and nothing else;
    `output` is its field.

    The result's elements with stride one are on an axis of `b`, if any axis of a matrix has them.
    `starts` are the places of the operands' first elements. `transposed` says how matrices of one
    row or column are stored. Raises `UnsupportedError` if no such product is this sum.
    """
    axes = [axis for axis in axes if axis.size > 1]
    rows, columns, inner, both = (
        _joined([axis for axis in axes if _owners(axis) == owners])
        for owners in ("a result", "b result", "a b", "a b result")
    )
    if len(inner) > 1 or any(_owners(axis) in ("a", "b", "result") for axis in axes):
        raise UnsupportedError("a sum over axes that don't lie one in the other")
    (summed,) = inner or (NO_AXIS,)
    why = UnsupportedError("a product that repeats matrices along more than two axes")
    for m, n, batch, rounds in _choices(rows, columns, both):
        repeated = batch, rounds
        try:
            a = _matrices("a", (m, summed), repeated, starts[0], transposed[0])
            b = _matrices("b", (summed, n), repeated, starts[1], transposed[1])
            result = _matrices("result", (m, n), repeated)
        except UnsupportedError as error:
            why = error
            continue
        sizes = batch.size, m.size, n.size, summed.size
        return Product(output, *sizes, a, b, result, rounds.size)
    raise why


def _owners(axis: SharedAxis) -> str:
    """The names of what has this axis."""
    return " ".join([name for name in ("a", "b", "result") if getattr(axis, name) is not None])


def _joined(axes: Sequence[SharedAxis]) -> list[SharedAxis]:
    """The same axes from the outermost to the innermost, in as few as possible."""
    joined: list[SharedAxis] = []
    for axis in sorted(axes, key=lambda axis: (axis.result or 0, axis.a or 0), reverse=True):
        outer = joined[-1] if joined else None
        if outer and all(
            step == (under if under is None else under * axis.size)
            for step, under in zip(outer[1:], axis[1:], strict=True)
        ):
            joined[-1] = axis._replace(size=axis.size * outer.size)
        else:
            joined.append(axis)
    return joined


def _choices(
    rows: list[SharedAxis], columns: list[SharedAxis], both: list[SharedAxis]
) -> list[tuple[SharedAxis, SharedAxis, SharedAxis, SharedAxis]]:
    """Rows, columns, pairs and rounds: those with the fewest rounds first, and of these, those with
    the most work in one product.
    """
    choices = []
    # Libraries want the columns of the result next to each other.
    ends = [axis for axis in columns if axis.result == 1]
    for m, n in product(rows or [NO_AXIS], ends or [NO_AXIS]):
        others = [axis for axis in (*rows, *columns) if axis not in (m, n)]
        repeated = [SharedAxis(size, a or 0, b or 0, to) for size, a, b, to in (*both, *others)]
        rest = sorted(_joined(repeated), key=lambda axis: axis.size)
        if len(rest) <= 2:
            rounds, batch = [*[NO_AXIS] * (2 - len(rest)), *rest]
            choices.append((m, n, batch, rounds))
    return sorted(choices, key=lambda choice: (choice[3].size, -choice[0].size * choice[1].size))


def _matrices(
    name: str,
    sides: tuple[SharedAxis, SharedAxis],
    along: tuple[SharedAxis, SharedAxis],
    start: int = 0,
    transposed: bool = False,
) -> Matrices:
    """The matrices of the operand of this name, with these rows and columns, and what they differ
    along.
    """
    pair, later = (getattr(axis, name) for axis in along)
    for by_column in (transposed, not transposed):
        lines, within = reversed(sides) if by_column else sides
        if within.size == 1 or getattr(within, name) == 1:
            line = getattr(lines, name) if lines.size > 1 else within.size
            if line >= within.size:
                return Matrices(line, pair, later, start, by_column)
    raise UnsupportedError("a product of a matrix whose rows and columns both have gaps")
