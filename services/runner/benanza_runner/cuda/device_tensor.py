"""Tensors on the device, in the type of a precision and in a layout.

float16 and bfloat16 are kept as `uint16`, because CuPy has no bfloat16 and kernels read both as
bits. Integers keep their own type at every precision; bool and float8 are kept as `uint8`. This
module works on CuPy's arrays without importing CuPy, so NumPy's arrays can stand in for them.
"""

import ctypes
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.elements import FLOAT8
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision

KEPT_AS_BYTES = frozenset(("bool", FLOAT8))
"""Element types whose arrays hold `uint8`."""


@dataclass(frozen=True)
class DeviceTensor:
    """A tensor in memory. `order` lists the tensor's axes from the slowest to the fastest.

    `array` is contiguous and has its axes in that order. `element` names the element type of a
    tensor of integers, bool or float8, and is empty for floats of the precision.
    """

    array: Any
    order: tuple[int, ...]
    precision: Precision
    element: str = ""

    @property
    def element_bytes(self) -> int:
        """The size of an element in bytes."""
        return int(self.array.itemsize)

    @property
    def pointer(self) -> int:
        """The device address of the first element."""
        return int(self.array.data.ptr)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        """What ctypes gives a function that takes the tensor."""
        return ctypes.c_void_p(self.pointer)

    @property
    def shape(self) -> Shape:
        """The shape, in ONNX's order of axes."""
        return tuple(self.array.shape[self.order.index(axis)] for axis in range(len(self.order)))

    @property
    def strides(self) -> Shape:
        """The strides in elements, in ONNX's order of axes."""
        steps = [prod(self.array.shape[position + 1 :]) for position in range(len(self.order))]
        return tuple(steps[self.order.index(axis)] for axis in range(len(self.order)))

    def seen_as(self, shape: Shape, order: tuple[int, ...]) -> "DeviceTensor":
        """The same memory as a tensor of this shape, with its axes in this order."""
        array = self.array.reshape([shape[axis] for axis in order])
        return DeviceTensor(array, order, self.precision, self.element)

    def floats(self) -> Any:
        """A copy or view as float32, with its axes in ONNX's order."""
        inverse = tuple(self.order.index(axis) for axis in range(len(self.order)))
        if self.element == FLOAT8:
            return from_float8(self.array).transpose(inverse)
        if self.element:
            return self.array.astype(np.float32).transpose(inverse)
        return from_bits(self.array, self.precision).transpose(inverse)

    def poison(self) -> None:
        """Sets all bits, so that elements that nothing writes are seen.

        A float is then NaN, of 8 bits too, an integer -1 or its greatest value, and a bool 255.
        """
        self.array.reshape(-1).view(np.uint8).fill(0xFF)


@dataclass(frozen=True, kw_only=True)
class AppendedTensor(DeviceTensor):
    """A tensor with axes in ONNX's order, of which a call writes what is at the index `new`, whole
    rows of the last axis. The others hold what was there before the call.
    """

    new: tuple[Any, ...]

    def poison(self) -> None:
        """Sets all bits of what the call writes."""
        self.array.view(np.uint8)[self.new] = 0xFF


def stored_as(precision: Precision, element: str = "") -> np.dtype[Any]:
    """The type of arrays that hold floats of a precision, or elements of the named type."""
    if element:
        return np.dtype("uint8" if element in KEPT_AS_BYTES else element)
    return np.dtype("float32" if PRECISIONS[precision].bytes == 4 else "uint16")


def to_bits(array: Any, precision: Precision) -> Any:
    """A float32 array in the type of the precision, rounded to the nearest, ties to even."""
    if precision == "fp16":
        return array.astype(np.float16).view(np.uint16)
    if precision == "bf16":
        bits = array.view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return array


def from_bits(array: Any, precision: Precision) -> Any:
    """The reverse of `to_bits`: the same numbers as float32."""
    if precision == "fp16":
        return array.view(np.float16).astype(np.float32)
    if precision == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array


def from_float8(codes: Any) -> Any:
    """The numbers that codes of float8e4m3fn stand for, as float32.

    The bits of a float16 with the same sign, exponent and mantissa are 2^8 times too small, since
    its exponents are counted from 15 instead of 7.
    """
    bits = codes.astype(np.uint16)
    nan = ((bits & 0x7F) == 0x7F).astype(np.uint16) * 0x7C00
    halves = (((bits & 0x80) << 8) | ((bits & 0x7F) << 7) | nan).view(np.float16)
    return halves.astype(np.float32) * np.float32(256)
