"""Movement between feature maps and tokens, which channels last make a view.

Exporters write it as a Transpose with a Reshape before or after it: the value in between has no
layout, so that only both together move nothing.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
import numpy.typing as npt

from benanza_ingest.groups.regions.fusible import attribute
from benanza_ingest.groups.wiring import Wiring

RULE = "channels last"

RANKS = (4, 5)
"""How many axes feature maps have: batch, channels, and two or three of space."""


def propose(wiring: Wiring) -> list[tuple[int, ...]]:
    """Positions of a Transpose and of the views before and after it that belong to it."""
    groups = []
    for position, layer in enumerate(wiring.layers):
        if layer.op == "Transpose" and layer.kind == "movement" and layer.layer is not None:
            views_before = [*_views(wiring, _writer(wiring, position), forward=False)]
            views_after = [*_views(wiring, wiring.only_reader(position), forward=True)]
            for before, after in product(_beginnings(views_before), _beginnings(views_after)):
                positions = (*reversed(before), position, *after)
                if _moves_nothing(wiring, positions):
                    groups.append(positions)
                    break
    return [positions for positions in groups if len(positions) > 1]


def _beginnings(positions: list[int]) -> list[list[int]]:
    return [positions[:count] for count in range(len(positions) + 1)]


def _views(wiring: Wiring, position: int | None, *, forward: bool) -> Iterator[int]:
    """Views one after another from a position, away from a Transpose, that nothing else reads."""
    while position is not None and wiring.layers[position].kind == "view":
        yield position
        position = wiring.only_reader(position) if forward else _writer(wiring, position)


def _writer(wiring: Wiring, position: int) -> int | None:
    """The layer whose result is the first input of this one alone."""
    found = wiring.writers.get(wiring.node(position).inputs[0])
    return found if found is not None and wiring.only_reader(found) == position else None


def _moves_nothing(wiring: Wiring, positions: tuple[int, ...]) -> bool:
    """Whether the result lies where the first input does, if a feature map has channels last."""
    given = _shape(wiring, wiring.node(positions[0]).inputs[0])
    result = _shape(wiring, wiring.node(positions[-1]).outputs[0])
    if not given or not result:
        return False
    if len(given) in RANKS and _seen(wiring, positions, _channels_last(given)).flags.c_contiguous:
        return True
    if len(result) not in RANKS:
        return False
    found = _seen(wiring, positions, np.empty(given, np.int8))
    return bool(np.moveaxis(found, 1, -1).flags.c_contiguous)


def _channels_last(shape: tuple[int, ...]) -> npt.NDArray[np.int8]:
    batch, channels, *space = shape
    return np.moveaxis(np.empty((batch, *space, channels), np.int8), -1, 1)


def _seen(
    wiring: Wiring, positions: tuple[int, ...], array: npt.NDArray[np.int8]
) -> npt.NDArray[np.int8]:
    """The memory of an array as the result of these layers; something else if they move it."""
    for position in positions:
        layer = wiring.layers[position].layer
        assert layer is not None, "its shapes are known"
        operator = layer.operators[0]
        if operator.op_type == "Transpose":
            order = attribute(operator, "perm")
            array = array.transpose(order if isinstance(order, tuple) else None)
            continue
        seen = array.reshape(layer.tensors[operator.outputs[0]].shape)
        if not np.may_share_memory(seen, array):
            return np.empty((2, 2), np.int8).T
        array = seen
    return array


def _shape(wiring: Wiring, name: str) -> tuple[int, ...]:
    """The shape of a value; none if it isn't known or has nothing in it."""
    known = wiring.graph.types.get(name)
    if known is None or known.shape is None:
        return ()
    shape = tuple([size for size in known.shape if isinstance(size, int) and size > 0])
    return shape if len(shape) == len(known.shape) else ()
