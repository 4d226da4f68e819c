"""Movement between feature maps and tokens, which channels last make a view.

Exporters write it as a Transpose with a Reshape before or after it: the value in between has no
layout, so that only both together move nothing.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from benanza_ingest.groups.wiring import Wiring

RULE = "channels last"

RANKS = (4, 5)
"""How many axes feature maps have: batch, channels, and two or three of space."""

KEPT = 1024
"""Answers that are kept, since the blocks of a model are alike."""


class _Step(NamedTuple):
    """A Transpose, with its `perm`, or a view with a result of this shape."""

    transposes: bool
    order: tuple[int, ...] | None
    shape: tuple[int, ...]


def propose(wiring: Wiring) -> list[tuple[int, ...]]:
    """Positions of a Transpose and of the views before and after it that belong to it."""
    groups = []
    for position in wiring.of("Transpose"):
        if wiring.layers[position].kind == "movement":
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
    writer = wiring.writers.get(wiring.node(position).inputs[0])
    return writer if writer is not None and wiring.only_reader(writer) == position else None


def _moves_nothing(wiring: Wiring, positions: tuple[int, ...]) -> bool:
    """Whether the result lies where the first input does, if a feature map has channels last."""
    given = _shape(wiring, wiring.node(positions[0]).inputs[0])
    result = _shape(wiring, wiring.node(positions[-1]).outputs[0])
    if not given or not result:
        return False
    steps = tuple([_step(wiring, position) for position in positions])
    return _lies_as_before(given, steps, result)


@lru_cache(KEPT)
def _lies_as_before(
    given: tuple[int, ...], steps: tuple[_Step, ...], result: tuple[int, ...]
) -> bool:
    """Whether these steps move nothing, if what they read or their result is a feature map."""
    arrays = []
    try:
        if _may_be_tokens(result, given):
            arrays.append(_seen(steps, _channels_last(given)))
        if _may_be_tokens(given, result):
            arrays.append(np.moveaxis(_seen(steps, _without_memory(given)), 1, -1))
    except ValueError:  # It moves, or a damaged file has shapes that contradict each other.
        return False
    return any(array.flags.c_contiguous for array in arrays)


def _may_be_tokens(shape: tuple[int, ...], feature_map: tuple[int, ...]) -> bool:
    """Whether the features of tokens of this shape may be the channels of a feature map."""
    if not shape or len(feature_map) not in RANKS:
        return False
    features, channels = shape[-1], feature_map[1]
    return features % channels == 0 or channels % features == 0


def _channels_last(shape: tuple[int, ...]) -> npt.NDArray[np.int8]:
    batch, channels, *space = shape
    return np.moveaxis(_without_memory((batch, *space, channels)), -1, 1)


def _without_memory(shape: tuple[int, ...]) -> npt.NDArray[np.int8]:
    """An array of bytes of this shape, of which only the strides mean anything."""
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return as_strided(np.empty(1, np.int8), shape, strides)


def _step(wiring: Wiring, position: int) -> _Step:
    layer = wiring.layers[position].layer
    assert layer is not None, "its shapes are known"
    operator = layer.operators[0]
    transposes = operator.op_type == "Transpose"
    perm = operator.attribute("perm") if transposes else None
    order = [axis for axis in perm if isinstance(axis, int)] if isinstance(perm, tuple) else None
    shape = layer.tensors[operator.outputs[0]].shape
    return _Step(transposes, None if order is None else tuple(order), shape)


def _seen(steps: tuple[_Step, ...], array: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """The memory of an array after these steps. Raises `ValueError` if they move it."""
    for step in steps:
        if step.transposes:
            array = array.transpose(step.order)
        else:
            array = array.reshape(step.shape, copy=False)
    return array


def _shape(wiring: Wiring, name: str) -> tuple[int, ...]:
    """The shape of a value; none if it isn't known or has nothing in it."""
    known = wiring.graph.types.get(name)
    if known is None or known.shape is None:
        return ()
    shape = tuple([size for size in known.shape if isinstance(size, int) and size > 0])
    return shape if len(shape) == len(known.shape) else ()
