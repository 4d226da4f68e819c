"""Descriptors and epilogues of convolutions and their gradients."""

import ctypes
from collections.abc import Sequence

from benanza_runner.cuda.calls import AnyConvolution, Convolution, TransposedConvolution
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.libraries.cudnn_legacy.library import (
    ACTIVATION,
    CROSS_CORRELATION,
    DATA_TYPE,
    FILTER_FORMAT,
    MATH,
    ONE,
    ZERO,
    CudnnLibrary,
    Descriptor,
    integers,
)
from benanza_schemas.layer import Precision


def filter_descriptor(
    cudnn: CudnnLibrary, shape: Sequence[int], layout: str, precision: Precision
) -> Descriptor:
    """A descriptor of weights of this shape that lie in this layout."""
    values = DATA_TYPE[precision], FILTER_FORMAT[layout], len(shape), integers(shape)
    return Descriptor(cudnn, "Filter").set("FilterNd", *values)


def convolution_descriptor(
    cudnn: CudnnLibrary, call: Convolution | TransposedConvolution, precision: Precision
) -> Descriptor:
    """A descriptor of strides, dilations, groups, and pads that are alike on both sides."""
    windows = map(integers, (call.pads_before, call.strides, call.dilations))
    descriptor = Descriptor(cudnn, "Convolution").set(
        "ConvolutionNd", len(call.strides), *windows, CROSS_CORRELATION, DATA_TYPE["fp32"]
    )
    cudnn.call("cudnnSetConvolutionGroupCount", descriptor, call.groups)
    cudnn.call("cudnnSetConvolutionMathType", descriptor, MATH[precision])
    return descriptor


class SeparateEpilogue:
    """Bias, residual and activation after a convolution, each as a call of its own, in place.

    `described` is the descriptor of `result`, and of the residual, which lies alike. `bias` and
    `activation` are descriptors, which calls that fuse them take as well.
    """

    def __init__(
        self,
        cudnn: CudnnLibrary,
        call: AnyConvolution,
        described: Descriptor,
        result: DeviceTensor,
        bias: DeviceTensor | None,
        residual: DeviceTensor | None,
    ) -> None:
        self._cudnn, self._activation = cudnn, call.activation
        self._described, self._result = described, result
        self.activation = Descriptor(cudnn, "Activation").set(
            "Activation", ACTIVATION[call.activation], 0, ctypes.c_double(0.0)
        )
        ones = (1,) * (len(call.output) - 2)
        channels = call.output[1]
        self.bias = cudnn.tensor(result.precision, (1, channels, *ones), (channels, 1, *ones))
        self._added = {
            name: (descriptor, tensor)
            for name, descriptor, tensor in (
                ("bias", self.bias, bias),
                ("residual", described, residual),
            )
            if tensor is not None
        }

    @property
    def steps(self) -> str:
        """Names of the calls that `run` starts; empty if there are none."""
        return ", ".join(filter(None, (*self._added, self._activation)))

    def run(self) -> None:
        """Starts the calls."""
        result = self._described, self._result
        for added in self._added.values():
            self._cudnn.run("cudnnAddTensor", ONE, *added, ONE, *result)
        if self._activation:
            self._cudnn.run("cudnnActivationForward", self.activation, ONE, *result, ZERO, *result)
