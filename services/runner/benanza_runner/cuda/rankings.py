"""Orders and sums along one axis, as kernels compiled through CuPy."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.bench import Bench
from benanza_runner.cuda.calls import Accumulation, Ranking
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.launching import LIBRARY, launch, preamble
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

SHAPES = ((1, 128), (32, 128), (128, 128), (256, 256), (1024, 1024))
"""Threads that share a row, and threads in a block."""

SCAN_SHAPES = ((1, 64), (1, 256), (128, 128), (512, 512))


class RankingKernels:
    """Candidates for rankings and running sums: threads that share a row."""

    library = LIBRARY

    def candidates(self, bench: Bench) -> Iterator[Candidate | Variant]:
        call = bench.call
        if isinstance(call, Ranking):
            yield from _rankings(bench, call)
        elif isinstance(call, Accumulation):
            yield from _accumulations(bench, call)


def _rankings(bench: Bench, call: Ranking) -> Iterator[Candidate]:
    image = bench.operand("image")
    results = {
        "values": bench.result(call.output, None, call.element, 0),
        "indices": bench.result(call.output, None, "int64", 1),
    }
    first, *more = (results[name] for name in call.outputs)
    rows = call.outer * call.inner
    arguments = (
        image.array,
        results["values"].array,
        results["indices"].array,
        *map(np.int32, (rows, call.size, call.inner, call.count)),
    )
    for lanes, threads in SHAPES:
        if lanes >= 2 * max(call.size, 32):
            continue
        kernel = _ranking(
            bench.precision, call.element, call.outputs, call.largest, call.last, lanes
        )
        run = launch(kernel, -(-rows * lanes // threads), threads, arguments)
        name = f"selection kernel ({lanes} threads a row, {threads} a block)"
        yield Candidate(LIBRARY, name, "", no_scratch, run, first, tuple(more))


def _accumulations(bench: Bench, call: Accumulation) -> Iterator[Candidate]:
    image, result = bench.operand("image"), bench.result(call.output, None, call.element)
    rows = call.outer * call.inner
    numbers = (rows, call.size, call.inner)
    arguments = (image.array, result.array, *map(np.int32, numbers))
    for lanes, threads in SCAN_SHAPES:
        if lanes >= 2 * max(call.size, 64):
            continue
        kernel = _accumulation(bench.precision, call.element, call.exclusive, call.reverse, lanes)
        run = launch(kernel, -(-rows * lanes // threads), threads, arguments)
        name = f"running sum kernel ({lanes} threads a row, {threads} a block)"
        yield Candidate(LIBRARY, name, "", no_scratch, run, result)


@cache
def _ranking(
    precision: Precision,
    element: str,
    outputs: tuple[str, ...],
    largest: bool,
    last: bool,
    lanes: int,
) -> Any:
    source = f"""{preamble(precision, element)}
#define LANES {lanes}
#define MORE {">" if largest else "<"}
#define BEFORE {">" if last else "<"}
#define VALUES {int("values" in outputs)}
#define INDICES {int("indices" in outputs)}
{_RANKING}"""
    return cupy.RawKernel(source, "rank")


_RANKING = """
__device__ __forceinline__ bool better(V a, int i, V b, int j) {
  return a MORE b || (a == b && i BEFORE j);
}
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
    source = f"""{preamble(precision, element)}
#define LANES {lanes}
#define EXCLUSIVE {int(exclusive)}
#define REVERSE {int(reverse)}
{_ACCUMULATION}"""
    return cupy.RawKernel(source, "accumulate")


_ACCUMULATION = """
// Each thread adds up a run of its own, then those of the threads before it, then writes.
extern "C" __global__ void accumulate(const E* __restrict__ x, E* __restrict__ y, int rows,
    int size, int inner) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const int lane = threadIdx.x % LANES;
  if (row >= rows) return;
  const long long first = (long long)(row / inner) * size * inner + row % inner;
  const int length = (size + LANES - 1) / LANES;
  const int begin = lane * length, end = min(size, begin + length);
  V sum = 0;
#if LANES > 1
  __shared__ V parts[LANES];
  for (int i = begin; i < end; ++i)
    sum += read(x[first + (long long)(REVERSE ? size - 1 - i : i) * inner]);
  parts[lane] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < lane; ++i) sum += parts[i];
#endif
  for (int i = begin; i < end; ++i) {
    const long long at = first + (long long)(REVERSE ? size - 1 - i : i) * inner;
    const V v = read(x[at]);
    if (EXCLUSIVE) y[at] = write(sum);
    sum += v;
    if (!EXCLUSIVE) y[at] = write(sum);
  }
}
"""
