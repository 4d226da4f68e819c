"""Products of one row with a matrix, as a kernel in which threads share a row of weights.

Such a product reads each weight once, so it is bound by memory. A library's tiles are made for
products that are bound by arithmetic.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Product
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.kernels.launching import LIBRARY, WIDE_BYTES, launch
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.lowering.products.activations import FUSED, expression
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

SHAPES = ((32, 128), (32, 256), (64, 128), (128, 128), (256, 256))
"""Threads for a row, and threads in a block."""


class RowProducts:
    """Candidates for products whose `m` is 1 and whose `b` is a weight."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each number of threads that share a row."""
        call = workspace.call
        if not isinstance(call, Product) or call.m != 1 or call.batch * call.rounds != 1:
            return
        if not call.b_constant or call.residual or call.activation not in FUSED:
            return
        if call.a.start or (call.a.transposed and call.a.line > 1):
            return
        wide = WIDE_BYTES // PRECISIONS[workspace.precision].bytes
        width = wide if call.k % wide == 0 else 1
        shape = (call.n, call.k) if call.b.transposed else (call.k, call.n)
        weights = workspace.expanded("b", shape, (0, 1) if call.b.transposed else (1, 0))
        activate = expression(call.activation, call.numbers, "sum")
        row, result = workspace.operand("a"), workspace.result(call.output)
        layout = workspace.natural_layout(*call.moved)
        bias = workspace.operand("bias") if call.bias else row
        arguments = (
            row.array,
            weights.array,
            bias.array,
            result.array,
            np.int32(call.n),
            np.int32(call.k // width),
            np.float32(call.alpha),
        )
        for lanes, threads in SHAPES:
            kernel = _row_product_kernel(workspace.precision, width, lanes, call.bias, activate)
            run = launch(kernel, -(-call.n * lanes // threads), threads, arguments)
            name = f"row kernel ({lanes} threads a row, {threads} a block)"
            yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


@cache
def _row_product_kernel(
    precision: Precision, width: int, lanes: int, bias: bool, activate: str
) -> Any:
    source = f"""{PREAMBLE[precision]}
#define WIDTH {width}
#define LANES {lanes}
#define BIAS {int(bias)}
#define ACTIVATED {activate}
{_SOURCE}"""
    return cupy.RawKernel(source, "row_product")


_SOURCE = """
struct __align__(sizeof(T) * WIDTH) Pack { T v[WIDTH]; };
extern "C" __global__ void row_product(const Pack* __restrict__ row,
    const Pack* __restrict__ weights, const T* __restrict__ bias, T* __restrict__ y, int n, int k,
    float alpha) {
  __shared__ float parts[32];
  const int at = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const int lane = threadIdx.x % LANES;
  float sum = 0.0f;
  if (at < n) {
    const Pack* mine = weights + (long long)at * k;
    #pragma unroll 4
    for (int i = lane; i < k; i += LANES) {
      const Pack a = row[i], b = mine[i];
      #pragma unroll
      for (int j = 0; j < WIDTH; ++j) sum += load(a.v[j]) * load(b.v[j]);
    }
  }
  for (int offset = 16; offset; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
#if LANES > 32
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (lane == 0)
    for (int i = 1; i < LANES / 32; ++i) sum += parts[threadIdx.x / 32 + i];
#endif
  if (lane == 0 && at < n) {
    sum = alpha * sum + (BIAS ? load(bias[at]) : 0.0f);
    y[at] = store(ACTIVATED);
  }
}
"""
