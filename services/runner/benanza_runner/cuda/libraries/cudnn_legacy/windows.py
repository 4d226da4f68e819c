"""Poolings, softmax and normalisation over channels, which the graph API lacks in Python."""

import ctypes
from collections.abc import Iterator
from functools import partial

from benanza_runner.cuda.calls import Normalisation, Pooling, Softmax
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.layouts import Order
from benanza_runner.cuda.libraries.cudnn_legacy.library import (
    LIBRARY,
    ONE,
    ZERO,
    CudnnError,
    CudnnLibrary,
    Descriptor,
    integers,
)
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

POOLING_MODES = {"max": 0, "average_padded": 1, "average": 2}
NO_NAN = 0
SOFTMAX_ALGORITHMS = {False: ("CUDNN_SOFTMAX_ACCURATE", 1), True: ("CUDNN_SOFTMAX_LOG", 2)}
"""By whether it is the logarithm. CUDNN_SOFTMAX_FAST is none, as it doesn't subtract the greatest
element of a row: it gave NaN in three of the nine models, with random weights.
"""

OVER_CHANNELS = 1
ACROSS_CHANNELS = 0


class CudnnWindows:
    """Candidates for poolings, softmax and local response normalisation."""

    library = LIBRARY

    def __init__(self, library: CudnnLibrary) -> None:
        self._cudnn = library

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each layout, and one of softmax."""
        call = workspace.call
        if isinstance(call, Softmax):
            yield self._softmax(workspace, call)
        elif isinstance(call, Pooling) and not _is_symmetric(call):
            yield refused(LIBRARY, "pooling", "", "it pads both sides of a feature map alike")
        elif isinstance(call, Pooling | Normalisation):
            for layout, order in workspace.layouts(len(call.input)):
                try:
                    yield self._of_windows(workspace, call, layout, order)
                except CudnnError as error:
                    name = "pooling" if isinstance(call, Pooling) else "normalisation"
                    yield refused(LIBRARY, name, layout, error)

    def _softmax(self, workspace: Workspace, call: Softmax) -> Candidate:
        name, algorithm = SOFTMAX_ALGORITHMS[call.logarithm]
        x, result = workspace.operand("input"), workspace.result(call.output)
        shape = call.outer, call.size, call.inner, 1
        steps = call.size * call.inner, call.inner, 1, 1
        tensor = self._cudnn.tensor(workspace.precision, shape, steps)
        run = partial(
            self._cudnn.run,
            "cudnnSoftmaxForward",
            algorithm,
            OVER_CHANNELS,
            ONE,
            tensor,
            x,
            ZERO,
            tensor,
            result,
        )
        layout = workspace.natural_layout(call.output)
        return Candidate(LIBRARY, name, layout, no_scratch, run, result)

    def _of_windows(
        self, workspace: Workspace, call: Pooling | Normalisation, layout: str, order: Order
    ) -> Candidate:
        if isinstance(call, Pooling):
            name, output = "cudnnPoolingForward", call.output
            how: tuple[Descriptor | int, ...] = (self._pooling(call),)
        else:
            name, output = "cudnnLRNCrossChannelForward", call.input
            how = self._normalisation(call), ACROSS_CHANNELS
        x, result = workspace.expanded("input", call.input, order), workspace.result(output, order)
        run = partial(
            self._cudnn.run,
            name,
            *how,
            ONE,
            self._cudnn.tensor_of(x),
            x,
            ZERO,
            self._cudnn.tensor_of(result),
            result,
        )
        return Candidate(LIBRARY, name, layout, no_scratch, run, result)

    def _pooling(self, call: Pooling) -> Descriptor:
        sizes = map(integers, (call.window, call.pads_before, call.strides))
        mode = POOLING_MODES[call.mode]
        return Descriptor(self._cudnn, "Pooling").set(
            "PoolingNd", mode, NO_NAN, len(call.window), *sizes
        )

    def _normalisation(self, call: Normalisation) -> Descriptor:
        numbers = map(ctypes.c_double, (call.alpha, call.beta, call.bias))
        return Descriptor(self._cudnn, "LRN").set("LRN", ctypes.c_uint(call.size), *numbers)


def _is_symmetric(call: Pooling) -> bool:
    """Whether the output has the shape that cuDNN gives it with the same pads on both sides."""
    sizes = zip(
        call.input[2:], call.output[2:], call.window, call.strides, call.pads_before, strict=True
    )
    return set(call.dilations) == {1} and all(
        out == 1 + (size + 2 * pad - window) // stride for size, out, window, stride, pad in sizes
    )
