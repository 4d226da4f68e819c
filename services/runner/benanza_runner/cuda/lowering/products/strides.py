"""Where elements are in memory after operators that move none, as strides of arrays."""

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.lowering.attributes import integers
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Operator

VIEWS = frozenset("Cast CastLike Dropout Flatten Identity Reshape Squeeze Unsqueeze".split())
"""Operators that only change the shape. Ingest puts casts into a group only where they do so."""


def contiguous(shape: Shape) -> Array:
    """An array of bytes, so that its strides count elements. Its elements mean nothing."""
    return np.empty(shape, np.int8)


def seen(array: Array, operator: Operator, shape: Shape) -> Array:
    """The same memory after an operator whose result has this shape.

    Raises `UnsupportedError` for one that moves elements.
    """
    if operator.op_type == "Transpose":
        return array.transpose(integers(operator, "perm", tuple(reversed(range(array.ndim)))))
    if operator.op_type in VIEWS:
        return reshaped(array, shape)
    raise UnsupportedError(f"{operator.op_type} within attention is not supported yet")


def reshaped(array: Array, shape: Shape) -> Array:
    """The same memory in another shape. Raises `UnsupportedError` if that would be a copy."""
    found = array.reshape(shape)
    if array.size and not np.may_share_memory(found, array):
        raise UnsupportedError("axes that are not contiguous in memory are joined")
    return found


def steps(array: Array) -> Shape:
    """The stride of each axis in elements; on an axis of one, the size of all that follows."""
    found: list[int] = []
    over = 1
    for size, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        found.append(over if size == 1 else stride)
        over = found[-1] * size
    return tuple(reversed(found))
