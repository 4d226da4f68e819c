"""What follows a product, folded: scales and shifts by channel, a residual, an activation."""

from collections.abc import Mapping

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.lowering.affine import OPERATORS, Affine
from benanza_runner.cuda.lowering.products.activations import Activation, activation
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer, Operator


class Epilogue:
    """`activation(scale · product + shift + residual)`, with a scale and a shift by channel.

    There are `channels` of them, along this axis of the product, which is the layer's operator at
    the position `product`. The weights of the product are to be multiplied with the scale. The name
    of the `activation` is empty if there is none.
    """

    def __init__(
        self, layer: Layer, values: Mapping[int, Array], channels: int, axis: int, product: int = 0
    ) -> None:
        self._layer = layer
        self._values = values
        self._channels = channels
        self._product = product
        self._shape = layer.tensors[layer.operators[product].outputs[0]].shape
        axis %= max(len(self._shape), 1)
        self._affine = Affine(layer, values, self._shape, channels, axis)
        self.residual: Array | None = None
        self.constant_residual = False
        self._computed_bias: Array | None = None
        self._slope: Array | None = None
        self.activation = Activation("")

    @property
    def scale(self) -> Array:
        """The scale by channel, in float64."""
        return self._affine.scale

    @property
    def has_bias(self) -> bool:
        """Whether there is an operand `bias`."""
        return self._affine.shifts or self._computed_bias is not None

    def add_vector(self, vector: Array) -> None:
        """Adds a number for each channel to the product itself."""
        self._affine.add(vector)

    def add(self, index: int, factor: float = 1.0) -> None:
        """Adds a bias of the product itself, which has one element or one for each channel.

        Raises `UnsupportedError` if it is computed and can't be used as it is.
        """
        bias = self._values[index]
        if self._layer.tensors[index].constant:
            self._affine.add(bias.astype(np.float64).reshape(-1) * factor)
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
        """The names of the operands that are weights."""
        fixed = {"bias"} if self._computed_bias is None else set()
        if self._slope is not None:
            fixed.add("slope")
        return frozenset(fixed | ({"residual"} if self.constant_residual else set()))

    def follow(self) -> None:
        """Folds all operators after the product in. Raises `UnsupportedError`."""
        value = self._layer.operators[self._product].outputs[0]
        rest = self._layer.operators[self._product + 1 :]
        for position, operator in enumerate(rest):
            if operator.op_type not in OPERATORS:
                self.activation = activation(rest[position:], value, self._layer, self._values)
                if self.activation.name == "PRelu":
                    self._take_slopes(operator.inputs[1])
                return
            added = self._added(operator, value)
            if added is not None:
                self._add_residual(added)
            elif self.residual is not None:
                raise UnsupportedError(f"no library runs {operator.op_type} after a residual")
            else:
                self._affine.follow(operator, value)
            value = operator.outputs[0]

    def operands(self) -> dict[str, Array]:
        """Those of `bias`, `residual` and `slope` that there are."""
        arrays: dict[str, Array] = {}
        if self.has_bias:
            computed = self._computed_bias
            shift = self._affine.shift.astype(np.float32)
            arrays["bias"] = shift if computed is None else computed
        if self.residual is not None:
            arrays["residual"] = self.residual
        if self._slope is not None:
            arrays["slope"] = self._slope
        return arrays

    def _take_slopes(self, index: int) -> None:
        if not self._layer.tensors[index].constant:
            raise UnsupportedError("a PRelu whose slopes are computed is not fused")
        self._slope = np.ascontiguousarray(self._affine.by_channel(index), np.float32)

    def _added(self, operator: Operator, value: int) -> int | None:
        """The computed value that an operator adds to a value; None if it adds none."""
        if operator.op_type not in ("Add", "Sum") or len(operator.inputs) != 2:
            return None
        first, second = operator.inputs
        other = second if first == value else first
        return None if self._layer.tensors[other].constant else other

    def _add_residual(self, index: int) -> None:
        if self.residual is not None or index not in self._values:
            raise UnsupportedError(f"no library runs {self._layer.title()} as one call")
        if self._layer.tensors[index].shape != self._shape:
            raise UnsupportedError("a residual of another shape is not fused")
        self.residual = self._values[index]
