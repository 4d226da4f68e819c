"""What convolutions and their gradients have in common in cuDNN's legacy API."""

import ctypes
from collections.abc import Sequence

from benanza_runner.cuda.calls import Convolution, TransposedConvolution
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.libraries.cudnn_library import (
    ACTIVATION,
    CROSS_CORRELATION,
    DATA_TYPE,
    FILTER_FORMAT,
    MATH,
    ONE,
    ZERO,
    CudnnLibrary,
    Descriptor,
    address,
    integers,
)
from benanza_schemas.layer import Precision


def filter_descriptor(
    cudnn: CudnnLibrary, shape: Sequence[int], layout: str, precision: Precision
) -> Descriptor:
    """Of weights that lie in this layout."""
    descriptor = Descriptor(cudnn, "Filter")
    cudnn.call(
        "cudnnSetFilterNdDescriptor",
        descriptor.address,
        DATA_TYPE[precision],
        FILTER_FORMAT[layout],
        len(shape),
        integers(shape),
    )
    return descriptor


def convolution_descriptor(
    cudnn: CudnnLibrary, call: Convolution | TransposedConvolution, precision: Precision
) -> Descriptor:
    """Of strides, dilations, groups, and pads that are alike on both sides."""
    descriptor = Descriptor(cudnn, "Convolution")
    cudnn.call(
        "cudnnSetConvolutionNdDescriptor",
        descriptor.address,
        len(call.strides),
        integers(call.pads_before),
        integers(call.strides),
        integers(call.dilations),
        CROSS_CORRELATION,
        DATA_TYPE["fp32"],
    )
    cudnn.call("cudnnSetConvolutionGroupCount", descriptor.address, call.groups)
    cudnn.call("cudnnSetConvolutionMathType", descriptor.address, MATH[precision])
    return descriptor


class SeparateEpilogue:
    """What follows a convolution; `run` starts it as calls of their own, in place.

    `described` is the descriptor of `result`, as which the residual lies, too. `bias` and
    `activation` are descriptors that calls which fuse them take as well.
    """

    def __init__(
        self,
        cudnn: CudnnLibrary,
        call: Convolution | TransposedConvolution,
        precision: Precision,
        described: Descriptor,
        result: DeviceTensor,
        bias: DeviceTensor | None,
        residual: DeviceTensor | None,
    ) -> None:
        self._cudnn, self._name, self._described = cudnn, call.activation, described
        self._result, self._bias, self._residual = result, bias, residual
        self.activation = Descriptor(cudnn, "Activation")
        cudnn.call(
            "cudnnSetActivationDescriptor",
            self.activation.address,
            ACTIVATION[call.activation],
            0,
            ctypes.c_double(0.0),
        )
        channels = (1, call.output[1], *(1,) * (len(call.output) - 2))
        steps = (call.output[1], 1, *(1,) * (len(call.output) - 2))
        self.bias = cudnn.tensor(precision, channels, steps)

    @property
    def steps(self) -> str:
        """The calls that `run` starts, in words; empty if there are none."""
        bias = "bias" if self._bias is not None else ""
        residual = "residual" if self._residual is not None else ""
        return ", ".join(filter(None, (bias, residual, self._name)))

    def run(self) -> None:
        if self._bias is not None:
            self._add(self.bias, self._bias)
        if self._residual is not None:
            self._add(self._described, self._residual)
        if self._name:
            self._activate()

    def _add(self, described: Descriptor, added: DeviceTensor) -> None:
        self._cudnn.call(
            "cudnnAddTensor",
            self._cudnn.handle,
            ctypes.byref(ONE),
            described.address,
            address(added.pointer),
            ctypes.byref(ONE),
            self._described.address,
            address(self._result.pointer),
        )

    def _activate(self) -> None:
        self._cudnn.call(
            "cudnnActivationForward",
            self._cudnn.handle,
            self.activation.address,
            ctypes.byref(ONE),
            self._described.address,
            address(self._result.pointer),
            ctypes.byref(ZERO),
            self._described.address,
            address(self._result.pointer),
        )
