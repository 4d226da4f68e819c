"""Where elements are in memory, after operators that only see them otherwise."""

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.lowering.attributes import integers
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Operator

VIEWS = frozenset("Cast CastLike Dropout Flatten Identity Reshape Squeeze Unsqueeze".split())
"""Operators that change nothing but the shape, or which groups hold only where that is so."""


def contiguous(shape: Shape) -> Array:
    """An array whose strides are steps in elements. What it holds means nothing."""
    return np.empty(shape, np.int8)


def seen(array: Array, operator: Operator, shape: Shape) -> Array:
    """The same memory after an operator whose result has this shape.

    Raises `UnsupportedError` for one that moves elements.
    """
    if operator.op_type == "Transpose":
        return array.transpose(integers(operator, "perm", tuple(reversed(range(array.ndim)))))
    if operator.op_type in VIEWS:
        return reshaped(array, shape)
    raise UnsupportedError(f"{operator.op_type} within attention is not done yet")


def reshaped(array: Array, shape: Shape) -> Array:
    """The same memory in another shape. Raises `UnsupportedError` where that would be a copy."""
    found = array.reshape(shape)
    if array.size and not np.may_share_memory(found, array):
        raise UnsupportedError("axes that do not lie so in memory are joined")
    return found


def steps(array: Array) -> Shape:
    """From one element to the next on each axis; on an axis of one, over all that follows."""
    found: list[int] = []
    over = 1
    for size, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        found.append(over if size == 1 else stride)
        over = found[-1] * size
    return tuple(reversed(found))
