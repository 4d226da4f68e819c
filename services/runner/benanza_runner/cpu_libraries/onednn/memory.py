"""Memory as oneDNN sees it: descriptors of tensors, and tensors on the host."""

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any
from weakref import finalize

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cpu_libraries.onednn.binding import DataType, OneDnnApi

ALIGNMENT = 64
"""Bytes of a line of the cache, which vectors are aligned to."""

ANY = 1
"""`dnnl_format_tag_any`: oneDNN chooses how the tensor lies."""

BLOCKED = {(4, 8): 102, (5, 8): 142, (4, 16): 78, (5, 16): 121}
"""`dnnl_aBcd8b` and the like, by the number of axes and the channels of a block."""

KINDS = {"float32": DataType.F32, "float16": DataType.F16, "bfloat16": DataType.BF16}
"""By NumPy's names."""

Shape = tuple[int, ...]


class TensorDescriptor:
    """How a tensor lies in memory: `dnnl_memory_desc_t`."""

    def __init__(self, onednn: OneDnnApi, handle: ctypes.c_void_p, *, owned: bool = True) -> None:
        self._onednn = onednn
        self._as_parameter_ = handle
        if owned:
            finalize(self, onednn.value, "dnnl_memory_desc_destroy", handle)

    @property
    def bytes(self) -> int:
        """How many bytes the tensor takes, with all padding."""
        return int(self._onednn.value("dnnl_memory_desc_get_size", self))

    def equals(self, other: "TensorDescriptor") -> bool:
        """Whether tensors of both lie in the same way."""
        return bool(self._onednn.value("dnnl_memory_desc_equal", self, other))


def strided(
    onednn: OneDnnApi, shape: Shape, kind: DataType, strides: Sequence[int] | None = None
) -> TensorDescriptor:
    """A tensor with these strides in elements; by default the last axis is the fastest."""
    if strides is None:
        strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    handle = ctypes.c_void_p()
    sizes = longs(shape), int(kind), longs(strides)
    name = "dnnl_memory_desc_create_with_strides"
    onednn.call(name, ctypes.byref(handle), len(shape), *sizes)
    return TensorDescriptor(onednn, handle)


def _tagged(onednn: OneDnnApi, shape: Shape, kind: DataType, tag: int) -> TensorDescriptor:
    handle = ctypes.c_void_p()
    name = "dnnl_memory_desc_create_with_tag"
    onednn.call(name, ctypes.byref(handle), len(shape), longs(shape), int(kind), tag)
    return TensorDescriptor(onednn, handle)


def anyhow(onednn: OneDnnApi, shape: Shape, kind: DataType) -> TensorDescriptor:
    """A tensor that may lie as the primitive wants it."""
    return _tagged(onednn, shape, kind, ANY)


def in_blocks(onednn: OneDnnApi, shape: Shape, kind: DataType, block: int) -> TensorDescriptor:
    """A tensor whose channels, axis 1, are in blocks of so many, the channels of a block last."""
    return _tagged(onednn, shape, kind, BLOCKED[len(shape), block])


def channels_last(onednn: OneDnnApi, shape: Shape, kind: DataType) -> TensorDescriptor:
    """A tensor whose channels, axis 1, lie last."""
    _, channels, *space = shape
    strides = (
        prod(shape[1:]),
        1,
        *(channels * prod(space[axis + 1 :]) for axis in range(len(space))),
    )
    return strided(onednn, shape, kind, strides)


class Memory:
    """A tensor on the host: `dnnl_memory_t`, with the bytes that it lies in.

    It begins `start` bytes after the first of these.
    """

    def __init__(
        self, onednn: OneDnnApi, descriptor: TensorDescriptor, data: Array, start: int = 0
    ) -> None:
        self.descriptor = descriptor
        self.data = data
        self.handle = ctypes.c_void_p()
        place = ctypes.c_void_p(data.ctypes.data + start)
        onednn.call(
            "dnnl_memory_create", ctypes.byref(self.handle), descriptor, onednn.engine, place
        )
        finalize(self, onednn.value, "dnnl_memory_destroy", self.handle)


def of_array(onednn: OneDnnApi, array: Array) -> Memory:
    """A copy of an array, whose last axis is the fastest."""
    array = np.ascontiguousarray(array)
    described = strided(onednn, array.shape, KINDS[array.dtype.name])
    memory = empty(onednn, described)
    memory.data[:] = array.reshape(-1).view(np.uint8)
    return memory


def as_array(memory: Memory, shape: Shape, dtype: np.dtype[Any]) -> Array:
    """A tensor that lies as ONNX has it, as an array of this shape and type."""
    array: Array = memory.data[: prod(shape) * dtype.itemsize].view(dtype)
    return array.reshape(shape).copy()


def empty(onednn: OneDnnApi, descriptor: TensorDescriptor) -> Memory:
    """New memory for a tensor, of which no byte is written yet."""
    return Memory(onednn, descriptor, aligned(descriptor.bytes))


def aligned(size: int) -> Array:
    """So many bytes, zero at first, that begin where a line of the cache does."""
    data = np.zeros(size + ALIGNMENT, np.uint8)
    skipped = -data.ctypes.data % ALIGNMENT
    return data[skipped : skipped + size]


def longs(numbers: Sequence[int]) -> Any:
    """`dnnl_dims_t`: the numbers as an array of C's `int64_t`."""
    return (ctypes.c_int64 * 12)(*numbers)
