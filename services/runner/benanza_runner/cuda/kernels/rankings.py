"""Orders and sums along one axis, as kernels compiled through CuPy."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Accumulation, Ranking
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.kernels.launching import LIBRARY, launch, preamble
from benanza_runner.cuda.kernels.source.running_sum import running_sum_source
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

SHAPES = ((1, 128), (32, 128), (128, 128), (256, 256), (1024, 1024))
"""Threads that share a row, and threads in a block."""

MOST_SORTED = 4096
"""How many floats with their places fit into a block's shared memory; half as many integers do."""

SCAN_SHAPES = ((1, 32), (1, 64), (1, 256), (128, 128), (512, 512))


class RankingKernels:
    """Candidates for rankings and running sums: threads that share a row."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """Rankings by selection and, if a row fits into shared memory, by sorting."""
        call = workspace.call
        if isinstance(call, Ranking):
            yield from _rankings(workspace, call)
        elif isinstance(call, Accumulation):
            yield from _accumulations(workspace, call)


def _rankings(workspace: Workspace, call: Ranking) -> Iterator[Candidate]:
    x = workspace.operand("input")
    elements = {"values": call.element, "indices": "int64"}
    results = {
        name: workspace.result(call.output, None, elements[name], number)
        for number, name in enumerate(call.outputs)
    }
    first, *more = results.values()
    rows = call.outer * call.inner
    arguments = (
        x.array,
        # What is no output is not written.
        *(results.get(name, first).array for name in elements),
        *map(np.int32, (rows, call.size, call.inner, call.count)),
    )
    for lanes, threads in SHAPES:
        if lanes >= 2 * max(call.size, 32):
            continue
        kernel = _ranking(workspace.precision, call, lanes, 0)
        run = launch(kernel, -(-rows * lanes // threads), threads, arguments)
        name = f"selection kernel ({lanes} threads a row, {threads} a block)"
        yield Candidate(LIBRARY, name, "", no_scratch, run, first, tuple(more))
    length = 1 << max(call.size - 1, 1).bit_length()
    if call.count > 1 and length <= (MOST_SORTED // 2 if call.element else MOST_SORTED):
        kernel = _ranking(workspace.precision, call, 1, length)
        for threads in sorted({min(max(length // 2, 32), most) for most in (256, 1024)}):
            run = launch(kernel, rows, threads, arguments)
            name = f"sorting kernel ({threads} threads a row)"
            yield Candidate(LIBRARY, name, "", no_scratch, run, first, tuple(more))


def _accumulations(workspace: Workspace, call: Accumulation) -> Iterator[Candidate]:
    x, result = workspace.operand("input"), workspace.result(call.output, None, call.element)
    rows = call.outer * call.inner
    numbers = (rows, call.size, call.inner)
    arguments = (x.array, result.array, *map(np.int32, numbers))
    for lanes, threads in SCAN_SHAPES:
        if lanes >= 2 * max(call.size, 64):
            continue
        kernel = _accumulation(
            workspace.precision, call.element, call.exclusive, call.reverse, lanes
        )
        run = launch(kernel, -(-rows * lanes // threads), threads, arguments)
        name = f"running sum kernel ({lanes} threads a row, {threads} a block)"
        yield Candidate(LIBRARY, name, "", no_scratch, run, result)


def _ranking(precision: Precision, call: Ranking, lanes: int, length: int) -> Any:
    chosen = call.outputs, call.largest, call.last
    return _ranking_kernel(precision, call.element, *chosen, lanes, length)


@cache
def _ranking_kernel(
    precision: Precision,
    element: str,
    outputs: tuple[str, ...],
    largest: bool,
    last: bool,
    lanes: int,
    length: int,
) -> Any:
    """Selects, or sorts rows of up to `length` elements, a power of two."""
    source = f"""{preamble(precision, element)}
#define LANES {lanes}
#define LENGTH {length}
#define MORE {">" if largest else "<"}
#define BEFORE {">" if last else "<"}
#define VALUES {int("values" in outputs)}
#define INDICES {int("indices" in outputs)}
{_BETTER}{_SORTING if length else _RANKING}"""
    return cupy.RawKernel(source, "rank")


_BETTER = """
__device__ __forceinline__ bool better(V a, int i, V b, int j) {
  return a MORE b || (a == b && i BEFORE j);
}
"""

_SORTING = """
// A bitonic sort of a row in shared memory; what is beyond its end is worse than all else.
extern "C" __global__ void rank(const E* __restrict__ x, E* __restrict__ values,
    long long* __restrict__ indices, int rows, int size, int inner, int count) {
  __shared__ V keys[LENGTH];
  __shared__ int places[LENGTH];
  const int row = blockIdx.x;
  const E* mine = x + (long long)(row / inner) * size * inner + row % inner;
  for (int i = threadIdx.x; i < LENGTH; i += blockDim.x) {
    keys[i] = i < size ? read(mine[(long long)i * inner]) : (V)0;
    places[i] = i < size ? i : -1;
  }
  __syncthreads();
  for (int run = 2; run <= LENGTH; run *= 2) {
    for (int step = run / 2; step; step /= 2) {
      for (int t = threadIdx.x; t < LENGTH / 2; t += blockDim.x) {
        const int i = 2 * t - (t & (step - 1)), j = i + step;
        const V a = keys[i], b = keys[j];
        const int m = places[i], n = places[j];
        const bool second = m < 0 ? n >= 0 : n >= 0 && better(b, n, a, m);
        if (m != n && second == !(i & run)) {
          keys[i] = b; keys[j] = a;
          places[i] = n; places[j] = m;
        }
      }
      __syncthreads();
    }
  }
  const long long first = (long long)(row / inner) * count * inner + row % inner;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const long long target = first + (long long)i * inner;
    if (VALUES) values[target] = write(keys[i]);
    if (INDICES) indices[target] = places[i];
  }
}
"""

_RANKING = """
// The best of what comes after the one before, as often as there are elements to be found: rows
// are read again each time, so no memory is needed but the result's.
extern "C" __global__ void rank(const E* __restrict__ x, E* __restrict__ values,
    long long* __restrict__ indices, int rows, int size, int inner, int count) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const int lane = threadIdx.x % LANES;
  if (row >= rows) return;
  const E* mine = x + (long long)(row / inner) * size * inner + row % inner;
  const long long first = (long long)(row / inner) * count * inner + row % inner;
#if LANES > 32
  __shared__ V parts[32];
  __shared__ int places[32];
#endif
  V previous = 0;
  int previous_at = -1;
  for (int round = 0; round < count; ++round) {
    V best = 0;
    int at = -1;
    for (int i = lane; i < size; i += LANES) {
      const V v = read(mine[(long long)i * inner]);
      if (round && !better(previous, previous_at, v, i)) continue;
      if (at < 0 || better(v, i, best, at)) { best = v; at = i; }
    }
#if LANES > 1
    for (int offset = 16; offset; offset /= 2) {
      const V v = __shfl_xor_sync(0xffffffffu, best, offset);
      const int i = __shfl_xor_sync(0xffffffffu, at, offset);
      if (i >= 0 && (at < 0 || better(v, i, best, at))) { best = v; at = i; }
    }
#endif
#if LANES > 32
    __syncthreads();
    if (threadIdx.x % 32 == 0) { parts[threadIdx.x / 32] = best; places[threadIdx.x / 32] = at; }
    __syncthreads();
    for (int warp = 0; warp < LANES / 32; ++warp) {
      const V v = parts[warp];
      const int i = places[warp];
      if (i >= 0 && (at < 0 || better(v, i, best, at))) { best = v; at = i; }
    }
#endif
    previous = best;
    previous_at = at;
    if (lane == 0) {
      const long long target = first + (long long)round * inner;
      if (VALUES) values[target] = mine[(long long)at * inner];
      if (INDICES) indices[target] = at;
    }
  }
}
"""


@cache
def _accumulation(
    precision: Precision, element: str, exclusive: bool, reverse: bool, lanes: int
) -> Any:
    source = running_sum_source(precision, element, lanes, exclusive=exclusive, reverse=reverse)
    return cupy.RawKernel(source, "accumulate")
