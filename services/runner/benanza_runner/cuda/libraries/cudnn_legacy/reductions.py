"""Reductions of floats."""

import ctypes
from collections.abc import Iterator
from functools import partial

from benanza_runner.cuda.calls import Reduction, Shape
from benanza_runner.cuda.candidate import Candidate, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.libraries.cudnn_legacy.library import (
    DATA_TYPE,
    LIBRARY,
    ONE,
    ZERO,
    CudnnError,
    CudnnLibrary,
    Descriptor,
    Scratch,
)
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

OPERATIONS = {"Sum": 0, "Prod": 1, "Min": 2, "Max": 3, "Mean": 5, "L1": 6, "L2": 7}
"""In the order of `cudnnReduceTensorOp_t`."""

NO_INDICES, INDICES_OF_32_BITS, NO_NAN = 0, 0, 0
FEWEST_AXES, MOST_AXES = 4, 8


class CudnnReductions:
    """Candidates for reductions of floats: one for each layout."""

    library = LIBRARY

    def __init__(self, library: CudnnLibrary) -> None:
        self._cudnn = library

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each layout."""
        call = workspace.call
        if not isinstance(call, Reduction) or call.element or call.kind not in OPERATIONS:
            return
        rank = len(call.input)
        if rank > MOST_AXES:
            yield refused(LIBRARY, "cudnnReduceTensor", "", f"it takes at most {MOST_AXES} axes")
            return
        # A result without the reduced axes lies as one with them in ONNX's order does.
        kept = len(call.output) == rank
        layouts = [("", tuple(range(rank)))]
        if rank >= 4 and kept:
            layouts = list(workspace.layouts(rank))
        for layout, order in layouts:
            x = workspace.operand("input", order)
            result = workspace.result(call.output, order if kept else None)
            try:
                yield self._candidate(workspace, call, layout, x, result)
            except CudnnError as error:
                yield refused(LIBRARY, "cudnnReduceTensor", layout, error)

    def _candidate(
        self,
        workspace: Workspace,
        call: Reduction,
        layout: str,
        x: DeviceTensor,
        result: DeviceTensor,
    ) -> Candidate:
        cudnn, precision = self._cudnn, workspace.precision
        shape = tuple(1 if axis in call.axes else size for axis, size in enumerate(call.input))
        steps = result.strides if len(result.shape) == len(shape) else _packed(shape)
        extra = (1,) * (FEWEST_AXES - len(shape))
        read = cudnn.tensor(precision, call.input + extra, x.strides + extra)
        written = cudnn.tensor(precision, shape + extra, steps + extra)
        reduction = Descriptor(cudnn, "ReduceTensor").set(
            "ReduceTensor",
            OPERATIONS[call.kind],
            DATA_TYPE["fp32"],
            NO_NAN,
            NO_INDICES,
            INDICES_OF_32_BITS,
        )
        needed = "cudnnGetReductionWorkspaceSize"
        scratch = Scratch(workspace, partial(cudnn.run, needed, reduction, read, written))
        run = partial(
            cudnn.run,
            "cudnnReduceTensor",
            reduction,
            None,
            ctypes.c_size_t(0),
            scratch,
            scratch.size,
            ONE,
            read,
            x,
            ZERO,
            written,
            result,
        )
        return Candidate(LIBRARY, "cudnnReduceTensor", layout, scratch.prepare, run, result)


def _packed(shape: Shape) -> Shape:
    steps = []
    after = 1
    for size in reversed(shape):
        steps.append(after)
        after *= size
    return tuple(reversed(steps))
