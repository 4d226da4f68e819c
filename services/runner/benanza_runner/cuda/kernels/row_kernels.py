"""Softmax and normalisation over neighbouring channels, as kernels compiled through CuPy."""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.bench import Bench
from benanza_runner.cuda.calls import Normalisation, Softmax
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.kernels.launching import LIBRARY, launch
from benanza_runner.cuda.kernels.storage import PREAMBLE
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

SOFTMAX_THREADS = (32, 128, 256, 512, 1024)
NORMALISATION_THREADS = (128, 256)
WIDE_BYTES = 16
THREE_QUARTERS = 0.75
"""Beta in most models: two roots give that power faster than the power of any number."""


class RowKernels:
    """Candidates for softmax and for normalisation over channels."""

    library = LIBRARY

    def candidates(self, bench: Bench) -> Iterator[Candidate | Variant]:
        call = bench.call
        if isinstance(call, Softmax):
            image, result = bench.operand("image"), bench.result(call.output)
            numbers = (call.size, call.inner)
            kernel = _kernel(
                bench.precision, "softmax", f"#define LOGARITHM {int(call.logarithm)}\n"
            )
            for threads in SOFTMAX_THREADS:
                arguments = (image.array, result.array, *map(np.int32, numbers))
                run = launch(kernel, call.outer * call.inner, threads, arguments)
                name = f"softmax kernel (a block each, {threads} threads)"
                yield Candidate(
                    LIBRARY, name, bench.natural_layout(call.output), no_scratch, run, result
                )
        elif isinstance(call, Normalisation):
            yield from _normalisations(bench, call)


def _normalisations(bench: Bench, call: Normalisation) -> Iterator[Candidate | Variant]:
    elements = prod(call.image)
    channels, space = call.image[1], prod(call.image[2:])
    before, after = (call.size - 1) // 2, call.size // 2
    factors = (call.alpha / call.size, -call.beta, call.bias)
    for layout, order in bench.layouts(len(call.image)):
        image, result = bench.operand("image", order), bench.result(call.image, order)
        first = order[1] == 1
        step = space if first else 1
        arguments = (
            image.array,
            result.array,
            *map(np.int32, (elements, channels, step)),
            *map(np.float32, factors),
        )
        wide = WIDE_BYTES // image.element_bytes
        for width in (1, wide // 2, wide):
            if width > 1 and (space if first else channels) % width:
                continue
            if width > 1 and not first and after > width:
                continue
            kernel = _kernel(
                bench.precision,
                "normalise",
                f"#define BEFORE {before}\n#define AFTER {after}\n#define WIDTH {width}\n"
                f"#define ALONG {int(width > 1 and not first)}\n"
                f"#define ROOTS {int(call.beta == THREE_QUARTERS)}\n",
            )
            for threads in NORMALISATION_THREADS:
                run = launch(kernel, -(-elements // (width * threads)), threads, arguments)
                name = f"normalisation kernel ({width} wide, {threads} threads)"
                yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


@cache
def _kernel(precision: Precision, name: str, defines: str) -> Any:
    return cupy.RawKernel(f"{PREAMBLE[precision]}{defines}{_SOURCES[name]}", name)


_SOFTMAX = """
__device__ float over_block(float v, bool largest) {
  __shared__ float parts[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (int offset = 16; offset; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, v, offset);
    v = largest ? fmaxf(v, other) : v + other;
  }
  __syncthreads();
  if (lane == 0) parts[warp] = v;
  __syncthreads();
  v = parts[0];
  for (int i = 1; i < warps; ++i) v = largest ? fmaxf(v, parts[i]) : v + parts[i];
  return v;
}
extern "C" __global__ void softmax(const T* __restrict__ x, T* __restrict__ y, int size,
    int inner) {
  const long long first = (long long)(blockIdx.x / inner) * size * inner + blockIdx.x % inner;
  float most = __int_as_float(0xff800000), sum = 0.0f;
  for (int i = threadIdx.x; i < size; i += blockDim.x)
    most = fmaxf(most, load(x[first + (long long)i * inner]));
  most = over_block(most, true);
  for (int i = threadIdx.x; i < size; i += blockDim.x)
    sum += expf(load(x[first + (long long)i * inner]) - most);
  sum = over_block(sum, false);
  for (int i = threadIdx.x; i < size; i += blockDim.x) {
    const float v = load(x[first + (long long)i * inner]) - most;
    y[first + (long long)i * inner] = store(LOGARITHM ? v - logf(sum) : expf(v) / sum);
  }
}
"""

# A thread has WIDTH elements next to each other, which are channels of a pixel if ALONG: then what
# they need lies in three packs. All is read at once; what is outside is read at the border.
_NORMALISE = """
struct __align__(sizeof(T) * WIDTH) Pack { T v[WIDTH]; };
__device__ __forceinline__ Pack pack(const T* p) { return *reinterpret_cast<const Pack*>(p); }
extern "C" __global__ void normalise(const T* __restrict__ x, T* __restrict__ y, int elements,
    int channels, int step, float alpha, float power, float bias) {
  const int at = (blockIdx.x * blockDim.x + threadIdx.x) * WIDTH;
  if (at >= elements) return;
  const int channel = at / step % channels;
  const Pack own = pack(x + at);
  float sums[WIDTH];
#if ALONG
  const bool begins = channel == 0, ends = channel + WIDTH == channels;
  const Pack left = pack(x + (begins ? at : at - WIDTH));
  const Pack right = pack(x + (ends ? at : at + WIDTH));
  float squares[3 * WIDTH];
  #pragma unroll
  for (int j = 0; j < WIDTH; ++j) {
    const float a = load(left.v[j]), b = load(own.v[j]), c = load(right.v[j]);
    squares[j] = begins ? 0.0f : a * a;
    squares[WIDTH + j] = b * b;
    squares[2 * WIDTH + j] = ends ? 0.0f : c * c;
  }
  #pragma unroll
  for (int j = 0; j < WIDTH; ++j) {
    sums[j] = 0.0f;
    #pragma unroll
    for (int k = -BEFORE; k <= AFTER; ++k) sums[j] += squares[WIDTH + j + k];
  }
#else
  #pragma unroll
  for (int j = 0; j < WIDTH; ++j) sums[j] = 0.0f;
  #pragma unroll
  for (int k = -BEFORE; k <= AFTER; ++k) {
    const bool inside = channel + k >= 0 && channel + k < channels;
    const Pack p = pack(x + (inside ? at + k * step : at));
    #pragma unroll
    for (int j = 0; j < WIDTH; ++j) {
      const float there = load(p.v[j]), v = inside ? there : 0.0f;
      sums[j] += v * v;
    }
  }
#endif
  Pack out;
  #pragma unroll
  for (int j = 0; j < WIDTH; ++j) {
    const float scale = bias + alpha * sums[j];
#if ROOTS
    const float root = rsqrtf(scale), factor = root * sqrtf(root);
#else
    const float factor = powf(scale, power);
#endif
    out.v[j] = store(load(own.v[j]) * factor);
  }
  *reinterpret_cast<Pack*>(y + at) = out;
}
"""

_SOURCES = {"softmax": _SOFTMAX, "normalise": _NORMALISE}
