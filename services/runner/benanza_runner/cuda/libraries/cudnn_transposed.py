"""Transposed convolutions through cuDNN's legacy API: the gradient of a convolution's input.

Bias and activation are further calls, in place: this API fuses nothing with a gradient.
"""

import ctypes
from collections.abc import Iterator

from benanza_runner.cuda.calls import TransposedConvolution
from benanza_runner.cuda.candidate import Candidate, refused
from benanza_runner.cuda.libraries.cudnn_convolution import (
    SeparateEpilogue,
    convolution_descriptor,
    filter_descriptor,
)
from benanza_runner.cuda.libraries.cudnn_library import (
    ACTIVATION,
    ONE,
    ZERO,
    CudnnError,
    CudnnLibrary,
    address,
)
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import MAX_SCRATCH_BYTES, Workspace
from benanza_runner.variants import FailedVariant

LIBRARY = "cudnn-legacy"
ALGORITHMS = ("0", "1", "FFT", "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED")
"""In the order of `cudnnConvolutionBwdDataAlgo_t`."""


class CudnnTransposed:
    """Candidates for transposed convolutions: each algorithm in both layouts."""

    library = LIBRARY

    def __init__(self, library: CudnnLibrary) -> None:
        self._cudnn = library

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        call = workspace.call
        if not isinstance(call, TransposedConvolution):
            return
        if call.pads_before != call.pads_after:
            yield refused(LIBRARY, "gradient", "", "it pads both sides of a feature map alike")
            return
        if call.residual or call.activation not in ACTIVATION:
            yield refused(LIBRARY, "gradient", "", "it has no such epilogue")
            return
        for layout, order in workspace.layouts(len(call.input)):
            try:
                convolution = _Transposed(self._cudnn, workspace, call, layout, order)
            except CudnnError as error:
                yield refused(LIBRARY, "gradient", layout, error)
                continue
            for number, name in enumerate(ALGORITHMS):
                yield convolution.candidate(number, f"gradient {name}")


class _Transposed:
    """Descriptors of a transposed convolution in one layout: `x` is what it makes."""

    def __init__(
        self,
        cudnn: CudnnLibrary,
        workspace: Workspace,
        call: TransposedConvolution,
        layout: str,
        order: tuple[int, ...],
    ) -> None:
        self._cudnn, self._workspace, self._layout = cudnn, workspace, layout
        self._input = workspace.expanded("input", call.input, order)
        self._weights = workspace.expanded("filter", call.filter, order)
        self._result = workspace.result(call.output, order)
        precision = workspace.precision
        self._x = cudnn.tensor(precision, self._result.shape, self._result.strides)
        self._y = cudnn.tensor(precision, self._input.shape, self._input.strides)
        self._w = filter_descriptor(cudnn, call.filter, layout, precision)
        self._what = convolution_descriptor(cudnn, call, precision)
        bias = workspace.operand("bias") if call.bias else None
        self._epilogue = SeparateEpilogue(cudnn, call, precision, self._x, self._result, bias, None)

    def candidate(self, number: int, name: str) -> Candidate:
        scratch, size = 0, 0

        def prepare() -> int:
            nonlocal scratch, size
            needed = ctypes.c_size_t()
            self._cudnn.call(
                "cudnnGetConvolutionBackwardDataWorkspaceSize",
                self._cudnn.handle,
                self._w.address,
                self._y.address,
                self._what.address,
                self._x.address,
                number,
                ctypes.byref(needed),
            )
            size = needed.value
            if size > MAX_SCRATCH_BYTES:
                raise UnsupportedError(f"it wants {size:,} bytes of scratch memory")
            scratch = self._workspace.scratch(size)
            return size

        def run() -> None:
            self._run(number, scratch, size)
            self._epilogue.run()

        return Candidate(LIBRARY, name, self._layout, prepare, run, self._result)

    def _run(self, number: int, scratch: int, size: int) -> None:
        self._cudnn.call(
            "cudnnConvolutionBackwardData",
            self._cudnn.handle,
            ctypes.byref(ONE),
            self._w.address,
            address(self._weights.pointer),
            self._y.address,
            address(self._input.pointer),
            self._what.address,
            number,
            address(scratch),
            ctypes.c_size_t(size),
            ctypes.byref(ZERO),
            self._x.address,
            address(self._result.pointer),
        )
