"""Convolutions through cuDNN's legacy API: the eight algorithms by their names."""

import ctypes
from collections.abc import Iterator

from benanza_runner.cuda.calls import Convolution
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


class CudnnAlgorithms:
    """Candidates for convolutions: each algorithm in both layouts.

    In each layout, the one that cuDNN's heuristic would choose is marked, whatever scratch memory
    it takes. With a bias and an activation, a candidate is one call of
    `cudnnConvolutionBiasActivationForward`; one algorithm can do without the activation. Otherwise
    it is `cudnnConvolutionForward`, and a call of its own for each part of the epilogue.
    """

    library = LIBRARY

    def __init__(self, library: CudnnLibrary) -> None:
        self._cudnn = library

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        """The eight algorithms in each layout."""
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
                convolution = _Convolution(self._cudnn, workspace, call, layout, order)
            except CudnnError as error:
                yield refused(LIBRARY, "convolution", layout, error)
                continue
            chosen = convolution.chosen()
            for number, name in enumerate(ALGORITHMS):
                many = call.groups > MOST_GROUPS and number != chosen
                if many and name in ONE_GROUP_AT_A_TIME:
                    yield refused(LIBRARY, name, layout, "it runs one group after another")
                    continue
                yield convolution.candidate(number, name)._replace(
                    chosen_by_heuristic=number == chosen
                )


class _Convolution:
    """Descriptors of a convolution in one layout."""

    def __init__(
        self,
        cudnn: CudnnLibrary,
        workspace: Workspace,
        call: Convolution,
        layout: str,
        order: tuple[int, ...],
    ) -> None:
        self._cudnn, self._workspace, self._call, self._layout = cudnn, workspace, call, layout
        self._input = workspace.expanded("input", call.input, order)
        self._weights = workspace.expanded("filter", call.filter, order)
        self._result = workspace.result(call.output, order)
        precision = workspace.precision
        self._x = cudnn.tensor(precision, self._input.shape, self._input.strides)
        self._y = cudnn.tensor(precision, self._result.shape, self._result.strides)
        self._w = filter_descriptor(cudnn, call.filter, layout, precision)
        self._what = convolution_descriptor(cudnn, call, precision)
        self._bias = workspace.operand("bias") if call.bias else None
        self._residual = (
            workspace.expanded("residual", call.output, order) if call.residual else None
        )
        self._epilogue = SeparateEpilogue(
            cudnn, call, precision, self._y, self._result, self._bias, self._residual
        )

    def chosen(self) -> int | None:
        """The number of the algorithm that cuDNN's heuristic puts first, or None."""
        found = (_Performance * len(ALGORITHMS))()
        count = ctypes.c_int()
        try:
            self._cudnn.call(
                "cudnnGetConvolutionForwardAlgorithm_v7",
                self._cudnn.handle,
                self._x.address,
                self._w.address,
                self._what.address,
                self._y.address,
                len(found),
                ctypes.byref(count),
                found,
            )
        except CudnnError:
            return None
        able = (each.algorithm for each in found[: count.value] if each.status == 0)
        return next(able, None)

    def candidate(self, number: int, name: str) -> Candidate:
        """The convolution by the algorithm of this number and name."""
        scratch, size = 0, 0

        def prepare() -> int:
            nonlocal scratch, size
            needed = ctypes.c_size_t()
            self._cudnn.call(
                "cudnnGetConvolutionForwardWorkspaceSize",
                self._cudnn.handle,
                self._x.address,
                self._w.address,
                self._what.address,
                self._y.address,
                number,
                ctypes.byref(needed),
            )
            size = needed.value
            if size > MAX_SCRATCH_BYTES:
                raise UnsupportedError(f"it wants {size:,} bytes of scratch memory")
            scratch = self._workspace.scratch(size)
            return size

        def run_in_steps() -> None:
            self._run(number, scratch, size)
            self._epilogue.run()

        def run_fused() -> None:
            self._run_fused(number, scratch, size)

        fused = self._call.bias and (self._call.activation or number == ONLY_WITHOUT_ACTIVATION)
        if not fused and self._epilogue.steps:
            name = f"{name}, then {self._epilogue.steps}"
        run = run_fused if fused else run_in_steps
        return Candidate(LIBRARY, name, self._layout, prepare, run, self._result)

    def _run(self, number: int, scratch: int, size: int) -> None:
        self._cudnn.call(
            "cudnnConvolutionForward",
            self._cudnn.handle,
            ctypes.byref(ONE),
            self._x.address,
            address(self._input.pointer),
            self._w.address,
            address(self._weights.pointer),
            self._what.address,
            number,
            address(scratch),
            ctypes.c_size_t(size),
            ctypes.byref(ZERO),
            self._y.address,
            address(self._result.pointer),
        )

    def _run_fused(self, number: int, scratch: int, size: int) -> None:
        assert self._bias is not None
        added = self._result if self._residual is None else self._residual
        self._cudnn.call(
            "cudnnConvolutionBiasActivationForward",
            self._cudnn.handle,
            ctypes.byref(ONE),
            self._x.address,
            address(self._input.pointer),
            self._w.address,
            address(self._weights.pointer),
            self._what.address,
            number,
            address(scratch),
            ctypes.c_size_t(size),
            ctypes.byref(ZERO if self._residual is None else ONE),
            self._y.address,
            address(added.pointer),
            self._epilogue.bias.address,
            address(self._bias.pointer),
            self._epilogue.activation.address,
            self._y.address,
            address(self._result.pointer),
        )
