"""How rows flow through a region: to which row each element of a layer's result belongs.

Values that don't depend on a reduction in the region have no rows. A layer can't join a region if
an element of its result would need several rows.
"""

from collections.abc import Sequence

from benanza_ingest.groups.regions.fusible import OF_FIRST, Fusible, Role, axes_of
from benanza_ingest.groups.regions.rows import (
    Origin,
    Rows,
    changed_along,
    repeated,
    reshaped,
    unknown,
)
from benanza_schemas.layer import Layer


class RowsError(ValueError):
    """An element of a result would need several rows."""


def rows_after(
    layer: Layer, fusible: Fusible, given: Sequence[Rows | None], position: int
) -> tuple[Rows | None, ...]:
    """The rows of each result of a layer, whose inputs have these rows.

    `position` is that of the layer. Raises `RowsError` if an element of a result would need several
    rows.
    """
    first = given[0] if given else None
    others = any(rows is not None for rows in given[1:])
    if fusible.role is Role.REDUCTION:
        if first not in (None, fusible.reads) or others:
            raise RowsError
        return (fusible.writes,)
    if first is None and not others:
        return (None,) * len(fusible.shapes)
    if fusible.role in (Role.WINDOW, Role.SHORT_REDUCTION):
        raise RowsError
    if fusible.operator.op_type == "Concat":
        return (_concatenated(fusible, given, (position, 0)),)
    if fusible.role is Role.ELEMENTWISE and fusible.operator.op_type not in OF_FIRST:
        return (_combined(layer, fusible, given, (position, 0)),)
    if first is None or others:
        raise RowsError
    if fusible.role is Role.ELEMENTWISE:
        return (first,)
    return tuple(
        [
            _moved(layer, fusible, first, shape, (position, slot))
            for slot, shape in enumerate(fusible.shapes)
        ]
    )


def _combined(layer: Layer, fusible: Fusible, given: Sequence[Rows | None], origin: Origin) -> Rows:
    """Values that are broadcast to one shape: an element needs the same row of each."""
    shape = fusible.shapes[0]
    inputs = zip(fusible.operator.inputs, given, strict=False)
    known = {(layer.tensors[i].shape == shape, rows) for i, rows in inputs if rows is not None}
    ways = {rows if same else repeated(rows, shape, origin) for same, rows in known}
    if len(ways) > 1 or (len(known) > 1 and unknown(origin) in ways):
        raise RowsError
    return ways.pop()


def _concatenated(fusible: Fusible, given: Sequence[Rows | None], origin: Origin) -> Rows:
    """Values side by side: one row in all of them if they join within rows."""
    shape = fusible.shapes[0]
    if any(rows is not None and len(rows) != len(shape) for rows in given):
        return unknown(origin)
    axis = _axis(fusible, len(shape))
    ways = {changed_along(rows, axis, shape[axis], origin) for rows in given if rows is not None}
    return ways.pop() if len(ways) == 1 else unknown(origin)


def _moved(
    layer: Layer, fusible: Fusible, rows: Rows, shape: tuple[int, ...], origin: Origin
) -> Rows:
    """The rows of a view or a movement of a value with these rows."""
    operator = fusible.operator
    if fusible.role is Role.VIEW:
        return reshaped(rows, shape, origin)
    before = layer.tensors[operator.inputs[0]].shape
    if operator.op_type == "Expand":
        return rows if before == shape else repeated(rows, shape, origin)
    if operator.op_type == "Trilu":
        return rows
    rank = len(rows)
    if rank != len(shape) or rank != len(before):
        if operator.op_type == "GatherElements":
            raise RowsError
        return unknown(origin)
    touched: Sequence[int] = range(rank)
    match operator.op_type:
        case "Transpose":
            order = operator.attribute("perm")
            axes = order if isinstance(order, tuple) else tuple(reversed(range(rank)))
            moved = [rows[a] for a in axes if isinstance(a, int) and 0 <= a < rank]
            return tuple(moved) if len(moved) == rank else unknown(origin)
        case "Split" | "Gather":
            touched = (_axis(fusible, rank),)
        case "GatherElements":
            axis = _axis(fusible, rank)
            touched = [
                dimension
                for dimension in range(rank)
                if dimension == axis or before[dimension] != shape[dimension]
            ]
            if any(weight for dimension in touched for _, weight in rows[dimension]):
                raise RowsError  # Elements side by side are of different rows.
        case "Slice":
            touched = axes_of(layer, operator, 3) or touched
    for axis in touched:
        rows = changed_along(rows, axis % rank, shape[axis % rank], origin)
    return rows


def _axis(fusible: Fusible, rank: int) -> int:
    axis = fusible.operator.attribute("axis")
    return axis % rank if isinstance(axis, int) and rank else 0
