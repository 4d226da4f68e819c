"""Products of one row with a matrix, as a kernel in which threads share a row of weights.

Such a product reads each weight once, so it is bound by memory. A library's tiles are made for
products that are bound by arithmetic. A convolution whose window is the whole map is one as well,
as in the gates of squeeze-and-excitation.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any, NamedTuple

import cupy
import numpy as np

from benanza_runner.cuda.calls import Convolution, Product
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.device_tensor import DeviceTensor
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
    """Candidates for products whose `m` is 1 and whose `b` is a weight, and convolutions that are
    such products.
    """

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each number of threads that share a row."""
        call = workspace.call
        if not isinstance(call, Convolution | Product):
            return
        if not (found := _row_product(workspace, call)):
            return
        activate = expression(call.activation, call.numbers, "sum")
        row, weights, result = found.row, found.weights, found.result
        n, k = found.n, found.k
        wide = WIDE_BYTES // PRECISIONS[workspace.precision].bytes
        width = wide if k % wide == 0 else 1
        bias = workspace.operand("bias") if call.bias else row
        arguments = (
            row.array,
            weights.array,
            bias.array,
            result.array,
            np.int32(n),
            np.int32(k // width),
            np.float32(found.alpha),
        )
        for lanes, threads in SHAPES:
            kernel = _row_product_kernel(workspace.precision, width, lanes, call.bias, activate)
            run = launch(kernel, -(-n * lanes // threads), threads, arguments)
            name = f"row kernel ({lanes} threads a row, {threads} a block)"
            yield Candidate(LIBRARY, name, found.layout, no_scratch, run, result)


class _RowProduct(NamedTuple):
    """`alpha · row · weightsᵀ`, with weights of n rows of k elements."""

    n: int
    k: int
    row: DeviceTensor
    weights: DeviceTensor
    result: DeviceTensor
    layout: str
    alpha: float = 1.0


def _row_product(workspace: Workspace, call: Convolution | Product) -> _RowProduct | None:
    if call.residual or call.activation not in FUSED:
        return None
    return _of_product(workspace, call) if isinstance(call, Product) else _of_map(workspace, call)


def _of_product(workspace: Workspace, call: Product) -> _RowProduct | None:
    if call.m != 1 or call.batch * call.rounds != 1 or not call.b_constant:
        return None
    if call.a.start or (call.a.transposed and call.a.line > 1):
        return None
    shape = (call.n, call.k) if call.b.transposed else (call.k, call.n)
    weights = workspace.expanded("b", shape, (0, 1) if call.b.transposed else (1, 0))
    layout = workspace.natural_layout(*call.moved)
    result = workspace.result(call.output)
    return _RowProduct(call.n, call.k, workspace.operand("a"), weights, result, layout, call.alpha)


def _of_map(workspace: Workspace, call: Convolution) -> _RowProduct | None:
    """The product that a convolution is whose one window is the whole map."""
    if call.input[0] != 1 or call.filter[1:] != call.input[1:] or call.has_prologue:
        return None
    if any(call.pads_before + call.pads_after) or "filter" not in workspace.fixed:
        return None
    if prod(call.output[2:]) != 1:
        return None
    natural = tuple(range(len(call.input)))
    row, weights = (
        workspace.expanded(name, shape, natural)
        for name, shape in (("input", call.input), ("filter", call.filter))
    )
    layout = workspace.natural_layout(call.input)
    n, k = call.output[1], prod(call.input[1:])
    return _RowProduct(n, k, row, weights, workspace.result(call.output), layout)


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
