"""Memory of the device: tensors made of arrays of the host, and compared with them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.device_tensor import KEPT_AS_BYTES, DeviceTensor, stored_as, to_bits
from benanza_runner.cuda.elements import IN_MEMORY
from benanza_runner.onnx_layers.onnx_schemas import onnx_dtype
from benanza_schemas.layer import Precision


class DeviceMemory:
    """Allocates with `arrays`, a module that has NumPy's functions: CuPy on a GPU.

    Tests pass NumPy, so that what is built on this class runs without a GPU.
    """

    def __init__(self, arrays: Any) -> None:
        self._arrays = arrays

    def copied(self, array: Array, order: tuple[int, ...], precision: Precision) -> DeviceTensor:
        """An array of the host as a tensor with this order of axes. Floats are rounded."""
        name = onnx_dtype(array.dtype)
        if name in IN_MEMORY:
            there = self._arrays.asarray(array.view(np.uint8) if name in KEPT_AS_BYTES else array)
            return DeviceTensor(self._ordered(there, order), order, precision, name)
        there = self._arrays.asarray(array, dtype=np.float32)
        return DeviceTensor(to_bits(self._ordered(there, order), precision), order, precision)

    def empty(
        self, shape: Shape, order: tuple[int, ...], precision: Precision, element: str = ""
    ) -> DeviceTensor:
        """Memory for a tensor of this shape, of floats or of elements of the named type."""
        dtype = stored_as(precision, element)
        array = self._arrays.empty([shape[axis] for axis in order], dtype)
        return DeviceTensor(array, order, precision, element)

    def made_of(self, array: Any, make: Callable[[Any, Any], Any]) -> Any:
        """What `make` makes of the module of arrays and an array on the device."""
        return make(self._arrays, array)

    def bytes(self, size: int) -> Any:
        """An array of so many bytes, which hold anything."""
        return self._arrays.empty(size, np.uint8)

    def floats(self, array: Array) -> Any:
        """An array of the host as float32 on the device."""
        return self._arrays.asarray(np.asarray(array, np.float32))

    def relative_error(self, result: Any, expected: Any) -> float:
        """‖result − expected‖ / ‖expected‖ of float32 arrays on the device; infinite if their sizes
        differ.
        """
        if result.size != expected.size:
            return float("inf")
        there = expected.reshape(-1)
        difference = self._arrays.linalg.norm(result.reshape(-1) - there)
        size = self._arrays.linalg.norm(there)
        return float(difference) / max(float(size), float(np.finfo(np.float32).tiny))

    def _ordered(self, array: Any, order: tuple[int, ...]) -> Any:
        return self._arrays.ascontiguousarray(array.transpose(order))
