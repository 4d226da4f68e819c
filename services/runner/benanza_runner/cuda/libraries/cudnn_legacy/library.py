"""The library itself, through ctypes: no maintained Python package binds it.

Names and numbers are those of `cudnn_ops.h` and `cudnn_cnn.h` of cuDNN 9.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import cudnn

from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import MAX_SCRATCH_BYTES, Workspace
from benanza_runner.nvidia import loaded_library
from benanza_schemas.layer import Precision

LIBRARY = "cudnn-legacy"

DATA_TYPE: dict[Precision, int] = {"fp32": 0, "tf32": 0, "fp16": 2, "bf16": 9}
CROSS_CORRELATION = 1
ACTIVATION = {"": 5, "Relu": 1}
FILTER_FORMAT = {"NCHW": 0, "NHWC": 1, "NCDHW": 0, "NDHWC": 1}

MATH: dict[Precision, int] = {"fp32": 3, "tf32": 0, "fp16": 1, "bf16": 1}
"""CUDNN_FMA_MATH, which uses no Tensor Cores; CUDNN_DEFAULT_MATH, which multiplies float32 in TF32;
CUDNN_TENSOR_OP_MATH."""

ONE, ZERO = (ctypes.byref(ctypes.c_float(factor)) for factor in (1.0, 0.0))
"""Factors of what a call computes, and of what its result held before."""


class CudnnError(RuntimeError):
    """cuDNN refused a call; the text is cuDNN's."""


class CudnnLibrary:
    """The library that `nvidia-cudnn-frontend` has loaded, with a handle on one stream.

    Arguments of its functions are what ctypes takes, descriptors and scratch memory.
    """

    def __init__(self, stream: int) -> None:
        cudnn.backend_version()  # Loads it.
        library = loaded_library("libcudnn.so")
        if library is None:
            raise CudnnError("libcudnn is not loaded")
        self._library = library
        self._library.cudnnGetErrorString.restype = ctypes.c_char_p
        self._handle = ctypes.c_void_p()
        self.call("cudnnCreate", ctypes.byref(self._handle))
        self.use(stream)

    def use(self, stream: int) -> None:
        """Starts what follows on this stream."""
        self.run("cudnnSetStream", ctypes.c_void_p(stream))

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function. Raises `CudnnError` unless it says CUDNN_STATUS_SUCCESS."""
        status = getattr(self._library, name)(*arguments)
        if status:
            text = self._library.cudnnGetErrorString(status)
            raise CudnnError(f"{name}: {text.decode()}")

    def run(self, name: str, *arguments: Any) -> None:
        """Calls a function whose first argument is the handle."""
        self.call(name, self._handle, *arguments)

    def tensor(
        self, precision: Precision, shape: Sequence[int], strides: Sequence[int]
    ) -> "Descriptor":
        """A tensor descriptor; strides count elements."""
        sizes = len(shape), integers(shape), integers(strides)
        return Descriptor(self, "Tensor").set("TensorNd", DATA_TYPE[precision], *sizes)

    def tensor_of(self, tensor: DeviceTensor) -> "Descriptor":
        """The descriptor of a tensor as it lies."""
        return self.tensor(tensor.precision, tensor.shape, tensor.strides)


class Descriptor:
    """A descriptor of cuDNN's of this kind, such as `Tensor`. It is destroyed with this object."""

    def __init__(self, library: CudnnLibrary, kind: str) -> None:
        self._library = library
        self._kind = kind
        self._as_parameter_ = ctypes.c_void_p()
        library.call(f"cudnnCreate{kind}Descriptor", ctypes.byref(self._as_parameter_))

    def set(self, what: str, *values: Any) -> "Descriptor":
        """This descriptor with what `cudnnSet…Descriptor` sets."""
        self._library.call(f"cudnnSet{what}Descriptor", self, *values)
        return self

    def __del__(self) -> None:
        if self._as_parameter_:
            self._library.call(f"cudnnDestroy{self._kind}Descriptor", self)


class Scratch:
    """Scratch memory of a call, which takes it and its `size` as arguments.

    `ask` is given where to write how many bytes the call needs.
    """

    def __init__(self, workspace: Workspace, ask: Callable[[Any], None]) -> None:
        self._workspace, self._ask = workspace, ask
        self.size = ctypes.c_size_t()
        self._as_parameter_ = ctypes.c_void_p()

    def prepare(self) -> int:
        """Takes the memory; how many bytes. Raises `UnsupportedError` if these are too many."""
        self._ask(ctypes.byref(self.size))
        size = self.size.value
        if size > MAX_SCRATCH_BYTES:
            raise UnsupportedError(f"it wants {size:,} bytes of scratch memory")
        self._as_parameter_ = address(self._workspace.scratch(size))
        return size


def integers(numbers: Sequence[int]) -> Any:
    """The numbers as an array of C's `int`."""
    return (ctypes.c_int * len(numbers))(*numbers)


def address(pointer: int) -> ctypes.c_void_p:
    """A device address as an argument."""
    return ctypes.c_void_p(pointer)
