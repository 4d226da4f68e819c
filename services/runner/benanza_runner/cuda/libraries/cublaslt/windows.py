"""Convolutions as matrix products: a kernel copies windows to rows, cuBLASLt multiplies them.

cuDNN has no fast kernel for few channels, such as those of images, nor for windows that lie side by
side, such as patches.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np
from nvmath.bindings import cublasLt

from benanza_runner.cuda.calls import Convolution, Matrices, Product
from benanza_runner.cuda.candidate import Candidate, Run, in_turn, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, WIDE_BYTES, launch
from benanza_runner.cuda.kernels.source.windows import NAME, windows_source
from benanza_runner.cuda.layouts import feature_map_layouts
from benanza_runner.cuda.libraries.cublaslt.matmul import EPILOGUES, CublasLtSource, FloatProblem
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import MAX_SCRATCH_BYTES, Workspace
from benanza_schemas.events import Variant

FEW_CHANNELS = 4
THREADS = 256


class CublasLtWindows(CublasLtSource):
    """Candidates for convolutions of few channels, or whose windows don't overlap.

    They count as generated kernels, because cuBLASLt computes no convolution by itself.
    """

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """The algorithms that the heuristic offers for the product, with channels last."""
        call = workspace.call
        if not isinstance(call, Convolution) or not _applies(call, workspace):
            return
        layout, order = list(feature_map_layouts(len(call.input)))[1]
        x = workspace.expanded("input", call.input, order)
        pack = WIDE_BYTES // x.element_bytes
        product = _product(call, -(-prod(call.filter[1:]) // pack) * pack)
        if product.m * product.k >= MOST_ELEMENTS:
            return
        if product.m * product.k * x.element_bytes > MAX_SCRATCH_BYTES:
            return
        rows = workspace.memory.empty((product.m, product.k), (0, 1), workspace.precision)
        operands = {
            "a": rows,
            "b": workspace.rows("filter", call.filter, order, product.k),
            "result": workspace.result(call.output, order),
        }
        if call.bias:
            operands["bias"] = workspace.operand("bias")
        if call.residual:
            operands["residual"] = workspace.expanded("residual", call.output, order)
        copy = _copy(call, x, rows)
        try:
            problem = FloatProblem(self._handle, workspace, product, operands, by_pointers=False)
            offered = problem.algorithms(self._most)
        except (cublasLt.cuBLASLtError, UnsupportedError) as error:
            yield refused(LIBRARY, "windows, then cuBLASLt", layout, error)
            return
        for name, algorithm, size in offered:
            candidate = problem.candidate(name, algorithm, size, layout)
            yield candidate._replace(
                library=LIBRARY,
                algorithm=f"windows, then cuBLASLt's {name}",
                run=in_turn(copy, candidate.run),
            )


def _applies(call: Convolution, workspace: Workspace) -> bool:
    """Whether the windows of two axes of space hold several pixels, and few channels or pixels of
    their own; and whether cuBLASLt computes what follows the convolution.
    """
    if call.groups > 1 or call.has_prologue or len(call.input) != 4:
        return False
    fixed = {"filter", "bias"} if call.bias else {"filter"}
    if not fixed <= workspace.fixed or (call.bias, call.activation) not in EPILOGUES:
        return False
    pixels = call.filter[2:]
    disjoint = all(step >= size for step, size in zip(call.strides, pixels, strict=True))
    return prod(pixels) > 1 and (call.input[1] <= FEW_CHANNELS or disjoint)


def _product(call: Convolution, columns: int) -> Product:
    """The product of rows of so many columns with the filter."""
    channels = call.output[1]
    return Product(
        output=call.output,
        batch=1,
        m=prod(call.output) // channels,
        n=channels,
        k=columns,
        a=Matrices(columns),
        b=Matrices(columns, transposed=True),
        result=Matrices(channels),
        b_constant=True,
        bias=call.bias,
        residual=call.residual,
        activation=call.activation,
        numbers=call.numbers,
    )


def _copy(call: Convolution, x: DeviceTensor, rows: DeviceTensor) -> Run:
    source = windows_source(call, x.element_bytes, rows.shape[1])
    total = rows.array.size
    blocks = -(-total // (source.pack * THREADS))
    return launch(
        _window_rows_kernel(source.text), blocks, THREADS, (x.array, rows.array, np.uint32(total))
    )


@cache
def _window_rows_kernel(text: str) -> Any:
    return cupy.RawKernel(text, NAME)
