"""Resizing, as kernels compiled through CuPy: a thread for each output, or for several next to each
other that are resized alike.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

import cupy
import msgspec
import numpy as np

from benanza_runner.cuda.calls import Resizing
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.launching import (
    LIBRARY,
    MOST_ELEMENTS,
    WIDE_BYTES,
    launch,
    preamble,
)
from benanza_runner.cuda.kernels.source.indexing import joined
from benanza_runner.cuda.kernels.source.resizing import resizing_source
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.variants import FailedVariant
from benanza_schemas.layer import Precision

THREADS = (128, 256)


class ResizingKernels:
    """Candidates for resizing: layouts, width of access, threads in a block."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        """One for each layout, width of access and number of threads."""
        call = workspace.call
        if not isinstance(call, Resizing):
            return
        if prod(call.output) >= MOST_ELEMENTS or prod(call.input) >= MOST_ELEMENTS:
            yield refused(LIBRARY, "kernel", "", "it has too many elements for one kernel")
            return
        rank = len(call.input)
        layouts = list(workspace.layouts(rank)) if rank >= 4 else [("", tuple(range(rank)))]
        for layout, order in layouts:
            yield from _candidates(workspace, call, layout, order)


def _candidates(
    workspace: Workspace, call: Resizing, layout: str, order: tuple[int, ...]
) -> Iterator[Candidate]:
    x = workspace.operand("input", order)
    result = workspace.result(call.output, order, call.element)
    axes = joined(call.output, call.input, call.scales, 1, order)
    resized = tuple(out != size or scale != 1 for out, size, scale in axes)
    how = msgspec.structs.replace(call, input=(), output=(), scales=())
    scales = tuple(np.float32(scale) for *_, scale in axes)
    *before, (out, size, scale) = axes
    wide = WIDE_BYTES // result.element_bytes
    if not resized[-1] and size % wide == 0:
        kernel = _resizing(workspace.precision, resized, how, wide)
        packs = [*before, (out // wide, size // wide, scale)]
        name = f"resizing kernel, {wide} wide"
        yield from _launched(name, kernel, packs, scales, x, result, layout)
    kernel = _resizing(workspace.precision, resized, how, 1)
    yield from _launched("resizing kernel", kernel, axes, scales, x, result, layout)


def _launched(
    title: str,
    kernel: Any,
    axes: Sequence[tuple[int, int, Any]],
    extra: tuple[Any, ...],
    x: DeviceTensor,
    result: DeviceTensor,
    layout: str,
) -> Iterator[Candidate]:
    """Candidates for a kernel, whose axes have these sizes in the output and in the input."""
    steps = [prod(size for _, size, _ in axes[at + 1 :]) for at in range(len(axes))]
    total = prod(out for out, *_ in axes)
    arguments = (
        x.array,
        result.array,
        np.uint32(total),
        *(np.int32(out) for out, _, _ in axes),
        *(np.int32(size) for _, size, _ in axes),
        *map(np.int32, steps),
        *extra,
    )
    for threads in THREADS:
        run = launch(kernel, -(-total // threads), threads, arguments)
        yield Candidate(LIBRARY, f"{title} ({threads} threads)", layout, no_scratch, run, result)


@cache
def _resizing(precision: Precision, resized: tuple[bool, ...], how: Resizing, wide: int) -> Any:
    source = resizing_source(preamble(precision, how.element), resized, how, wide)
    return cupy.RawKernel(source, "resize")
