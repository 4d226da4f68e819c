"""Tensors on the device, in the type of a precision and in a layout.

float16 and bfloat16 are kept as `uint16`: CuPy has no bfloat16, and kernels read both as bits.
Integers keep their own type at every precision; bool is kept as `uint8`.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import cupy
import numpy as np
import numpy.typing as npt

from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.elements import IN_MEMORY
from benanza_schemas.layer import Precision

BYTES: dict[Precision, int] = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2}
"""Of a float."""


@dataclass(frozen=True)
class Placed:
    """A tensor in memory: `order` lists the tensor's axes from the slowest to the fastest.

    `array` is contiguous and has its axes in that order. `element` names the type of what
    isn't a float of the precision.
    """

    array: Any
    order: tuple[int, ...]
    precision: Precision
    element: str = ""

    @property
    def element_bytes(self) -> int:
        return int(self.array.itemsize)

    @property
    def pointer(self) -> int:
        return int(self.array.data.ptr)

    @property
    def shape(self) -> Shape:
        """In ONNX's order of axes."""
        return tuple(self.array.shape[self.order.index(axis)] for axis in range(len(self.order)))

    @property
    def strides(self) -> Shape:
        """In elements, in ONNX's order of axes."""
        steps = [prod(self.array.shape[at + 1 :]) for at in range(len(self.order))]
        return tuple(steps[self.order.index(axis)] for axis in range(len(self.order)))

    def floats(self) -> Any:
        """As float32, with its axes in ONNX's order."""
        inverse = tuple(self.order.index(axis) for axis in range(len(self.order)))
        if self.element:
            return self.array.astype(cupy.float32).transpose(inverse)
        return from_bits(self.array, self.precision).transpose(inverse)

    def poison(self) -> None:
        """Fills it with NaN, or what no bool is, or -1, so that what isn't written shows."""
        self.array.reshape(-1).view(cupy.uint8).fill(0xFF)


def placed(array: npt.NDArray[Any], order: tuple[int, ...], precision: Precision) -> Placed:
    """An array of the host on the device in this order of axes, floats rounded."""
    name = array.dtype.name
    if name in IN_MEMORY:
        there = cupy.asarray(array.view(np.uint8) if name == "bool" else array)
        return Placed(_ordered(there, order), order, precision, name)
    there = cupy.asarray(array, dtype=cupy.float32)
    return Placed(to_bits(_ordered(there, order), precision), order, precision)


def empty(shape: Shape, order: tuple[int, ...], precision: Precision, element: str = "") -> Placed:
    """Memory for a tensor of this shape, of floats or of the elements that are named."""
    dtype = stored_as(precision, element)
    return Placed(cupy.empty([shape[axis] for axis in order], dtype), order, precision, element)


def stored_as(precision: Precision, element: str = "") -> np.dtype[Any]:
    """The type of arrays that hold floats of a precision, or the elements that are named."""
    if element:
        return np.dtype("uint8" if element == "bool" else element)
    return np.dtype("float32" if BYTES[precision] == 4 else "uint16")


def _ordered(array: Any, order: tuple[int, ...]) -> Any:
    return cupy.ascontiguousarray(array.transpose(order))


def to_bits(array: Any, precision: Precision) -> Any:
    """A float32 array in the type of the precision, rounded to the nearest, ties to even."""
    if precision == "fp16":
        return array.astype(cupy.float16).view(cupy.uint16)
    if precision == "bf16":
        bits = array.view(cupy.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(cupy.uint16)
    return array


def from_bits(array: Any, precision: Precision) -> Any:
    """The reverse of `to_bits`."""
    if precision == "fp16":
        return array.view(cupy.float16).astype(cupy.float32)
    if precision == "bf16":
        return (array.astype(cupy.uint32) << 16).view(cupy.float32)
    return array


def relative_error(result: Any, expected: npt.NDArray[Any]) -> float:
    """‖result − expected‖ / ‖expected‖; infinite for another shape."""
    if result.size != expected.size:
        return float("inf")
    there = cupy.asarray(expected, dtype=cupy.float32).reshape(-1)
    difference = cupy.linalg.norm(result.reshape(-1) - there)
    size = cupy.linalg.norm(there)
    return float(difference) / max(float(size), float(np.finfo(np.float32).tiny))
