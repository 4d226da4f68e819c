"""Poolings, softmax and normalisation over channels through cuDNN's legacy API."""

import ctypes
from collections.abc import Iterator

from benanza_runner.cuda.calls import Normalisation, Pooling, Shape, Softmax
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.libraries.cudnn_library import (
    ONE,
    ZERO,
    CudnnError,
    CudnnLibrary,
    Descriptor,
    address,
    integers,
)
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.variants import FailedVariant

LIBRARY = "cudnn-legacy"
POOLING_MODES = {"max": 0, "average_padded": 1, "average": 2}
SOFTMAX_ALGORITHMS = {False: ("CUDNN_SOFTMAX_ACCURATE", 1), True: ("CUDNN_SOFTMAX_LOG", 2)}
"""By whether it is the logarithm. CUDNN_SOFTMAX_FAST is none, as it doesn't subtract the greatest
element of a row: it gave NaN in three of the nine models, with random weights.
"""

OVER_CHANNELS = 1
ACROSS_CHANNELS = 0


class CudnnLegacy:
    """Candidates for poolings, softmax and local response normalisation.

    cuDNN's graph API lacks these in Python.
    """

    library = LIBRARY

    def __init__(self, library: CudnnLibrary) -> None:
        self._cudnn = library

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        """One for each layout, and one of softmax."""
        call = workspace.call
        if isinstance(call, Softmax):
            shape = (call.outer, call.size, call.inner, 1)
            yield self._softmax(workspace, shape, *SOFTMAX_ALGORITHMS[call.logarithm])
        elif isinstance(call, Pooling):
            if not _is_symmetric(call):
                yield refused(LIBRARY, "pooling", "", "it pads both sides of a feature map alike")
                return
            for layout, order in workspace.layouts(len(call.input)):
                try:
                    yield self._pooling(workspace, call, layout, order)
                except CudnnError as error:
                    yield refused(LIBRARY, "pooling", layout, error)
        elif isinstance(call, Normalisation):
            for layout, order in workspace.layouts(len(call.input)):
                try:
                    yield self._normalisation(workspace, call, layout, order)
                except CudnnError as error:
                    yield refused(LIBRARY, "normalisation", layout, error)

    def _softmax(self, workspace: Workspace, shape: Shape, name: str, algorithm: int) -> Candidate:
        x = workspace.operand("input")
        call = workspace.call
        assert isinstance(call, Softmax)
        result = workspace.result(call.output)
        steps = (shape[1] * shape[2], shape[2], 1, 1)
        tensor = self._cudnn.tensor(workspace.precision, shape, steps)

        def run() -> None:
            self._cudnn.call(
                "cudnnSoftmaxForward",
                self._cudnn.handle,
                algorithm,
                OVER_CHANNELS,
                ctypes.byref(ONE),
                tensor.address,
                address(x.pointer),
                ctypes.byref(ZERO),
                tensor.address,
                address(result.pointer),
            )

        return Candidate(
            LIBRARY, name, workspace.natural_layout(call.output), no_scratch, run, result
        )

    def _pooling(
        self, workspace: Workspace, call: Pooling, layout: str, order: tuple[int, ...]
    ) -> Candidate:
        pooling = Descriptor(self._cudnn, "Pooling")
        self._cudnn.call(
            "cudnnSetPoolingNdDescriptor",
            pooling.address,
            POOLING_MODES[call.mode],
            0,
            len(call.window),
            integers(call.window),
            integers(call.pads_before),
            integers(call.strides),
        )
        return self._one_to_one(
            workspace, "cudnnPoolingForward", (pooling,), call.output, layout, order
        )

    def _normalisation(
        self, workspace: Workspace, call: Normalisation, layout: str, order: tuple[int, ...]
    ) -> Candidate:
        descriptor = Descriptor(self._cudnn, "LRN")
        self._cudnn.call(
            "cudnnSetLRNDescriptor",
            descriptor.address,
            ctypes.c_uint(call.size),
            ctypes.c_double(call.alpha),
            ctypes.c_double(call.beta),
            ctypes.c_double(call.bias),
        )
        name = "cudnnLRNCrossChannelForward"
        return self._one_to_one(
            workspace, name, (descriptor, ACROSS_CHANNELS), call.input, layout, order
        )

    def _one_to_one(
        self,
        workspace: Workspace,
        function: str,
        what: tuple[Descriptor | int, ...],
        output: Shape,
        layout: str,
        order: tuple[int, ...],
    ) -> Candidate:
        """A call that makes one feature map of another."""
        call = workspace.call
        assert isinstance(call, Pooling | Normalisation)
        x, result = (
            workspace.expanded("input", call.input, order),
            workspace.result(output, order),
        )
        read = self._cudnn.tensor(workspace.precision, x.shape, x.strides)
        written = self._cudnn.tensor(workspace.precision, result.shape, result.strides)
        first = [each.address if isinstance(each, Descriptor) else each for each in what]

        def run() -> None:
            # `what` owns the descriptors whose addresses these are.
            assert what
            self._cudnn.call(
                function,
                self._cudnn.handle,
                *first,
                ctypes.byref(ONE),
                read.address,
                address(x.pointer),
                ctypes.byref(ZERO),
                written.address,
                address(result.pointer),
            )

        return Candidate(LIBRARY, function, layout, no_scratch, run, result)


def _is_symmetric(call: Pooling) -> bool:
    """Whether the output has the shape that cuDNN gives it with the same pads on both sides."""
    sizes = zip(
        call.input[2:], call.output[2:], call.window, call.strides, call.pads_before, strict=True
    )
    return set(call.dilations) == {1} and all(
        out == 1 + (size + 2 * pad - window) // stride for size, out, window, stride, pad in sizes
    )
