"""Operators whose elements follow from their places, as element-wise kernels."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.elements import FLOAT8, element
from benanza_runner.cuda.lowering.constants import constants
from benanza_runner.cuda.lowering.elementwise.chains import ElementwiseKernel, Lowering
from benanza_runner.cuda.lowering.elementwise.expressions import literal
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.element_types import FROM_ONNX
from benanza_schemas.layer import Layer, TensorValue

Write = Callable[[ElementwiseKernel, Layer, Mapping[int, Array]], str]


def lower_generated(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    operator = layer.operators[0]
    kernel = ElementwiseKernel(layer, values)
    kernel.write(operator.outputs[0], GENERATED[operator.op_type](kernel, layer, values))
    return kernel.lowered()


def _literal(value: float, kind: str) -> str:
    return f"({int(value)})" if kind else f"({literal(float(value))})"


def _kind(layer: Layer) -> str:
    kind = element(layer.tensors[layer.operators[0].outputs[0]].dtype)
    if kind == FLOAT8:
        raise UnsupportedError(f"{layer.title()} of {kind} is not supported yet")
    return kind


def _filled(kernel: ElementwiseKernel, layer: Layer, values: Mapping[int, Array]) -> str:
    kind, value = _kind(layer), layer.operators[0].attribute("value")
    number = 0.0
    if isinstance(value, TensorValue):
        elements = np.frombuffer(value.data, _dtype(value.dtype))
        number = float(elements[0])
    return _literal(number, kind)


def _dtype(name: str) -> np.dtype[Any]:
    if name not in FROM_ONNX.values() or name == "bfloat16":
        raise UnsupportedError(f"a constant of {name} is not supported yet")
    return np.dtype(name)


def _triangle(kernel: ElementwiseKernel, layer: Layer, values: Mapping[int, Array]) -> str:
    """Keeps elements on the diagonal `k` or above it; with `upper=0`, on it or below."""
    operator = layer.operators[0]
    rank = len(layer.tensors[operator.outputs[0]].shape)
    diagonal = int((constants(layer, values, 1) or (0,))[0])
    row, column = kernel.index(rank - 2), kernel.index(rank - 1)
    comparison = ">=" if operator.integer("upper", 1) else "<="
    value = kernel.name(operator.inputs[0])
    return f"({column} - {row} {comparison} {diagonal} ? {value} : 0)"


def _one_hot(kernel: ElementwiseKernel, layer: Layer, values: Mapping[int, Array]) -> str:
    operator = layer.operators[0]
    shape = layer.tensors[operator.outputs[0]].shape
    axis = operator.integer("axis", -1) % len(shape)
    given = layer.tensors[operator.inputs[0]]
    if not element(given.dtype):
        raise UnsupportedError("a OneHot whose indices are floats is not supported yet")
    seen = (*given.shape[:axis], 1, *given.shape[axis:])
    chosen = kernel.operand(values[operator.inputs[0]], constant=given.constant, shape=seen)
    off, on = (_literal(value, _kind(layer)) for value in _two(layer, values))
    place = kernel.index(axis)
    wrapped = f"({chosen} < 0 ? {chosen} + {shape[axis]} : {chosen})"
    return f"({wrapped} == {place} ? {on} : {off})"


def _two(layer: Layer, values: Mapping[int, Array]) -> tuple[float, float]:
    numbers = constants(layer, values, 2)
    assert numbers is not None
    return numbers[0], numbers[1]


def _range(kernel: ElementwiseKernel, layer: Layer, values: Mapping[int, Array]) -> str:
    start, step = constants(layer, values, 0), constants(layer, values, 2)
    assert start is not None
    assert step is not None
    kind = _kind(layer)
    place = kernel.index(0)
    converted = place if kind else f"(float){place}"
    return f"{_literal(start[0], kind)} + {converted} * {_literal(step[0], kind)}"


def _eye(kernel: ElementwiseKernel, layer: Layer, values: Mapping[int, Array]) -> str:
    row, column = kernel.index(0), kernel.index(1)
    diagonal = layer.operators[0].integer("k", 0)
    return f"({column} - {row} == {diagonal} ? {_literal(1, _kind(layer))} : 0)"


GENERATED: dict[str, Write] = {
    "ConstantOfShape": _filled,
    "EyeLike": _eye,
    "OneHot": _one_hot,
    "Range": _range,
    "Trilu": _triangle,
}
