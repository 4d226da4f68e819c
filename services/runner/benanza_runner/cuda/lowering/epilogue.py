"""What follows a product, folded: scales and shifts by channel, a residual, an activation."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from benanza_runner.cuda.activations import Activation, activation
from benanza_runner.cuda.lowering.attributes import number
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer, Operator

Array = npt.NDArray[Any]


class Epilogue:
    """`activation(scale · product + shift + residual)`, with a scale and a shift by channel.

    `channels` of them lie on this axis of the product. The scale is one in which the weights
    of the product are to be multiplied; the name of the `activation` may be empty.
    """

    def __init__(self, layer: Layer, values: Mapping[int, Array], channels: int, axis: int) -> None:
        self._layer = layer
        self._values = values
        self._channels = channels
        self._shape = layer.tensors[layer.operators[0].outputs[0]].shape
        self._axis = axis % max(len(self._shape), 1)
        self.scale = np.ones(channels)
        self.shift = np.zeros(channels)
        self.has_bias = False
        self.residual: Array | None = None
        self.constant_residual = False
        self._computed_bias: Array | None = None
        self._slope: Array | None = None
        self.activation = Activation("")

    def add(self, index: int, factor: float = 1.0) -> None:
        """Adds a bias of the product itself, which has one element or one for each channel.

        Raises `UnsupportedError` for one that is computed, unless it is used as it is.
        """
        bias = self._values[index]
        self.has_bias = True
        if self._layer.tensors[index].constant:
            self.shift = self.shift + bias.astype(np.float64).reshape(-1) * factor
            return
        if len(self._layer.operators) > 1 or factor != 1 or bias.size != self._channels:
            raise UnsupportedError("a bias that is no weight is not fused")
        self._computed_bias = bias

    def add_matrix(self, index: int, factor: float) -> None:
        """Adds a matrix that is as large as the product, or a weight that is repeated to be."""
        self.residual = self._values[index]
        if self._layer.tensors[index].constant:
            matrix = self.residual.astype(np.float64) * factor
            self.residual = np.broadcast_to(matrix, self._shape).astype(np.float32)
            self.constant_residual = True

    def weights(self) -> frozenset[str]:
        """Those of the operands that are."""
        fixed = {"bias"} if self._computed_bias is None else set()
        if self._slope is not None:
            fixed.add("slope")
        return frozenset(fixed | ({"residual"} if self.constant_residual else set()))

    def follow(self) -> None:
        """Takes in all operators after the first. Raises `UnsupportedError`."""
        value = self._layer.operators[0].outputs[0]
        for at, operator in enumerate(self._layer.operators[1:], start=1):
            if operator.op_type == "BatchNormalization":
                self._normalise(operator)
            elif operator.op_type in ("Add", "Sub", "Mul", "Div", "Sum"):
                self._calculate(operator, value)
            else:
                rest = self._layer.operators[at:]
                self.activation = activation(rest, value, self._layer, self._values)
                if self.activation.name == "PRelu":
                    self._take_slopes(operator.inputs[1])
                return
            value = operator.outputs[0]

    def operands(self) -> dict[str, Array]:
        """`bias`, `residual` and `slope`, where they are."""
        found: dict[str, Array] = {}
        if self.has_bias:
            computed = self._computed_bias
            found["bias"] = self.shift.astype(np.float32) if computed is None else computed
        if self.residual is not None:
            found["residual"] = self.residual
        if self._slope is not None:
            found["slope"] = self._slope
        return found

    def _take_slopes(self, index: int) -> None:
        if not self._layer.tensors[index].constant:
            raise UnsupportedError("a PRelu whose slopes are computed is not fused")
        self._slope = np.ascontiguousarray(self._by_channel(index), np.float32)

    def _normalise(self, operator: Operator) -> None:
        self._refuse_after_residual(operator)
        factor, mean, shift = normalisation(operator, self._values)
        self.scale = self.scale * factor
        self.shift = (self.shift - mean) * factor + shift
        self.has_bias = True

    def _calculate(self, operator: Operator, value: int) -> None:
        first = operator.inputs[0] == value
        other = operator.inputs[1] if first else operator.inputs[0]
        if not self._layer.tensors[other].constant:
            if operator.op_type not in ("Add", "Sum") or self.residual is not None:
                raise UnsupportedError(f"no library runs {self._layer.title()} as one call")
            if self._layer.tensors[other].shape != self._shape:
                raise UnsupportedError("a residual of another shape is not fused")
            self.residual = self._values[other]
            return
        self._refuse_after_residual(operator)
        by_channel = self._by_channel(other)
        match operator.op_type:
            case "Mul":
                self.scale, self.shift = self.scale * by_channel, self.shift * by_channel
            case "Div":
                self.scale, self.shift = self.scale / by_channel, self.shift / by_channel
            case "Sub":
                sign = 1 if first else -1
                self.scale = self.scale * sign
                self.shift = (self.shift - by_channel) * sign
                self.has_bias = True
            case _:
                self.shift = self.shift + by_channel
                self.has_bias = True

    def _by_channel(self, index: int) -> Array:
        """A weight as one number for each channel."""
        shape = self._layer.tensors[index].shape
        full = (1,) * (len(self._shape) - len(shape)) + shape
        if any(size != 1 for axis, size in enumerate(full) if axis != self._axis):
            raise UnsupportedError("a weight that differs within a channel is not fused")
        values = self._values[index].astype(np.float64).reshape(-1)
        return np.broadcast_to(values, (self._channels,))

    def _refuse_after_residual(self, operator: Operator) -> None:
        if self.residual is not None:
            raise UnsupportedError(f"no library runs {operator.op_type} after a residual")


def normalisation(operator: Operator, values: Mapping[int, Array]) -> tuple[Array, Array, Array]:
    """Factor, mean and shift by channel: `(x - mean) · factor + shift`.

    Raises `UnsupportedError` for a normalisation in training, which has other statistics.
    """
    if len(operator.outputs) > 1:
        raise UnsupportedError("batch normalisation in training is not done")
    gamma, beta, mean, variance = (
        values[index].astype(np.float64) for index in operator.inputs[1:5]
    )
    return gamma / np.sqrt(variance + number(operator, "epsilon", 1e-5)), mean, beta
