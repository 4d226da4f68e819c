"""Convolutions: the algorithm that cuDNN's heuristic chooses, and those that win elsewhere."""

import ctypes
from collections.abc import Iterator
from functools import partial

from benanza_runner.cuda.calls import Convolution
from benanza_runner.cuda.candidate import Candidate, Run, in_turn, refused
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
    Descriptor,
    Scratch,
)
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

ALGORITHMS = (
    "IMPLICIT_GEMM",
    "IMPLICIT_PRECOMP_GEMM",
    "GEMM",
    "DIRECT",
    "FFT",
    "FFT_TILING",
    "WINOGRAD",
    "WINOGRAD_NONFUSED",
)
"""In the order of `cudnnConvolutionFwdAlgo_t`."""

NEVER_FASTEST = frozenset(("IMPLICIT_GEMM", "DIRECT", "FFT", "WINOGRAD"))
"""Not tried unless the heuristic chooses them. Among 423,000 timed layers of an H200 and an H100,
none of these was the fastest variant by 2%; DIRECT and WINOGRAD never ran."""

ONE_GROUP_AT_A_TIME = frozenset(("FFT", "FFT_TILING", "WINOGRAD_NONFUSED"))
MOST_GROUPS = 8
"""FFT_TILING took 10 s to start 512 groups once, and all three ran for milliseconds where others
took 20 µs."""

ONLY_WITHOUT_ACTIVATION = ALGORITHMS.index("IMPLICIT_PRECOMP_GEMM")
"""Only this one takes CUDNN_ACTIVATION_IDENTITY, as the API reference says."""


class _Performance(ctypes.Structure):
    """`cudnnConvolutionFwdAlgoPerf_t`: an algorithm, and what the heuristic thinks of it."""

    _fields_ = (
        ("algorithm", ctypes.c_int),
        ("status", ctypes.c_int),
        ("time", ctypes.c_float),
        ("memory", ctypes.c_size_t),
        ("determinism", ctypes.c_int),
        ("math_type", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
    )


class CudnnConvolution:
    """Candidates for convolutions, in both layouts.

    In each layout, the algorithm that cuDNN's heuristic would choose is marked, whatever scratch
    memory it takes. With a bias and an activation, a candidate is one call of
    `cudnnConvolutionBiasActivationForward`; one algorithm can do without the activation. Otherwise
    it is `cudnnConvolutionForward`, and a call of its own for each part of the epilogue.
    """

    library = LIBRARY

    def __init__(self, library: CudnnLibrary) -> None:
        self._cudnn = library

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """The algorithms in each layout."""
        call = workspace.call
        if not isinstance(call, Convolution):
            return
        if call.has_prologue:
            yield refused(LIBRARY, "convolution", "", "it does nothing before a convolution")
            return
        if call.pads_before != call.pads_after:
            yield refused(LIBRARY, "convolution", "", "it pads both sides of a feature map alike")
            return
        if call.activation not in ACTIVATION:
            yield refused(LIBRARY, "convolution", "", f"it has no {call.activation}")
            return
        for layout, order in workspace.layouts(len(call.input)):
            try:
                yield from self._algorithms(workspace, call, layout, order)
            except CudnnError as error:
                yield refused(LIBRARY, "convolution", layout, error)

    def _algorithms(
        self, workspace: Workspace, call: Convolution, layout: str, order: Order
    ) -> Iterator[Candidate | Variant]:
        convolution = _Convolution(self._cudnn, workspace, call, layout, order)
        chosen = convolution.chosen()
        for number, name in enumerate(ALGORITHMS):
            if number == chosen:
                yield convolution.candidate(number, name)._replace(chosen_by_heuristic=True)
            elif call.groups > MOST_GROUPS and name in ONE_GROUP_AT_A_TIME:
                yield refused(LIBRARY, name, layout, "it runs one group after another")
            elif name not in NEVER_FASTEST:
                yield convolution.candidate(number, name)


class _Convolution:
    """Descriptors of a convolution in one layout."""

    def __init__(
        self,
        cudnn: CudnnLibrary,
        workspace: Workspace,
        call: Convolution,
        layout: str,
        order: Order,
    ) -> None:
        self._cudnn, self._workspace, self._call, self._layout = cudnn, workspace, call, layout
        self._input = workspace.expanded("input", call.input, order)
        self._weights = workspace.expanded("filter", call.filter, order)
        self._result = workspace.result(call.output, order)
        self._x, self._y = cudnn.tensor_of(self._input), cudnn.tensor_of(self._result)
        self._w = filter_descriptor(cudnn, call.filter, layout, workspace.precision)
        self._what = convolution_descriptor(cudnn, call, workspace.precision)
        self._bias = workspace.operand("bias") if call.bias else None
        self._residual = (
            workspace.expanded("residual", call.output, order) if call.residual else None
        )
        self._epilogue = SeparateEpilogue(
            cudnn, call, self._y, self._result, self._bias, self._residual
        )

    @property
    def _described(self) -> tuple[Descriptor, ...]:
        return self._x, self._w, self._what, self._y

    def chosen(self) -> int | None:
        """The number of the algorithm that cuDNN's heuristic puts first, or None."""
        ranked = (_Performance * len(ALGORITHMS))()
        count = ctypes.c_int()
        name = "cudnnGetConvolutionForwardAlgorithm_v7"
        try:
            self._cudnn.run(name, *self._described, len(ranked), ctypes.byref(count), ranked)
        except CudnnError:
            return None
        able = (choice.algorithm for choice in ranked[: count.value] if choice.status == 0)
        return next(able, None)

    def candidate(self, number: int, name: str) -> Candidate:
        """The convolution by the algorithm of this number and name."""
        needed = "cudnnGetConvolutionForwardWorkspaceSize"
        ask = partial(self._cudnn.run, needed, *self._described, number)
        scratch = Scratch(self._workspace, ask)
        operands = (
            ONE,
            self._x,
            self._input,
            self._w,
            self._weights,
            self._what,
            number,
            scratch,
            scratch.size,
        )
        result = self._y, self._result
        if self._bias is not None and (self._call.activation or number == ONLY_WITHOUT_ACTIVATION):
            added = self._result if self._residual is None else self._residual
            run: Run = partial(
                self._cudnn.run,
                "cudnnConvolutionBiasActivationForward",
                *operands,
                ZERO if self._residual is None else ONE,
                self._y,
                added,
                self._epilogue.bias,
                self._bias,
                self._epilogue.activation,
                *result,
            )
        else:
            if self._epilogue.steps:
                name = f"{name}, then {self._epilogue.steps}"
            convolve = partial(self._cudnn.run, "cudnnConvolutionForward", *operands, ZERO, *result)
            run = in_turn(convolve, self._epilogue.run)
        return Candidate(LIBRARY, name, self._layout, scratch.prepare, run, self._result)
