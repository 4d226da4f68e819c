"""Element-wise calls as one generated kernel, compiled through CuPy.

Sizes are arguments, so calls with the same statements share a compiled kernel.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Elementwise
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.elements import INDEX
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, WIDE_BYTES, launch
from benanza_runner.cuda.kernels.source.elementwise import (
    COUNTED,
    by_thread,
    reading,
    source,
)
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.variants import FailedVariant

THREADS = (128, 256)


class ElementwiseKernels:
    """Candidates for element-wise calls: layouts, widths of access, threads in a block."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        """One for each layout, width of access and number of threads."""
        call = workspace.call
        if not isinstance(call, Elementwise):
            return
        if prod(call.output) >= MOST_ELEMENTS:
            yield refused(LIBRARY, "kernel", "", "it has too many elements for one kernel")
            return
        elements = prod(call.output)
        whole = all(
            operand.element != INDEX and prod(operand.shape) in (1, elements)
            for operand in call.operands
        )
        rank = len(call.output)
        layouts = [("", tuple(range(rank)))]
        if rank >= 3 and not whole:
            layouts = list(workspace.layouts(rank))
        for layout, order in layouts:
            yield from _candidates(workspace, call, layout, order)


def _candidates(
    workspace: Workspace, call: Elementwise, layout: str, order: tuple[int, ...]
) -> Iterator[Candidate]:
    elements = prod(call.output)
    result = workspace.result(call.output, order, call.element)
    kinds, numbers, axes = reading(call, order)
    inputs = []
    for index, (operand, kind) in enumerate(zip(call.operands, kinds, strict=True)):
        if kind != COUNTED:
            full = (1,) * (len(call.output) - len(operand.shape)) + operand.shape
            inputs.append(workspace.expanded(f"in{index}", full, order).array)
    written = call.statements, call.result, call.element
    types = tuple(operand.element for operand in call.operands)
    wide = WIDE_BYTES // result.element_bytes
    for width in sorted({1, max(wide // 2, 1), wide}):
        if elements % width or (width > 1 and elements < 4096):
            continue
        read = by_thread(call, kinds, order, width)
        kernel = _elementwise_kernel(source(written, read, types, workspace.precision, width, axes))
        sizes = [np.uint32(number) for number in numbers]
        arguments = (*inputs, result.array, np.uint32(elements // width), *sizes)
        for threads in THREADS:
            blocks = -(-elements // (width * threads))
            name = f"elementwise kernel ({width} wide, {threads} threads)"
            run = launch(kernel, blocks, threads, arguments)
            yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


@cache
def _elementwise_kernel(text: str) -> Any:
    return cupy.RawKernel(text, "chain")
