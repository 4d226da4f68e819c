"""The inputs that a submitted kernel gets, which nobody can know before, and what they should give.

The referee draws them, and computes results, in its own process.
"""

from collections.abc import Mapping
from math import prod

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.reference import CpuLayer
from benanza_runner.onnx_layers.onnx_schemas import numpy_dtype
from benanza_runner.onnx_layers.random_values import fresh_value, random_value
from benanza_runner.submitted.disturbance import pool_size
from benanza_runner.submitted.signature import KernelOperand, Signature
from benanza_schemas.layer import Layer, Precision


class Draws:
    """Draws values for a layer at a precision, and computes its results with one thread.

    `layer` is in the model's own types, `signature` in those of the precision. Where results would
    be no numbers, all floats are positive.
    """

    def __init__(
        self,
        layer: Layer,
        signature: Signature,
        precision: Precision,
        random: np.random.Generator,
    ) -> None:
        self._layer = layer
        self._signature = signature
        self._precision: Precision = precision
        self._random = random
        self._positive = False
        self._cpu: CpuLayer | None = None
        weights, inputs = self.weights(), self.inputs()
        self.use(weights)
        self._positive = any(map(_has_nan, self.expected(inputs)))

    def weights(self) -> list[Array]:
        """New weights, in the order of the signature's."""
        return [self._fresh(operand, prod(operand.shape)) for operand in self._signature.weights]

    def inputs(self) -> list[Array]:
        """New values of the inputs that are no weights, in their order."""
        return [self._fresh(operand, prod(operand.shape)) for operand in self._changing]

    def pools(self) -> list[Array]:
        """What each of these inputs may be changed with between two calls."""
        sizes = (pool_size(prod(operand.shape)) for operand in self._changing)
        return [
            self._fresh(operand, size).reshape(-1)
            for operand, size in zip(self._changing, sizes, strict=True)
        ]

    def use(self, weights: list[Array]) -> None:
        """Computes with these weights from now on. Raises whatever ONNX Runtime raises."""
        given = self._by_index(self._signature.weights, weights)
        self._cpu = CpuLayer(self._layer, given, self._precision, 1)

    def expected(self, inputs: list[Array]) -> list[Array]:
        """The layer's results for these inputs. Raises whatever ONNX Runtime raises."""
        assert self._cpu is not None, "weights come first"
        return self._cpu.results(self._by_index(self._changing, inputs))

    @property
    def _changing(self) -> list[KernelOperand]:
        return [operand for operand in self._signature.inputs if not operand.constant]

    def _fresh(self, operand: KernelOperand, size: int) -> Array:
        drawn = fresh_value(self._layer, operand.index, self._precision, self._random, size)
        shape = operand.shape if size == prod(operand.shape) else (size,)
        if drawn is None:  # A rule says what each element is.
            drawn = np.resize(random_value(self._layer, operand.index, self._precision), shape)
        if self._positive and drawn.dtype.kind == "f":
            drawn = np.abs(drawn)
        return drawn.reshape(shape).astype(numpy_dtype(operand.dtype))

    def _by_index(
        self, operands: tuple[KernelOperand, ...] | list[KernelOperand], arrays: list[Array]
    ) -> Mapping[int, Array]:
        """In the layer's own types."""
        tensors = self._layer.tensors
        return {
            operand.index: array.astype(numpy_dtype(tensors[operand.index].dtype))
            for operand, array in zip(operands, arrays, strict=True)
        }


def _has_nan(array: Array) -> bool:
    return array.dtype.kind == "f" and bool(np.isnan(array).any())
