"""cuDNN's legacy API, through ctypes: no maintained Python package binds it.

Names and numbers are those of `cudnn_ops.h` and `cudnn_cnn.h` of cuDNN 9.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import cudnn

from benanza_runner.nvidia import loaded_library
from benanza_schemas.layer import Precision

DATA_TYPE: dict[Precision, int] = {"fp32": 0, "tf32": 0, "fp16": 2, "bf16": 9}
CROSS_CORRELATION = 1
ACTIVATION = {"": 5, "Relu": 1}
FILTER_FORMAT = {"NCHW": 0, "NHWC": 1, "NCDHW": 0, "NDHWC": 1}

MATH: dict[Precision, int] = {"fp32": 3, "tf32": 0, "fp16": 1, "bf16": 1}
"""CUDNN_FMA_MATH, which uses no Tensor Cores; CUDNN_DEFAULT_MATH, which multiplies float32 in TF32;
CUDNN_TENSOR_OP_MATH."""


class CudnnError(RuntimeError):
    """cuDNN refused a call; the text is cuDNN's."""


class CudnnLibrary:
    """The library that `nvidia-cudnn-frontend` has loaded, with a handle on one stream."""

    def __init__(self, stream: int) -> None:
        cudnn.backend_version()  # Loads it.
        found = loaded_library("libcudnn.so")
        if found is None:
            raise CudnnError("libcudnn is not loaded")
        self._library = found
        self._library.cudnnGetErrorString.restype = ctypes.c_char_p
        self.handle = ctypes.c_void_p()
        self.call("cudnnCreate", ctypes.byref(self.handle))
        self.use(stream)

    def use(self, stream: int) -> None:
        """Starts what follows on this stream."""
        self.call("cudnnSetStream", self.handle, ctypes.c_void_p(stream))

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function. Raises `CudnnError` unless it says CUDNN_STATUS_SUCCESS."""
        status = getattr(self._library, name)(*arguments)
        if status:
            text = self._library.cudnnGetErrorString(status)
            raise CudnnError(f"{name}: {text.decode()}")

    def tensor(
        self, precision: Precision, shape: Sequence[int], strides: Sequence[int]
    ) -> "Descriptor":
        """A tensor descriptor; strides count elements."""
        found = Descriptor(self, "Tensor")
        self.call(
            "cudnnSetTensorNdDescriptor",
            found.address,
            DATA_TYPE[precision],
            len(shape),
            integers(shape),
            integers(strides),
        )
        return found


class Descriptor:
    """A descriptor of cuDNN's of this kind, such as `Tensor`. It is destroyed with this object."""

    def __init__(self, library: CudnnLibrary, kind: str) -> None:
        self._library = library
        self._kind = kind
        self.address = ctypes.c_void_p()
        library.call(f"cudnnCreate{kind}Descriptor", ctypes.byref(self.address))

    def __del__(self) -> None:
        if self.address:
            self._library.call(f"cudnnDestroy{self._kind}Descriptor", self.address)


def integers(numbers: Sequence[int]) -> Any:
    """The numbers as an array of C's `int`."""
    return (ctypes.c_int * len(numbers))(*numbers)


ONE = ctypes.c_float(1.0)
ZERO = ctypes.c_float(0.0)


def address(pointer: int) -> ctypes.c_void_p:
    """A device address as an argument."""
    return ctypes.c_void_p(pointer)
