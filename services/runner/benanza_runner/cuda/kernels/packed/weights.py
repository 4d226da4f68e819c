"""Weights of four or eight bits as kernels read them, and a kernel that unpacks them.

With many rows, libraries are faster on weights that were unpacked before.
"""

from functools import cache
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import PackedProduct
from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.kernels.launching import WIDE_BYTES, launch
from benanza_runner.cuda.kernels.source.packed_weights import WeightPacking, packed_weights_source
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.layer import Precision

THREADS = 128


def fits(call: PackedProduct) -> bool:
    """Whether a thread's piece of weights lies in one block."""
    return call.block * call.bits % (8 * WIDE_BYTES) == 0


def packing(call: PackedProduct) -> WeightPacking:
    """How the weights of a call are packed."""
    return WeightPacking(call.bits, call.block, call.zeros, call.in_floats, call.codes)


def packed_operands(workspace: Workspace, call: PackedProduct) -> tuple[Any, ...]:
    """The weights, their scales and their zero points."""
    names = ("b", "scales", "zeros" if call.zeros else "b")
    return tuple(workspace.operand(name).array for name in names)


def unpacking(workspace: Workspace, call: PackedProduct, unpacked: Any) -> Run:
    """What writes the weights as n rows of k floats of the precision."""
    words = call.n * call.blocks * call.block * call.bits // 32
    arguments = (*packed_operands(workspace, call), unpacked, np.int64(words))
    kernel = _unpacking(workspace.precision, call.k, packing(call))
    return launch(kernel, -(-words // THREADS), THREADS, arguments)


@cache
def _unpacking(precision: Precision, k: int, packing: WeightPacking) -> Any:
    return cupy.RawKernel(packed_weights_source(precision, k, packing) + _SOURCE, "unpacking")


_SOURCE = """
struct __align__(sizeof(T) * PER_WORD) Word { T v[PER_WORD]; };
extern "C" __global__ void unpacking(const unsigned* __restrict__ b, const T* __restrict__ scales,
    const unsigned char* __restrict__ zeros, T* __restrict__ unpacked, long long words) {
  const long long word = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (word >= words) return;
  const long long row = word / (PIECES * 4);
  const int start = word % (PIECES * 4) * PER_WORD, block = start / BLOCK;
  if (start >= K) return;
  const float scale = load(scales[row * BLOCKS + block]), zero = zero_point(zeros, row, block);
  const unsigned read = b[word];
  T* const mine = unpacked + row * K + start;
  Word values;
  #pragma unroll
  for (int i = 0; i < PER_WORD; ++i)
    values.v[i] = store(scale * (weight_of(read, i) - zero));
  if (K % PER_WORD == 0)
    *(Word*)mine = values;
  else
    for (int i = 0; i < PER_WORD && start + i < K; ++i) mine[i] = values.v[i];
}
"""
