"""What inputs of layers may hold, and what says so."""

from collections.abc import Callable, Mapping
from math import prod, sqrt
from typing import NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_schemas.layer import OMITTED, Layer, Operator


class Draw(NamedTuple):
    """Uniform between two numbers, both included for integers; `signed` negates half of them."""

    low: float
    high: float
    signed: bool = False


FLOATS = Draw(0.3, 1.0, signed=True)
INTEGERS = Draw(1, 100)
POSITIVE = Draw(0.3, 1.0)
ZERO = Draw(0, 0)

Rule = Callable[[Layer, Operator], Draw | Array]


def below(size: int) -> Draw:
    """Indices into as many things."""
    return Draw(0, max(size - 1, 0))


def input_shape(layer: Layer, operator: Operator, slot: int) -> tuple[int, ...]:
    """The shape of an input that the operator has."""
    return layer.tensors[operator.inputs[slot]].shape


def sequence_lengths(layer: Layer, operator: Operator) -> Array:
    """A whole sequence for each item of the batch."""
    axis = operator.integer("time_axis", 0)
    if operator.op_type != "ReverseSequence":
        axis = operator.integer("layout", 0)
    return np.array(input_shape(layer, operator, 0)[axis])


def output_shape(layer: Layer, operator: Operator, slot: int = 0) -> tuple[int, ...]:
    """The shape of a result that the operator has."""
    return layer.tensors[operator.outputs[slot]].shape


def always(draw: Draw) -> Rule:
    """The same for each layer."""
    return lambda layer, operator: draw


def index_tuple(layer: Layer, operator: Operator) -> Draw:
    """For GatherND: what is in range on each axis that a tuple names."""
    batch = operator.integer("batch_dims", 0)
    named = input_shape(layer, operator, 1)[-1]
    return below(min(input_shape(layer, operator, 0)[batch : batch + named], default=1))


def unit_rows(heads: str) -> Rule:
    """Rows of so many heads, as an attribute says it, each of which is about one long."""

    def rule(layer: Layer, operator: Operator) -> Draw:
        size = input_shape(layer, operator, 0)[-1] // max(operator.integer(heads, 0), 1)
        high = 1 / sqrt(max(size, 1))
        return Draw(FLOATS.low * high, FLOATS.high * high, FLOATS.signed)

    return rule


LINEAR_ATTENTION: Mapping[int, Rule] = {
    1: unit_rows("q_num_heads"),
    4: always(Draw(-1.0, -0.05)),
    5: always(Draw(0.1, 0.9)),
}
"""Keys that are no longer than one, logarithms of what is kept of a state, and parts of what
corrects it: with others, a state grows from token to token without end."""

STEP = 2.0**-6
"""The scale of all that is quantised, but results of products. That of a bias has to be the product
of two such scales, or ONNX Runtime wouldn't run its convolution on integers.
"""

SPREAD = 60 + sqrt(3)
"""The scale of products of so many times the root of their terms, in steps: so results are all over
the range, and few of them limited. It is no fraction, or results would lie halfway between two
integers."""


_BY_CHANNEL = np.array([1.0, 0.5, 0.25])
"""Factors of scales by channel: they differ, or scales of another channel would do as well."""


def _step(slot: int) -> Rule:
    """The scale of what is in a place, whose own place is the next."""

    def draw(layer: Layer, operator: Operator) -> Array:
        sums = layer.tensors[operator.inputs[slot]].dtype == "int32"
        step = STEP * STEP if sums else STEP
        several = prod(input_shape(layer, operator, slot + 1)) > 1
        return step * _BY_CHANNEL if several else np.array(step)

    return draw


def _written_step(layer: Layer, operator: Operator) -> Array:
    """Larger behind a product of what was quantised, as its results are."""
    kinds = {each.op_type for each in layer.operators}
    product = next((each for each in layer.operators if each.op_type in _PRODUCTS), None)
    if product is None or (product.op_type[0] != "Q" and "DequantizeLinear" not in kinds):
        return np.array(STEP)
    place, axis = _PRODUCTS[product.op_type]
    shape = output_shape(layer, product)
    channels = shape[axis] if shape else 1
    terms = prod(input_shape(layer, product, place)) / max(channels, 1)
    return np.array(STEP * STEP * SPREAD * sqrt(terms))


MIDDLE = 128
"""The zero point of weights in uint8: those of int8 are as many steps below."""


def _point(slot: int) -> Rule:
    """The zero point of what is in a place: 0, or the middle of weights in uint8."""

    def draw(layer: Layer, operator: Operator) -> Draw:
        return Draw(MIDDLE, MIDDLE) if _is_around_middle(layer, operator, slot) else ZERO

    return draw


def _is_around_middle(layer: Layer, operator: Operator, slot: int) -> bool:
    tensor = layer.tensors[operator.inputs[slot]]
    zero = (*operator.inputs[slot + 2 :], OMITTED)[0]
    return tensor.constant and tensor.dtype == "uint8" and zero != OMITTED


def quantised(slot: int) -> Rule:
    """Numbers of both signs. Weights are so small that two products fit into 16 bits: on CPUs
    without VNNI, ONNX Runtime lets larger sums saturate. A bias is as large as a result. In float8,
    all are what random floats are in these steps.
    """

    def draw(layer: Layer, operator: Operator) -> Draw:
        tensor = layer.tensors[operator.inputs[slot]]
        if _is_around_middle(layer, operator, slot):
            return Draw(MIDDLE - 60, MIDDLE + 60)
        match tensor.dtype:
            case "int32":
                return Draw(1000, 10_000)
            case "int8":
                return Draw(1, 60 if tensor.constant else 100, signed=True)
            case "uint8":
                return Draw(1, 60) if tensor.constant else Draw(1, 255)
            case "float8e4m3fn":
                return Draw(FLOATS.low / STEP, FLOATS.high / STEP, FLOATS.signed)
        return INTEGERS

    return draw


_PRODUCTS = {
    "Conv": (1, 1),
    "Gemm": (1, -1),
    "MatMul": (1, -1),
    "QGemm": (3, -1),
    "QLinearConv": (3, 1),
    "QLinearMatMul": (3, -1),
}
"""The place of their weights, and the axis of their result along which these differ."""

QUANTISED: Mapping[int, Rule] = {1: _written_step, 2: always(ZERO)}
"""What a QuantizeLinear reads besides numbers."""

DEQUANTISED: Mapping[int, Rule] = {0: quantised(0), 1: _step(0), 2: _point(0)}
"""What a DequantizeLinear reads."""

QLINEAR: dict[int, Rule] = {
    0: quantised(0),
    1: _step(0),
    2: always(ZERO),
    3: quantised(3),
    4: _step(3),
    5: _point(3),
    6: _written_step,
    7: always(ZERO),
}
"""What a QLinearMatMul reads, and a QLinearConv but for its bias."""

QGEMM: Mapping[int, Rule] = {**QLINEAR, 6: quantised(6), 7: _written_step, 8: always(ZERO)}
