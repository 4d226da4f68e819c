"""Calls that write elements where indices say, as kernels compiled through CuPy.

Gathering, which reads there, is part of regions.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import ElementScattering, Scattering, Shape
from benanza_runner.cuda.candidate import Candidate, Run, no_scratch, refused
from benanza_runner.cuda.elements import IN_MEMORY
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, WORDS, launch
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

THREADS = (128, 256)


class ScatteringKernels:
    """Candidates for scattering: threads in a block."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for number number of threads."""
        call = workspace.call
        if not isinstance(call, Scattering | ElementScattering):
            return
        if prod(call.output) >= MOST_ELEMENTS:
            yield refused(LIBRARY, "kernel", "", "it has too many elements for one kernel")
        elif isinstance(call, Scattering):
            yield from _runs(workspace, call)
        else:
            yield from _elements(workspace, call)


def _runs(workspace: Workspace, call: Scattering) -> Iterator[Candidate]:
    """Kernels in which a thread moves one word of a run, the widest that runs are made of."""
    size = workspace.operand("updates").element_bytes
    width = next(w for w in WORDS if call.inner * size % w == 0)
    inner = call.inner * size // width
    total = call.rows * inner
    kernel = _run_kernel(WORDS[width], IN_MEMORY[call.index_element], len(call.named))
    numbers = (*map(np.uint32, (total, inner)), *map(np.int64, call.named))
    yield from _after_copies(workspace, call, kernel, total, numbers, f"{width} bytes wide, ")


def _elements(workspace: Workspace, call: ElementScattering) -> Iterator[Candidate]:
    word = WORDS[workspace.operand("updates").element_bytes]
    kernel = _element_kernel(word, IN_MEMORY[call.index_element], len(call.updates), call.axis)
    total = prod(call.updates)
    numbers = (
        np.uint32(total),
        np.int64(call.output[call.axis]),
        *map(np.uint32, call.updates),
        *map(np.int64, _steps(call.output)),
    )
    yield from _after_copies(workspace, call, kernel, total, numbers, "")


def _after_copies(
    workspace: Workspace,
    call: Scattering | ElementScattering,
    kernel: Any,
    total: int,
    numbers: tuple[Any, ...],
    what: str,
) -> Iterator[Candidate]:
    """The kernel, for so many threads in total, after a copy of the input to the result."""
    x, updates, indices = map(workspace.operand, ("input", "updates", "indices"))
    result = workspace.result(call.output, None, call.element)
    arguments = (updates.array, indices.array, result.array, *numbers)
    for threads in THREADS:
        scatter = launch(kernel, -(-total // threads), threads, arguments)
        name = f"copy and scatter kernel ({what}{threads} threads)"
        run = _after_copy(result.array, x.array, scatter)
        yield Candidate(LIBRARY, name, "", no_scratch, run, result)


def _after_copy(target: Any, source: Any, scatter: Run) -> Run:
    def run() -> None:
        cupy.copyto(target, source)
        scatter()

    return run


def _steps(shape: Shape) -> Shape:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


@cache
def _run_kernel(word: str, index: str, named: int) -> Any:
    sizes = "".join(f", long long n{axis}" for axis in range(named))
    finds = "\n  ".join(
        f"{{ long long k = tuple[{axis}]; if (k < 0) k += n{axis}; place = place * n{axis} + k; }}"
        for axis in range(named)
    )
    source = f"""
extern "C" __global__ void scatter_runs(const {word}* __restrict__ updates,
    const {index}* __restrict__ indices, {word}* __restrict__ q, unsigned total, unsigned inner
    {sizes}) {{
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= total) return;
  const unsigned row = at / inner, column = at % inner;
  const {index}* tuple = indices + (long long)row * {named};
  long long place = 0;
  {finds}
  q[place * inner + column] = updates[at];
}}
"""
    return cupy.RawKernel(source, "scatter_runs")


@cache
def _element_kernel(word: str, index: str, rank: int, axis: int) -> Any:
    lengths = "".join(f", unsigned n{number}" for number in range(rank))
    steps = "".join(f", long long s{number}" for number in range(rank))
    walk = " ".join(
        ("" if number == axis else f"place += rest % n{number} * s{number}; ")
        + f"rest /= n{number};"
        for number in reversed(range(rank))
    )
    source = f"""
extern "C" __global__ void scatter_elements(const {word}* __restrict__ updates,
    const {index}* __restrict__ indices, {word}* __restrict__ q, unsigned total,
    long long size{lengths}{steps}) {{
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= total) return;
  long long place = 0;
  unsigned rest = at;
  {walk}
  long long k = indices[at];
  if (k < 0) k += size;
  q[place + k * s{axis}] = updates[at];
}}
"""
    return cupy.RawKernel(source, "scatter_elements")
