"""Products of few rows with weights of four or eight bits, as a kernel that reads them packed.

With few rows a product is bound by reading the weights. Warps have a few columns each, whose
weights they multiply with all rows.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import PackedProduct
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.kernels.launching import LIBRARY, launch
from benanza_runner.cuda.kernels.packed.weights import fits, packed_operands, packing
from benanza_runner.cuda.kernels.source.packed_weights import WeightPacking, packed_weights_source
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

WARP = 32
THREADS = 128

MOST_ROWS = 4
"""On an H100 the kernel took 8 µs for one row and 4,096 columns of 4,096 weights, 42 for eight."""

COLUMNS = (1, 2, 4)
"""How many columns a warp may have."""


class PackedProducts:
    """Candidates for products of few rows with packed weights."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each number of columns of a warp."""
        call = workspace.call
        if not isinstance(call, PackedProduct) or call.m > MOST_ROWS or not fits(call):
            return
        result = workspace.result(call.output)
        arguments = (
            workspace.operand("a").array,
            *packed_operands(workspace, call),
            workspace.operand("bias" if call.bias else "a").array,
            result.array,
            np.int32(call.n),
        )
        for columns in COLUMNS:
            kernel = _product(
                workspace.precision, call.k, packing(call), call.bias, call.m, columns
            )
            warps = -(-call.n // columns)
            run = launch(kernel, -(-warps * WARP // THREADS), THREADS, arguments)
            name = f"packed product kernel ({columns} columns a warp)"
            yield Candidate(LIBRARY, name, "", no_scratch, run, result)


@cache
def _product(
    precision: Precision, k: int, packing: WeightPacking, bias: bool, rows: int, columns: int
) -> Any:
    source = f"""{packed_weights_source(precision, k, packing)}
#define BIAS {int(bias)}
#define ROWS {rows}
#define COLUMNS {columns}
{_SOURCE}"""
    return cupy.RawKernel(source, "packed_product")


_SOURCE = """
#define WIDE (16 / sizeof(T))
struct __align__(16) Wide { T v[WIDE]; };
extern "C" __global__ void packed_product(const T* __restrict__ a, const uint4* __restrict__ b,
    const T* __restrict__ scales, const unsigned char* __restrict__ zeros,
    const T* __restrict__ bias, T* __restrict__ y, int n) {
  const int lane = threadIdx.x % 32;
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * COLUMNS;
  if (first >= n) return;
  float sums[ROWS][COLUMNS] = {};
  for (int piece = lane; piece < PIECES; piece += 32) {
    const int start = piece * PIECE, block = start / BLOCK;
    unsigned words[COLUMNS][4];
    float scale[COLUMNS], zero[COLUMNS];
    #pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
      const long long row = min(first + c, n - 1);
      const uint4 read = __ldg(b + row * PIECES + piece);
      words[c][0] = read.x;
      words[c][1] = read.y;
      words[c][2] = read.z;
      words[c][3] = read.w;
      scale[c] = load(scales[row * BLOCKS + block]);
      zero[c] = zero_point(zeros, row, block);
    }
    #pragma unroll
    for (int w = 0; w < 4; ++w) {
      float weights[COLUMNS][PER_WORD];
      #pragma unroll
      for (int c = 0; c < COLUMNS; ++c)
        #pragma unroll
        for (int i = 0; i < PER_WORD; ++i)
          weights[c][i] = scale[c] * (weight_of(words[c][w], i) - zero[c]);
      const int at = start + w * PER_WORD;
      #pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const T* mine = a + r * K + at;
        __align__(16) T values[PER_WORD];
        if (K % WIDE == 0 && PER_WORD % WIDE == 0) {
          #pragma unroll
          for (int i = 0; i < PER_WORD / (int)WIDE; ++i)
            if (at + i * (int)WIDE < K) ((Wide*)values)[i] = ((const Wide*)mine)[i];
            else for (int j = 0; j < (int)WIDE; ++j) values[i * WIDE + j] = store(0.0f);
        } else {
          #pragma unroll
          for (int i = 0; i < PER_WORD; ++i) values[i] = at + i < K ? mine[i] : store(0.0f);
        }
        #pragma unroll
        for (int i = 0; i < PER_WORD; ++i) {
          const float v = load(values[i]);
          #pragma unroll
          for (int c = 0; c < COLUMNS; ++c) sums[r][c] += v * weights[c][i];
        }
      }
    }
  }
  #pragma unroll
  for (int r = 0; r < ROWS; ++r)
    #pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
      float sum = sums[r][c];
      for (int step = 16; step; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
      if (lane == 0 && first + c < n)
        y[(long long)r * n + first + c] = store(sum + (BIAS ? load(bias[first + c]) : 0.0f));
    }
}
"""
