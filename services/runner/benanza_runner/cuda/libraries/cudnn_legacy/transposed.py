"""Transposed convolutions: the gradient of a convolution's input.

Bias and activation are further calls, in place, because this API fuses nothing with a gradient.
"""

from collections.abc import Iterator
from functools import partial

from benanza_runner.cuda.calls import TransposedConvolution
from benanza_runner.cuda.candidate import Candidate, in_turn, refused
from benanza_runner.cuda.layouts import Order
from benanza_runner.cuda.libraries.cudnn_legacy.epilogue import (
    SeparateEpilogue,
    convolution_descriptor,
    filter_descriptor,
)
from benanza_runner.cuda.libraries.cudnn_legacy.library import (
    ACTIVATION,
    LIBRARY,
    ONE,
    ZERO,
    CudnnError,
    CudnnLibrary,
    Scratch,
)
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

ALGORITHMS = ("0", "1", "FFT", "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED")
"""In the order of `cudnnConvolutionBwdDataAlgo_t`."""


class CudnnTransposed:
    """Candidates for transposed convolutions: each algorithm in both layouts."""

    library = LIBRARY

    def __init__(self, library: CudnnLibrary) -> None:
        self._cudnn = library

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """The six algorithms in each layout."""
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
                yield from self._algorithms(workspace, call, layout, order)
            except CudnnError as error:
                yield refused(LIBRARY, "gradient", layout, error)

    def _algorithms(
        self, workspace: Workspace, call: TransposedConvolution, layout: str, order: Order
    ) -> Iterator[Candidate]:
        """The algorithms in one layout. For cuDNN, `x` is the result."""
        cudnn, precision = self._cudnn, workspace.precision
        given = workspace.expanded("input", call.input, order)
        weights = workspace.expanded("filter", call.filter, order)
        result = workspace.result(call.output, order)
        x, y = cudnn.tensor_of(result), cudnn.tensor_of(given)
        w = filter_descriptor(cudnn, call.filter, layout, precision)
        what = convolution_descriptor(cudnn, call, precision)
        bias = workspace.operand("bias") if call.bias else None
        epilogue = SeparateEpilogue(cudnn, call, x, result, bias, None)
        operands = ONE, w, weights, y, given, what
        for number, name in enumerate(ALGORITHMS):
            needed = "cudnnGetConvolutionBackwardDataWorkspaceSize"
            scratch = Scratch(workspace, partial(cudnn.run, needed, w, y, what, x, number))
            space = scratch, scratch.size
            written = ZERO, x, result
            run = partial(
                cudnn.run, "cudnnConvolutionBackwardData", *operands, number, *space, *written
            )
            yield Candidate(
                LIBRARY,
                f"gradient {name}",
                layout,
                scratch.prepare,
                in_turn(run, epilogue.run),
                result,
            )
