"""Random inputs and weights for the calls of a model, through which values stay of one size."""

from collections.abc import Iterator
from math import prod, sqrt

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.lowering.products.einsum import terms_of
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.onnx_layers.precision import rounded
from benanza_schemas.element_types import FLOATS
from benanza_schemas.layer import Layer, Operator, Precision
from benanza_schemas.operators.table import named

TYPICAL = 0.68
"""The root of the mean square of a weight: see `random_values.FLOATS`."""

RECTIFIERS = named(lambda facts: facts.activation) - {"Selu", "Softplus", "Tanh", "ThresholdedRelu"}
"""Activations that halve the mean square of what they are given, roughly. He, Zhang, Ren and Sun,
"Delving Deep into Rectifiers", 2015.
"""


def model_inputs(layer: Layer, precision: Precision) -> dict[int, Array]:
    """What `random_inputs` returns, with the weights of products and convolutions so small that
    values neither grow nor vanish along a model. Raises what `random_inputs` raises.
    """
    values = random_inputs(layer, precision)
    gain = 2 if any(operator.op_type in RECTIFIERS for operator in layer.operators) else 1
    for operator in layer.operators:
        for index, terms in _weights(layer, operator):
            tensor = layer.tensors[index]
            if tensor.constant and tensor.value is None and tensor.dtype in FLOATS:
                factor = np.float32(sqrt(gain / max(terms, 1)) / TYPICAL)
                values[index] = rounded(values[index] * factor, precision)
    return values


def _weights(layer: Layer, operator: Operator) -> Iterator[tuple[int, int]]:
    """The inputs that may be weights, each with the number of products that a result sums up."""
    inputs = operator.inputs
    shapes = [layer.tensors[index].shape for index in inputs[:2]]
    match operator.op_type:
        case "Conv":
            yield inputs[1], prod(shapes[1][1:])
        case "ConvTranspose":
            yield inputs[1], shapes[1][0] // operator.integer("group", 1)
        case "MatMul":
            yield inputs[0], shapes[0][-1]
            yield inputs[1], shapes[1][-2:][0]
        case "Gemm":
            yield inputs[0], shapes[0][0 if operator.integer("transA", 0) else 1]
            yield inputs[1], shapes[1][1 if operator.integer("transB", 0) else 0]
        case "Einsum" if len(inputs) == 2:
            *operands, result = terms_of(operator)
            sizes = {
                letter: size
                for term, shape in zip(operands, shapes, strict=True)
                for letter, size in zip(term, shape, strict=True)
            }
            summed = prod(size for letter, size in sizes.items() if letter not in result)
            yield inputs[0], summed
            yield inputs[1], summed
