"""Follows values through layers that only move elements, as far as strides can say where."""

from itertools import pairwise

import numpy as np

from benanza_ingest.groups.attention.layouts import (
    Placed,
    Shape,
    expanded,
    reshaped,
    sliced,
    transposed,
)
from benanza_ingest.groups.wiring import Wiring

MOVES = frozenset(("Transpose", "Slice", "Split", "Gather", "Expand"))


def shape_of(wiring: Wiring, name: str) -> Shape:
    """The shape of a value that a layer reads or writes; layers that lack one are skipped."""
    known = wiring.graph.types[name]
    assert known is not None, "what a layer reads or writes is a tensor"
    return known.dims()


def dtype_of(wiring: Wiring, name: str) -> str:
    """The element type of such a value."""
    known = wiring.graph.types[name]
    assert known is not None, "what a layer reads or writes is a tensor"
    return known.dtype


def may_move(wiring: Wiring, position: int) -> bool:
    """Whether a layer may be one that only moves elements of its first input."""
    layer, node = wiring.layers[position], wiring.node(position)
    if layer.layer is None or layer.domain:
        return False
    if layer.kind == "view":
        return dtype_of(wiring, node.inputs[0]) == dtype_of(wiring, node.outputs[0])
    return layer.kind == "movement" and layer.op in MOVES


def moved(wiring: Wiring, position: int, result: str, view: Placed) -> Placed | None:
    """Where the elements of a result are, after a layer for which `may_move` holds.

    `view` says where its input's are. None if strides don't say it, or if a file says something
    else of the result than the layer does.
    """
    placed = _moved(wiring, position, result, view)
    return placed if placed is None or placed.shape() == shape_of(wiring, result) else None


def _moved(wiring: Wiring, position: int, result: str, view: Placed) -> Placed | None:
    layer, node = wiring.layers[position], wiring.node(position)
    shape = shape_of(wiring, result)
    if layer.kind == "view":
        return reshaped(view, shape)
    match layer.op:
        case "Transpose":
            order = wiring.layers[position].attribute("perm")
            if not order:
                return transposed(view, tuple(reversed(range(len(shape)))))
            if not isinstance(order, tuple):
                return None
            return transposed(view, tuple([int(axis) for axis in order]))
        case "Expand":
            return expanded(view, shape)
        case "Split":
            axis = _axis(wiring, position, 0, len(shape))
            before = node.outputs[: node.outputs.index(result)]
            if any(not name for name in before):
                return None
            start = sum([shape_of(wiring, name)[axis] for name in before])
            return sliced(view, axis, start, shape[axis], 1)
        case "Slice":
            return _sliced(wiring, position, view, shape)
        case _:
            return _gathered(wiring, position, view, shape)


def _axis(wiring: Wiring, position: int, default: int, rank: int) -> int:
    axis = wiring.layers[position].attribute("axis")
    return (axis if isinstance(axis, int) else default) % rank


def _sliced(wiring: Wiring, position: int, view: Placed, shape: Shape) -> Placed | None:
    inputs = wiring.node(position).inputs
    starts, axes, steps = (numbers(wiring, position, slot) for slot in (1, 3, 4))
    # Before version 10, these are attributes.
    if starts is None or (axes is None and any(inputs[3:4])) or (steps is None and any(inputs[4:])):
        return None
    part: Placed | None = view
    for number, start in enumerate(starts):
        axis = (axes[number] if axes else number) % len(shape)
        step = steps[number] if steps else 1
        size = view.shape()[axis]
        if step < 1 or part is None:
            return None
        start = min(max(start + size if start < 0 else start, 0), size)
        part = sliced(part, axis, start, shape[axis], step)
    return part


def _gathered(wiring: Wiring, position: int, view: Placed, shape: Shape) -> Placed | None:
    """A Gather of places with equal distances is a slice."""
    places = numbers(wiring, position, 1)
    if not places:
        return None
    axis = _axis(wiring, position, 0, len(view.axes))
    size = view.shape()[axis]
    places = [place + size if place < 0 else place for place in places]
    step = places[1] - places[0] if len(places) > 1 else 1
    if step < 1 or any(b - a != step for a, b in pairwise(places)):
        return None
    part = sliced(view, axis, places[0], len(places), step)
    return None if part is None else reshaped(part, shape)


def numbers(wiring: Wiring, position: int, slot: int) -> list[int] | None:
    """The whole numbers that a layer reads as an input, if they are known."""
    inputs, constants = wiring.node(position).inputs, wiring.graph.constants
    if slot >= len(inputs) or inputs[slot] not in constants:
        return None
    value = constants.value(inputs[slot])
    return None if value is None else [int(n) for n in np.ravel(value)]
