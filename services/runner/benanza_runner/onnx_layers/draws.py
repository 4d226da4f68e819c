"""What inputs of layers may hold, and what says so."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_schemas.layer import Layer, Operator


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


STEP = 2.0**-6
"""The scale of all that is quantised. That of a bias has to be the product of two such scales, or
ONNX Runtime wouldn't run its convolution on integers.
"""


def _step(layer: Layer, operator: Operator) -> Array:
    sums = layer.tensors[operator.inputs[0]].dtype == "int32"
    return np.array(STEP * STEP if sums else STEP)


QUANTISED: Mapping[int, Rule] = {1: _step, 2: always(ZERO)}
"""What a QuantizeLinear and a DequantizeLinear read besides numbers."""
