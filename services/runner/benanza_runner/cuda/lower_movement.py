"""Operators that move elements and compute nothing."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from benanza_runner.cuda.attributes import integer, integers
from benanza_runner.cuda.calls import Call, Concatenation, View
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer

Array = npt.NDArray[Any]
Lower = Callable[[Layer, Mapping[int, Array]], tuple[Call, dict[str, Array]]]


def _concatenation(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    operator = layer.operators[0]
    output = layer.tensors[operator.outputs[0]].shape
    shapes = tuple(layer.tensors[index].shape for index in operator.inputs)
    axis = integer(operator, "axis", 1) % len(output)
    operands = {f"in{at}": values[index] for at, index in enumerate(operator.inputs)}
    return Concatenation(shapes, axis, output), operands


def _transpose(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    operator = layer.operators[0]
    shape = layer.tensors[operator.inputs[0]].shape
    order = integers(operator, "perm", tuple(reversed(range(len(shape)))))
    return _view(layer, values, shape, order=order)


def _expand(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    shape = layer.tensors[layer.operators[0].inputs[0]].shape
    return _view(layer, values, shape)


def _slice(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    """Starts, ends, axes and steps are attributes in version 1 and inputs since."""
    operator = layer.operators[0]
    shape = layer.tensors[operator.inputs[0]].shape
    if operator.version < 10:
        first = integers(operator, "starts", ())
        last = integers(operator, "ends", ())
        axes = integers(operator, "axes", tuple(range(len(first))))
        steps = (1,) * len(first)
    else:
        given = [_numbers(layer, values, index) for index in operator.inputs[1:]]
        given += [()] * (4 - len(given))
        first, last = given[0], given[1]
        axes = given[2] or tuple(range(len(first)))
        steps = given[3] or (1,) * len(first)
    cut = [slice(None)] * len(shape)
    for start, stop, axis, step in zip(first, last, axes, steps, strict=True):
        begin, end, stride = slice(start, stop, step).indices(shape[axis])
        cut[axis] = slice(begin, None if end < 0 else end, stride)
    return _view(layer, values, shape, cut=cut)


def _numbers(layer: Layer, values: Mapping[int, Array], index: int) -> tuple[int, ...]:
    if index == OMITTED:
        return ()
    tensor = layer.tensors[index]
    if tensor.value is None:
        raise UnsupportedError("a slice whose bounds are computed is not done yet")
    return tuple(int(number) for number in np.ravel(values[index]))


def _view(
    layer: Layer,
    values: Mapping[int, Array],
    shape: tuple[int, ...],
    cut: list[slice] | None = None,
    order: tuple[int, ...] | None = None,
) -> tuple[Call, dict[str, Array]]:
    operator = layer.operators[0]
    cut = cut or [slice(None)] * len(shape)
    call = View(
        image=shape,
        starts=tuple(each.start for each in cut),
        stops=tuple(each.stop for each in cut),
        steps=tuple(each.step or 1 for each in cut),
        order=order or tuple(range(len(shape))),
        output=layer.tensors[operator.outputs[0]].shape,
    )
    return call, {"image": values[operator.inputs[0]]}


MOVEMENTS: dict[str, Lower] = {
    "Concat": _concatenation,
    "Expand": _expand,
    "Slice": _slice,
    "Transpose": _transpose,
}
