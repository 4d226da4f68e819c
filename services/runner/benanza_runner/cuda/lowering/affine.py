"""Operators that scale and shift a value by channel with weights, folded into one."""

from collections.abc import Mapping

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer, Operator

OPERATORS = frozenset("BatchNormalization Add Sub Mul Div Sum".split())


class Affine:
    """`scale · x + shift` for an `x` of this shape, in float64.

    `scale` and `shift` have `channels` numbers, along this axis of `x`. `shifts` says whether
    anything was added.
    """

    def __init__(
        self, layer: Layer, values: Mapping[int, Array], shape: Shape, channels: int, axis: int
    ) -> None:
        self._layer = layer
        self._values = values
        self._shape = shape
        self._channels = channels
        self._axis = axis
        self.scale = np.ones(channels)
        self.shift = np.zeros(channels)
        self.shifts = False

    def add(self, vector: Array) -> None:
        """Adds one number to all channels, or one to each."""
        self.shift = self.shift + vector
        self.shifts = True

    def follow(self, operator: Operator, value: int) -> None:
        """Folds one of `OPERATORS` in, which reads the value at this position of the layer.

        Raises `UnsupportedError` where it can't be folded.
        """
        if operator.op_type == "BatchNormalization":
            factor, mean, shift = normalisation(operator, self._values)
            self._multiply(factor)
            self.add(shift - mean * factor)
            return
        if len(operator.inputs) != 2:
            raise UnsupportedError(f"a {operator.op_type} of several values is not fused")
        first = operator.inputs[0] == value
        by_channel = self.by_channel(operator.inputs[1] if first else operator.inputs[0])
        match operator.op_type:
            case "Mul":
                self._multiply(by_channel)
            case "Div" if first:
                self._multiply(1 / by_channel)
            case "Sub" if first:
                self.add(-by_channel)
            case "Sub":
                self._multiply(-np.ones(self._channels))
                self.add(by_channel)
            case "Add" | "Sum":
                self.add(by_channel)
            case _:
                raise UnsupportedError("a weight that is divided by a value is not fused")

    def by_channel(self, index: int) -> Array:
        """A weight as one number for each channel.

        Raises `UnsupportedError` if it is computed, or differs within a channel.
        """
        tensor = self._layer.tensors[index]
        if not tensor.constant:
            raise UnsupportedError(f"no library runs {self._layer.title()} as one call")
        full = (1,) * (len(self._shape) - len(tensor.shape)) + tensor.shape
        if any(size != 1 for axis, size in enumerate(full) if axis != self._axis):
            raise UnsupportedError("a weight that differs within a channel is not fused")
        values = self._values[index].astype(np.float64).reshape(-1)
        return np.broadcast_to(values, (self._channels,))

    def _multiply(self, vector: Array) -> None:
        self.scale, self.shift = self.scale * vector, self.shift * vector


def normalisation(operator: Operator, values: Mapping[int, Array]) -> tuple[Array, Array, Array]:
    """Factor, mean and shift of a BatchNormalization by channel: `(x - mean) · factor + shift`.

    Raises `UnsupportedError` for one in training, which has other statistics.
    """
    if len(operator.outputs) > 1:
        raise UnsupportedError("batch normalisation in training is not supported")
    gamma, beta, mean, variance = (
        values[index].astype(np.float64) for index in operator.inputs[1:5]
    )
    return gamma / np.sqrt(variance + operator.number("epsilon", 1e-5)), mean, beta
