"""What a layer's operators read as floats, and keep in few bits: behind a DequantizeLinear.

Source: ONNX's `DequantizeLinear`.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.onnx_layers.draws import MIDDLE
from benanza_schemas.layer import OMITTED, Layer, Operator

DEQUANTISE = "DequantizeLinear"


class Dequantised(NamedTuple):
    """What a DequantizeLinear of a layer reads, and its scale in float64.

    `turned` says that a Transpose of the weights follows, and `axis` is that of several scales.
    """

    place: int
    scale: Array
    axis: int
    turned: bool

    def along(self, axis: int, channels: int) -> Array:
        """The scale of each channel along this axis of what is read."""
        if self.scale.size not in (1, channels) or (self.scale.size > 1 and self.axis != axis):
            raise UnsupportedError("weights with scales along another axis are not multiplied so")
        return np.broadcast_to(self.scale, (channels,))


class DequantisedInputs:
    """What a layer's operators read dequantised."""

    def __init__(self, layer: Layer, values: Mapping[int, Array]) -> None:
        self._layer = layer
        self._values = values
        self._writers = {
            output: operator for operator in layer.operators for output in operator.outputs
        }

    def source(self, index: int) -> Operator | None:
        """The DequantizeLinear that writes a tensor, or the Transpose of one that does."""
        writer = self._writers.get(index)
        if writer is not None and writer.op_type == "Transpose":
            turns = writer.integers("perm", (1, 0)) == (1, 0)
            writer = self._writers.get(writer.inputs[0]) if turns else None
        return writer if writer is not None and writer.op_type == DEQUANTISE else None

    def dequantised(self, index: int) -> Dequantised:
        """What the DequantizeLinear of a tensor reads. Raises `UnsupportedError`."""
        source = self.source(index)
        if source is None:
            raise UnsupportedError(f"{self._layer.title()} also reads floats")
        shape = self._layer.tensors[source.inputs[0]].shape
        turned = self._writers[index] is not source
        if turned and len(shape) != 2:
            raise UnsupportedError("a Transpose of more than two axes is not multiplied so")
        if source.integer("block_size", 0):
            raise UnsupportedError("a quantised product by blocks is not supported yet")
        axis = source.integer("axis", 1) % max(len(shape), 1)
        return Dequantised(source.inputs[0], self.scale(source), axis, turned)

    def scale(self, operator: Operator) -> Array:
        """The scale of a QuantizeLinear or DequantizeLinear, whose zero point has to be 0, or of
        weights in uint8 the middle: `signed` moves them.
        """
        scale, zero = (*operator.inputs[1:], OMITTED)[:2]
        if not all(self._layer.tensors[i].constant for i in (scale, zero) if i != OMITTED):
            raise UnsupportedError("a scale that is computed is not supported yet")
        read = self._layer.tensors[operator.inputs[0]]
        middle = MIDDLE if read.constant and read.dtype == "uint8" else 0
        points = np.zeros(1) if zero == OMITTED else self._values[zero].astype(np.float64)
        if np.any(points != middle):
            raise UnsupportedError(
                f"a quantised product with another zero point than {middle} is not supported yet"
            )
        return self._values[scale].astype(np.float64).reshape(-1)


def signed(weights: Array) -> Array:
    """Weights with 0 as their zero point: those of uint8 as int8."""
    if weights.dtype != np.uint8:
        return weights
    moved: Array = (weights.astype(np.int16) - MIDDLE).astype(np.int8)
    return moved
