"""What ONNX Runtime fuses in diffusion models and runs on GPUs alone, computed in NumPy.

Source: the operators' definitions in ONNX Runtime.
"""

from collections.abc import Mapping

import numpy as np

from benanza_runner.arrays import Array
from benanza_schemas.layer import OMITTED, Layer, Operator

ON_GPUS_ALONE = frozenset("BiasAdd BiasSoftmax BiasSplitGelu GroupNorm SkipGroupNorm".split())
"""Operators of `com.microsoft`."""


def is_of_diffusion(layer: Layer) -> bool:
    """Whether a layer is one of these operators alone."""
    first = layer.operators[0]
    return len(layer.operators) == 1 and bool(first.domain) and first.op_type in ON_GPUS_ALONE


def diffused(layer: Layer, values: Mapping[int, Array]) -> list[Array]:
    """What the layer's results are, as float32."""
    (operator,) = layer.operators
    read = [values[index].astype(np.float64) for index in operator.inputs if index != OMITTED]
    results = {operator.outputs[0]: _result(operator, read)}
    if len(operator.outputs) > 1:
        results[operator.outputs[1]] = _total(operator, read)
    return [results[index].astype(np.float32) for index in layer.outputs]


def _result(operator: Operator, read: list[Array]) -> Array:
    match operator.op_type:
        case "BiasAdd":
            return read[0] + read[1] + read[2]
        case "BiasSoftmax":
            powers = np.exp(read[0] + read[1])
            return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
        case "BiasSplitGelu":
            left, right = np.split(read[0] + read[1], 2, axis=-1)
            return np.asarray(left * right * (1 + _erf(right / np.sqrt(2))) / 2)
    return _group_norm(operator, _total(operator, read), *read[1:3])


def _total(operator: Operator, read: list[Array]) -> Array:
    """The feature map that is normalised: the first input with all behind the second and third."""
    total = read[0]
    last = operator.integer("channels_last", 1)
    ones = (1,) * (total.ndim - 2)
    for added in read[3:]:
        if added.ndim < total.ndim:
            batch, channels = np.atleast_2d(added).shape
            added = added.reshape((batch, *ones, channels) if last else (batch, channels, *ones))
        total = total + added
    return total


def _group_norm(operator: Operator, x: Array, scale: Array, shift: Array) -> Array:
    last = operator.integer("channels_last", 1)
    first = np.moveaxis(x, -1, 1) if last else x
    rows = first.reshape(first.shape[0], operator.integer("groups"), -1)
    centred = rows - rows.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + operator.number("epsilon", 1e-5))
    by_channel = (-1, *(1,) * (first.ndim - 2))
    normed = (centred / spread).reshape(first.shape)
    normed = normed * scale.reshape(by_channel) + shift.reshape(by_channel)
    if operator.integer("activation", 0):
        normed = normed / (1 + np.exp(-normed))
    return np.moveaxis(normed, 1, -1) if last else np.asarray(normed)


def _erf(x: Array) -> Array:
    """Abramowitz and Stegun, "Handbook of Mathematical Functions", 1964, 7.1.26: to 1.5e-7."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    series = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    return np.asarray(np.sign(x) * (1 - series * np.exp(-(x**2))))
