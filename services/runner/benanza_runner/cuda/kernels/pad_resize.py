"""Padding and resizing, as kernels compiled through CuPy: a thread for each output, or for several
next to each other that are resized alike.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

import cupy
import msgspec
import numpy as np

from benanza_runner.cuda.calls import Padding, Resizing
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
from benanza_runner.cuda.kernels.source.resizing import parameters, resizing_source
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.variants import FailedVariant
from benanza_schemas.layer import Precision

THREADS = (128, 256)


class PadResizeKernels:
    """Candidates for padding and resizing: layouts, threads in a block."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        """One for each layout and number of threads."""
        call = workspace.call
        if not isinstance(call, Padding | Resizing):
            return
        if prod(call.output) >= MOST_ELEMENTS or prod(call.input) >= MOST_ELEMENTS:
            yield refused(LIBRARY, "kernel", "", "it has too many elements for one kernel")
            return
        rank = len(call.input)
        layouts = list(workspace.layouts(rank)) if rank >= 4 else [("", tuple(range(rank)))]
        for layout, order in layouts:
            yield from _candidates(workspace, call, layout, order)


def _candidates(
    workspace: Workspace, call: Padding | Resizing, layout: str, order: tuple[int, ...]
) -> Iterator[Candidate]:
    x, result = (
        workspace.operand("input", order),
        workspace.result(call.output, order, call.element),
    )
    if isinstance(call, Padding):
        axes = joined(call.output, call.input, call.before, 0, order)
        number = np.int64 if call.element else np.float32
        kernel = _padding(workspace.precision, call.element, len(axes), call.mode)
        extra = (number(call.value), *(np.int32(before) for *_, before in axes))
        yield from _launched("padding kernel", kernel, axes, extra, x, result, layout)
        return
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


MOVES = {
    "constant": "inside = inside && c >= 0 && c < n{0};",
    "edge": "c = min(max(c, 0), n{0} - 1);",
    "reflect": "if (n{0} == 1) c = 0;"
    " else {{ c = abs(c) % (2 * n{0} - 2); if (c >= n{0}) c = 2 * n{0} - 2 - c; }}",
    "wrap": "c = (c % n{0} + n{0}) % n{0};",
}
"""Where an element comes from whose place in the input is `c`."""


@cache
def _padding(precision: Precision, element: str, rank: int, mode: str) -> Any:
    value = "long long" if element else "float"
    before = "".join(f", int b{at}" for at in range(rank))
    walk = "\n  ".join(
        f"{{ int c = rest % o{at} - b{at}; rest /= o{at}; {MOVES[mode].format(at)}"
        f" place += (long long)c * s{at}; }}"
        for at in reversed(range(rank))
    )
    source = f"""{preamble(precision, element)}
extern "C" __global__ void pad({parameters(rank)}, {value} value{before}) {{
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= total) return;
  int rest = at;
  bool inside = true;
  long long place = 0;
  {walk}
  q[at] = inside ? p[place] : write(value);
}}
"""
    return cupy.RawKernel(source, "pad")


@cache
def _resizing(precision: Precision, resized: tuple[bool, ...], how: Resizing, wide: int) -> Any:
    source = resizing_source(preamble(precision, how.element), resized, how, wide)
    return cupy.RawKernel(source, "resize")
