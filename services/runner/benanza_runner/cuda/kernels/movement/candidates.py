"""Calls that only move elements, through CuPy."""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Concatenation, Shuffle, Splitting, View
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.launching import (
    COPY_THREADS,
    LIBRARY,
    MOST_ELEMENTS,
    WORDS,
    launch,
)
from benanza_runner.cuda.kernels.movement.joining import concatenations, splittings
from benanza_runner.cuda.kernels.source.tiled_copy import NAME as TILED
from benanza_runner.cuda.kernels.source.tiled_copy import THREADS as TILED_THREADS
from benanza_runner.cuda.kernels.source.tiled_copy import tiled_copy
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.variants import FailedVariant

MOST_AXES = 8


class MovementKernels:
    """Candidates for concatenations, splittings, shuffles and copies with other steps."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        """Kernels; for views and shuffles CuPy's `copyto` as well."""
        call = workspace.call
        if isinstance(call, Concatenation):
            yield from concatenations(workspace, call)
        elif isinstance(call, View):
            yield from _views(workspace, call)
        elif isinstance(call, Shuffle):
            yield from _shuffles(workspace, call)
        elif isinstance(call, Splitting):
            yield from splittings(workspace, call)


def _views(workspace: Workspace, call: View) -> Iterator[Candidate]:
    x, result = workspace.operand("input"), workspace.result(call.output, None, call.element)
    cut = tuple(map(slice, call.starts, call.stops, call.steps))
    seen = x.array.reshape(call.input)[cut].transpose(call.order)
    view = cupy.broadcast_to(seen, call.output)
    yield from _copies(x, view, result, workspace.natural_layout(call.input))


def _shuffles(workspace: Workspace, call: Shuffle) -> Iterator[Candidate]:
    for layout, order in workspace.layouts(len(call.input)):
        x = workspace.operand("input", order)
        result = workspace.result(call.input, order, call.element)
        place = order.index(1)
        before, (channels, *after) = x.array.shape[:place], x.array.shape[place:]
        table = x.array.reshape((*before, call.rows, channels // call.rows, *after))
        yield from _copies(x, table.swapaxes(place, place + 1), result, layout)


def _copies(x: DeviceTensor, view: Any, result: DeviceTensor, layout: str) -> Iterator[Candidate]:
    """Copies of a view of a tensor into a result of as many elements."""
    target = result.array.reshape(view.shape)

    def copy() -> None:
        cupy.copyto(target, view)

    yield Candidate(LIBRARY, "copyto", layout, no_scratch, copy, result)
    size = x.element_bytes
    axes = merged(view.shape, tuple(step // size for step in view.strides))
    first = (int(view.data.ptr) - x.pointer) // size
    # The widest word that keeps to one run of elements, here and there.
    numbers = [first, *(step for _, step in axes[:-1])]
    run_length = axes[-1][0] if axes[-1][1] == 1 else 1
    width = next(
        w for w in WORDS if all(n * size % w == 0 for n in (run_length, *numbers)) or w == size
    )
    scale = width // size
    lengths = [length for length, _ in axes[:-1]] + [axes[-1][0] // scale]
    steps = [step // scale for _, step in axes[:-1]] + [axes[-1][1]]
    total = prod(lengths)
    if total >= MOST_ELEMENTS or len(axes) > MOST_AXES:
        return
    kernel = _strided(len(axes), WORDS[width])
    arguments = (
        x.array,
        result.array,
        np.int64(first // scale),
        np.uint32(total),
        *map(np.uint32, lengths),
        *map(np.int64, steps),
    )
    for threads in COPY_THREADS:
        run = launch(kernel, -(-total // threads), threads, arguments)
        name = f"strided copy kernel ({width} bytes wide, {threads} threads)"
        yield Candidate(LIBRARY, name, layout, no_scratch, run, result)
    if by_tiles := tiled_copy(first, axes, size):
        arguments = (x.array, result.array, *by_tiles.numbers)
        run = launch(_tiled(by_tiles.source), by_tiles.blocks, TILED_THREADS, arguments)
        yield Candidate(LIBRARY, "tiled copy kernel", layout, no_scratch, run, result)


def merged(shape: tuple[int, ...], steps: tuple[int, ...]) -> list[tuple[int, int]]:
    """Length and stride of each axis. Axes that continue into the next one are joined with it."""
    axes: list[tuple[int, int]] = []
    for length, step in zip(shape, steps, strict=True):
        if length == 1:
            continue
        if axes and axes[-1][1] == length * step:
            axes[-1] = (axes[-1][0] * length, step)
        else:
            axes.append((length, step))
    return axes or [(1, 1)]


@cache
def _tiled(source: str) -> Any:
    return cupy.RawKernel(source, TILED)


@cache
def _strided(rank: int, word: str) -> Any:
    lengths = "".join(f", unsigned n{i}" for i in range(rank))
    steps = "".join(f", long long s{i}" for i in range(rank))
    walk = " ".join(f"from += rest % n{i} * s{i}; rest /= n{i};" for i in reversed(range(rank)))
    source = f"""
extern "C" __global__ void strided(const {word}* __restrict__ p, {word}* __restrict__ q,
    long long from, unsigned total{lengths}{steps}) {{
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= total) return;
  unsigned rest = at;
  {walk}
  q[at] = p[from];
}}
"""
    return cupy.RawKernel(source, "strided")
