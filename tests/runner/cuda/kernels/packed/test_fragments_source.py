"""Rows times weights in fragments, by the kernel compiled for this machine's processor.

The blocks of a cluster are one, whose threads are coroutines that run up to each exchange.
"""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import PackedProduct
from benanza_runner.cuda.kernels.packed.fragment_tiling import FragmentTiling
from benanza_runner.cuda.kernels.packed.fragments import (
    by_unit,
    weights_in_fragments,
    zeros_by_unit,
)
from benanza_runner.cuda.kernels.packed.fragments_source import source
from benanza_runner.cuda.kernels.regions.threads import CLUSTERED
from benanza_runner.cuda.kernels.source.packed_weights import WeightPacking
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.kernels.source.tensor_cores import instructions
from benanza_schemas.layer import Precision
from tests.runner.cuda.in_numpy.calls import packed_product
from tests.runner.cuda.kernels.source.coroutines import (
    COROUTINES,
    HALVES,
    NUMBERS,
    RUNNING,
    compiled,
)
from tests.runner.cuda.kernels.source.packed_operands import exact, floats, random_operands

pytestmark = [pytest.mark.integration, pytest.mark.needs_program("c++")]

_CLUSTER = """
alignas(64) uint4 memory[SHARED / 16 * BLOCKS_TOGETHER];
static void together() { __syncthreads(); }
static float remote(const float* mine, int rank) {
  const int own = threadIdx.x / (MANY / BLOCKS_TOGETHER);
  return *(const float*)((const char*)mine + (rank - own) * SHARED);
}
"""

_START = """
static void* operands[6];
static int columns;
static void call() {
  packed_in_fragments((T*)operands[0], (uint4*)operands[1], (Scales*)operands[2],
                      (Zeros*)operands[3], (T*)operands[4], (T*)operands[5], columns);
}
static void run_blocks(int across, int down);
extern "C" void start(void** given, int n, int blocks) {
  memcpy(operands, given, sizeof operands);
  columns = n;
  run_blocks(blocks, 1);
}
"""

_OF_A_CLUSTER = {
    "extern __shared__ uint4 memory[];": "uint4* memory = ::memory + BLOCK_OF_IT * (SHARED / 16);",
    "threadIdx.x": "(threadIdx.x % THREADS)",
    "blockIdx.x": "(blockIdx.x * CLUSTER + BLOCK_OF_IT)",
    "BLOCK_OF_IT": "(threadIdx.x / THREADS)",
    "#pragma unroll": "//",
}


def ran(
    call: PackedProduct,
    operands: dict[str, Array],
    precision: Precision,
    tiling: FragmentTiling,
    late: bool,
    folder: Path,
) -> Array:
    """The m×n results in 16 bits."""
    packing = WeightPacking(call.bits, call.block, call.zeros)
    text = source(precision, call.m, call.k, packing, call.bias, tiling)
    for part in (PREAMBLE[precision], instructions(precision)):
        assert part in text
        text = text.replace(part, "")
    text = text.replace(CLUSTERED, "")
    for mark, instead in _OF_A_CLUSTER.items():
        text = text.replace(mark, instead)
    defined = {
        "HALF": int(precision == "fp16"),
        "MANY": tiling.threads * tiling.cluster,
        "BLOCKS_TOGETHER": tiling.cluster,
        "MOST_COPIES": 1 << 10,
        "SHARED": -(-tiling.shared_bytes(call.m) // 16) * 16,
        "__cluster_dims__(x, y, z)": "",
    }
    head = "".join(f"#define {name} {value}\n" for name, value in defined.items())
    whole = "".join((head, COROUTINES, NUMBERS, HALVES, _CLUSTER, text, _START, RUNNING))
    result = np.full((call.m, call.n), 0xFFFF, np.uint16)
    ordered = (
        operands["a"],
        weights_in_fragments(np, operands["b"], call.n),
        by_unit(np, operands["scales"], call.block),
        zeros_by_unit(np, operands["zeros"], call.n, call.blocks, call.block),
        operands["bias"],
        result,
    )
    compiled(whole, folder, late=late).start(
        (ctypes.c_void_p * 6)(*[array.ctypes.data for array in ordered]),
        call.n,
        -(-call.n // tiling.columns),
    )
    return result


@pytest.mark.parametrize(
    ("sizes", "packing", "bias", "tiling"),
    [
        # Rows, columns, and elements of a sum; tiles, warps across and along, units, stages.
        ((1, 24, 1160), (32, False), False, (2, 1, 4, 2, 2)),
        ((5, 17, 104), (32, True), True, (1, 1, 2, 1, 2)),
        ((8, 40, 512), (64, True), True, (1, 1, 2, 1, 2, 2)),
        ((12, 70, 424), (128, True), False, (1, 2, 1, 1, 3)),
        ((16, 64, 640), (128, False), True, (2, 2, 1, 1, 3, 4)),
        ((17, 33, 896), (32, True), True, (2, 1, 2, 1, 3, 2)),
        ((64, 40, 320), (256, False), False, (1, 2, 2, 1, 2)),
    ],
)
@pytest.mark.parametrize(("precision", "late"), [("fp16", False), ("bf16", True)])
def test_it_is_the_product_with_the_weights(
    sizes: tuple[int, int, int],
    packing: tuple[int, bool],
    bias: bool,
    tiling: tuple[int, ...],
    precision: Precision,
    late: bool,
    tmp_path: Path,
) -> None:
    """To units in the last place: weights are rounded to the precision, or not at all."""
    (m, n, k), (block, zeros) = sizes, packing
    call = PackedProduct((m, n), m, n, k, 4, block, zeros, bias=bias)
    operands = random_operands(call, precision)
    found = floats(
        ran(call, operands, precision, FragmentTiling(*tiling), late, tmp_path), precision
    )
    expected = packed_product(call, exact(operands, precision))
    last_place = 2.0 ** (-10 if precision == "fp16" else -7)
    assert np.linalg.norm(found - expected) < last_place * np.linalg.norm(expected)
    assert np.abs(found - expected).max() < 8 * last_place * np.abs(expected).mean()
