"""Calls that move elements to or from where indices say, as kernels compiled through CuPy."""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import (
    ElementGathering,
    ElementScattering,
    Gathering,
    Scattering,
    Shape,
)
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.elements import IN_MEMORY
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, WORDS, launch
from benanza_runner.cuda.kernels.source.indexing import Axis, walk
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.variants import FailedVariant

THREADS = (128, 256)


class GatheringKernels:
    """Candidates for gathering and scattering: threads in a block."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        """One for each number of threads."""
        call = workspace.call
        if not isinstance(call, Gathering | Scattering | ElementGathering | ElementScattering):
            return
        if prod(call.output) >= MOST_ELEMENTS:
            yield refused(LIBRARY, "kernel", "", "it has too many elements for one kernel")
        elif isinstance(call, Gathering | Scattering):
            yield from _runs(workspace, call)
        else:
            yield from _elements(workspace, call)


def _runs(workspace: Workspace, call: Gathering | Scattering) -> Iterator[Candidate]:
    """Kernels in which a thread moves one word of a run, the widest that runs are made of."""
    x, indices = workspace.operand("input"), workspace.operand("indices")
    result = workspace.result(call.output, None, call.element)
    size = x.element_bytes
    width = next(w for w in WORDS if call.inner * size % w == 0)
    inner = call.inner * size // width
    batch = call.batch if isinstance(call, Gathering) else 1
    total = batch * call.rows * inner
    shared = isinstance(call, Gathering) and call.shared
    kernel = _run_kernel(
        WORDS[width],
        IN_MEMORY[call.index_element],
        len(call.named),
        shared,
        isinstance(call, Scattering),
    )
    moved = x if isinstance(call, Gathering) else workspace.operand("updates")
    arguments = (
        moved.array,
        indices.array,
        result.array,
        *map(np.uint32, (total, inner, call.rows)),
        *map(np.int64, call.named),
    )
    for threads in THREADS:
        move = launch(kernel, -(-total // threads), threads, arguments)
        if isinstance(call, Gathering):
            name = f"gather kernel ({width} bytes wide, {threads} threads)"
            yield Candidate(LIBRARY, name, "", no_scratch, move, result)
        else:
            name = f"copy and scatter kernel ({width} bytes wide, {threads} threads)"
            run = _after_copy(result.array, x.array, move)
            yield Candidate(LIBRARY, name, "", no_scratch, run, result)


def _elements(
    workspace: Workspace, call: ElementGathering | ElementScattering
) -> Iterator[Candidate]:
    x, indices = workspace.operand("input"), workspace.operand("indices")
    result = workspace.result(call.output, None, call.element)
    scatters = isinstance(call, ElementScattering)
    if isinstance(call, ElementScattering):
        walked, strided, moved = call.updates, call.output, workspace.operand("updates")
    else:
        walked, strided, moved = call.output, call.input, x
    kernel = _element_kernel(
        WORDS[x.element_bytes],
        IN_MEMORY[call.index_element],
        len(walked),
        call.axis,
        scatters,
    )
    total = prod(walked)
    arguments = (
        moved.array,
        indices.array,
        result.array,
        np.uint32(total),
        np.int64(strided[call.axis]),
        *map(np.uint32, walked),
        *map(np.int64, _steps(strided)),
    )
    for threads in THREADS:
        move = launch(kernel, -(-total // threads), threads, arguments)
        name = f"{'copy and scatter' if scatters else 'gather'} kernel ({threads} threads)"
        run = _after_copy(result.array, x.array, move) if scatters else move
        yield Candidate(LIBRARY, name, "", no_scratch, run, result)


def _after_copy(target: Any, source: Any, move: Any) -> Any:
    def run() -> None:
        cupy.copyto(target, source)
        move()

    return run


def _steps(shape: Shape) -> Shape:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


@cache
def _run_kernel(word: str, index: str, named: int, shared: bool, scatters: bool) -> Any:
    sizes = "".join(f", long long n{at}" for at in range(named))
    finds = "\n  ".join(
        f"{{ long long k = tuple[{at}]; if (k < 0) k += n{at}; place = place * n{at} + k; }}"
        for at in range(named)
    )
    place, mine = "place * inner + column", "at"
    move = f"q[{place}] = p[{mine}];" if scatters else f"q[{mine}] = p[{place}];"
    source = f"""
extern "C" __global__ void move_runs(const {word}* __restrict__ p,
    const {index}* __restrict__ indices, {word}* __restrict__ q, unsigned total, unsigned inner,
    unsigned rows{sizes}) {{
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= total) return;
  const unsigned row = at / inner, column = at % inner;
  const {index}* tuple = indices + (long long)({"row % rows" if shared else "row"}) * {named};
  long long place = row / rows;
  {finds}
  {move}
}}
"""
    return cupy.RawKernel(source, "move_runs")


@cache
def _element_kernel(word: str, index: str, rank: int, axis: int, scatters: bool) -> Any:
    lengths = "".join(f", unsigned n{at}" for at in range(rank))
    steps = "".join(f", long long s{at}" for at in range(rank))
    axes = [Axis(f"n{at}", [("place", "0" if at == axis else f"s{at}")]) for at in range(rank)]
    move = "q[place] = p[at];" if scatters else "q[at] = p[place];"
    source = f"""
extern "C" __global__ void move_elements(const {word}* __restrict__ p,
    const {index}* __restrict__ indices, {word}* __restrict__ q, unsigned total,
    long long size{lengths}{steps}) {{
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= total) return;
  long long place = 0;
  unsigned rest = at;
  {walk("rest", axes)}
  long long k = indices[at];
  if (k < 0) k += size;
  place += k * s{axis};
  {move}
}}
"""
    return cupy.RawKernel(source, "move_elements")
