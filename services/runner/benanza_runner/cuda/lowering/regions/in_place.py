"""Movement that channels last makes a view: the result is the operand, seen otherwise.

A feature map with its channels last has them next to each other, as tokens have their features. So
what turns one into the other moves nothing.
"""

from typing import NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, Region, Shape, View
from benanza_runner.cuda.calls.region import Given, Reindexed, Reshaped
from benanza_runner.cuda.feature_maps import RANKS
from benanza_runner.cuda.layouts import Order, depends_on_layout, feature_map_layouts
from benanza_runner.cuda.lowering.regions.express import express
from benanza_runner.cuda.lowering.regions.region_values import RegionValues
from benanza_runner.cuda.lowering.strided import contiguous, reshaped
from benanza_runner.cuda.unsupported import UnsupportedError


class InPlace(NamedTuple):
    """A layout of feature maps in which the result lies where the operand of this name does.

    `operand` and `result` are the axes of both in memory, from the slowest to the fastest; `shape`
    is that of the result.
    """

    layout: str
    name: str
    operand: Order
    shape: Shape
    result: Order


def in_place(call: Call) -> InPlace | None:
    """How a call moves nothing; None if it does, in either layout, or if it computes."""
    region = _region(call)
    if region is None or region.outputs != (len(region.values) - 1,):
        return None
    given = region.values[0]
    if not isinstance(given, Given):
        return None
    shape = region.values[-1].shape
    own, result = _natural(given.shape), _natural(shape)
    layout, last = _channels_last(given.shape)
    if layout and _is_same_memory(region, last, result):
        return InPlace(layout, given.name, last, shape, result)
    layout, last = _channels_last(shape)
    if layout and _is_same_memory(region, own, last):
        return InPlace(layout, given.name, own, shape, last)
    return None


def _region(call: Call) -> Region | None:
    if not isinstance(call, View):
        return call if isinstance(call, Region) else None
    values = RegionValues()
    operands = {"input": values.given("input", call.input, call.element)}
    outputs = express(call, operands, values)
    return Region(tuple(values.values), tuple(outputs))


def _natural(shape: Shape) -> Order:
    return tuple(range(len(shape)))


def _channels_last(shape: Shape) -> tuple[str, Order]:
    """The layout with channels last; an empty name if this is the shape of no feature map."""
    if len(shape) not in RANKS or not depends_on_layout(shape):
        return "", ()
    *_, last = feature_map_layouts(len(shape))
    return last


def _is_same_memory(region: Region, order: Order, wanted: Order) -> bool:
    """Whether the result lies in the wanted order, if the operand lies in this one."""
    shape = region.values[0].shape
    seen = contiguous(tuple(shape[axis] for axis in order)).transpose(np.argsort(order))
    try:
        for number, value in enumerate(region.values[1:]):
            seen = _seen(value, number, seen)
    except UnsupportedError:
        return False
    return bool(seen.transpose(wanted).flags.c_contiguous)


def _seen(value: object, before: int, array: Array) -> Array:
    """The same memory as a value that is made of the one before it."""
    if isinstance(value, Reshaped) and value.input == before:
        return reshaped(array, value.shape)
    if isinstance(value, Reindexed) and value.input == before and _is_transposed(value, array):
        return array.transpose(np.argsort(value.axes))
    raise UnsupportedError("the elements are not where they were")


def _is_transposed(value: Reindexed, array: Array) -> bool:
    """Whether the axes of an array are all there, whole and forwards, in another order."""
    forwards = not any(value.starts) and set(value.steps) <= {1}
    if not forwards or sorted(value.axes) != [*range(array.ndim)]:
        return False
    return array.transpose(np.argsort(value.axes)).shape == value.shape
