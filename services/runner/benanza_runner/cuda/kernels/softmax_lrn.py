"""Softmax and normalisation over neighbouring channels, as kernels compiled through CuPy."""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Normalisation, Softmax
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.kernels.launching import LIBRARY, WIDE_BYTES, launch
from benanza_runner.cuda.kernels.source.normalisation import source
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.variants import FailedVariant
from benanza_schemas.layer import Precision

SOFTMAX_THREADS = (32, 128, 256, 512, 1024)
NORMALISATION_THREADS = (128, 256)


class SoftmaxLrnKernels:
    """Candidates for softmax and for normalisation over channels."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        call = workspace.call
        if isinstance(call, Softmax):
            x, result = workspace.operand("input"), workspace.result(call.output)
            numbers = (call.size, call.inner)
            kernel = _softmax(workspace.precision, logarithm=call.logarithm)
            for threads in SOFTMAX_THREADS:
                arguments = (x.array, result.array, *map(np.int32, numbers))
                run = launch(kernel, call.outer * call.inner, threads, arguments)
                name = f"softmax kernel (a block each, {threads} threads)"
                yield Candidate(
                    LIBRARY, name, workspace.natural_layout(call.output), no_scratch, run, result
                )
        elif isinstance(call, Normalisation):
            yield from _normalisations(workspace, call)


def _normalisations(
    workspace: Workspace, call: Normalisation
) -> Iterator[Candidate | FailedVariant]:
    elements = prod(call.input)
    channels, space = call.input[1], prod(call.input[2:])
    factors = (call.alpha / call.size, -call.beta, call.bias)
    for layout, order in workspace.layouts(len(call.input)):
        x, result = workspace.operand("input", order), workspace.result(call.input, order)
        first = order[1] == 1
        step = space if first else 1
        arguments = (
            x.array,
            result.array,
            *map(np.int32, (elements, channels, step)),
            *map(np.float32, factors),
        )
        wide = WIDE_BYTES // x.element_bytes
        for width in (1, wide // 2, wide):
            if width > 1 and (space if first else channels) % width:
                continue
            if width > 1 and not first and call.size // 2 > width:
                continue
            along = width > 1 and not first
            text = source(workspace.precision, call.size, call.beta, width, along=along)
            kernel = _normalisation(text)
            for threads in NORMALISATION_THREADS:
                run = launch(kernel, -(-elements // (width * threads)), threads, arguments)
                name = f"normalisation kernel ({width} wide, {threads} threads)"
                yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


@cache
def _softmax(precision: Precision, *, logarithm: bool) -> Any:
    logarithmic = f"#define LOGARITHM {int(logarithm)}\n"
    return cupy.RawKernel(f"{PREAMBLE[precision]}{logarithmic}{_SOFTMAX}", "softmax")


@cache
def _normalisation(text: str) -> Any:
    return cupy.RawKernel(text, "normalise")


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
