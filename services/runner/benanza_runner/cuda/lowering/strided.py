"""Where the elements of a tensor are in another one, after operators that only move them.

NumPy knows: its arrays see the same memory with other strides. The arrays here are of bytes, whose
elements mean nothing, so that strides count elements.
"""

from typing import NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator
from benanza_schemas.operators.table import RESHAPING

AFTER = RESHAPING | {"Transpose"}
"""The operators that may follow what writes by strides."""


class Strided(NamedTuple):
    """A tensor within `source`, an input of the layer: its first element is the one at `start`."""

    source: int
    start: int
    array: Array


def contiguous(shape: Shape) -> Array:
    """An array of bytes, so that its strides count elements."""
    return np.empty(shape, np.int8)


def strided(layer: Layer, index: int) -> Strided:
    """Where a tensor of a layer is within one of the layer's inputs.

    Raises `UnsupportedError` if an operator computes it, or if strides don't say where it is.
    """
    writers = {result: operator for operator in layer.operators for result in operator.outputs}
    moves: list[tuple[Operator, int]] = []
    while index in writers:
        moves.append((writers[index], index))
        index = writers[index].inputs[0]
    whole = array = contiguous(layer.tensors[index].shape)
    for operator, result in reversed(moves):
        array = seen(layer, operator, result, array)
    return Strided(index, _address(array) - _address(whole), array)


def written(layer: Layer, position: int) -> Array:
    """Where the result of the operator at a position is within the layer's, after what follows.

    Raises `UnsupportedError` if they don't only move it.
    """
    result = layer.operators[position].outputs[0]
    moves = layer.operators[position + 1 :]
    for move in moves:
        if move.inputs[0] != result or move.op_type not in AFTER:
            raise UnsupportedError(f"{layer.title()} computes more than one call does")
        result = move.outputs[0]
    array = contiguous(layer.tensors[result].shape)
    for move in reversed(moves):
        if move.op_type == "Transpose":
            order = move.integers("perm", tuple(reversed(range(array.ndim))))
            array = array.transpose(np.argsort(order))
        else:
            array = reshaped(array, layer.tensors[move.inputs[0]].shape)
    return array


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def seen(layer: Layer, operator: Operator, result: int, array: Array) -> Array:
    """The same memory as the operator's result, if its first input is this array.

    Raises `UnsupportedError` as `strided` does.
    """
    shape = layer.tensors[result].shape
    match operator.op_type:
        case name if name in RESHAPING:
            return reshaped(array, shape)
        case "Transpose":
            return array.transpose(operator.integers("perm", tuple(reversed(range(array.ndim)))))
        case "Expand":
            return np.broadcast_to(array, shape)
        case "Split":
            axis = operator.integer("axis", 0) % array.ndim
            before = operator.outputs[: operator.outputs.index(result)]
            start = sum(layer.tensors[other].shape[axis] for other in before if other != OMITTED)
            if OMITTED not in before:
                return _part(array, axis, slice(start, start + shape[axis]))
        case "Slice":
            starts, ends, axes, steps = (known(layer, operator, slot) for slot in range(1, 5))
            for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
                step = steps[number] if steps else 1
                if step < 1:
                    raise UnsupportedError("a Slice that goes backwards is not read in place")
                axis = (axes[number] if axes else number) % array.ndim
                array = _part(array, axis, slice(start, end, step))
            return array
        case "Gather":
            axis = operator.integer("axis", 0) % array.ndim
            if layer.tensors[operator.inputs[1]].shape == ():
                place = known(layer, operator, 1)[0] % array.shape[axis]
                return _part(array, axis, slice(place, place + 1)).squeeze(axis)
    raise UnsupportedError(f"{operator.op_type} is not read in place")


def _part(array: Array, axis: int, part: slice) -> Array:
    view: Array = array[(*(slice(None),) * axis, part)]
    return view


def known(layer: Layer, operator: Operator, slot: int) -> list[int]:
    """The whole numbers that an operator reads as an input, none if it is left out.

    Raises `UnsupportedError` if the layer doesn't hold them.
    """
    if slot >= len(operator.inputs) or operator.inputs[slot] == OMITTED:
        return []
    tensor = layer.tensors[operator.inputs[slot]]
    if tensor.value is None:
        raise UnsupportedError(f"{operator.op_type} by numbers that aren't known")
    return [int(number) for number in np.frombuffer(tensor.value, tensor.dtype)]


def reshaped(array: Array, shape: Shape) -> Array:
    """The same memory in another shape. Raises `UnsupportedError` if that would be a copy."""
    view = array.reshape(shape)
    if array.size and not np.may_share_memory(view, array):
        raise UnsupportedError("axes that are not contiguous in memory are joined")
    return view


def steps(array: Array) -> Shape:
    """The stride of each axis in elements; on an axis of one, the size of all that follows."""
    strides: list[int] = []
    over = 1
    for size, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        strides.append(over if size == 1 else stride)
        over = strides[-1] * size
    return tuple(reversed(strides))
