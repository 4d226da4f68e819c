"""Rows times weights by warpgroups, by the kernel compiled for this machine's processor.

The blocks of a cluster are one, whose threads are coroutines that run up to each exchange.
"""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import PackedProduct
from benanza_runner.cuda.kernels.packed.fragments import by_unit, weights_in_turn, zeros_by_unit
from benanza_runner.cuda.kernels.packed.warpgroup_tiling import WarpgroupTiling
from benanza_runner.cuda.kernels.packed.warpgroups_source import source
from benanza_runner.cuda.kernels.regions.threads import CLUSTERED
from benanza_runner.cuda.kernels.source.packed_weights import WeightPacking
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.kernels.source.tensor_cores import LOADS, instructions
from benanza_runner.cuda.kernels.source.warpgroup_products import warpgroup_instructions
from benanza_schemas.layer import Precision
from tests.runner.cuda.in_numpy.calls import packed_product
from tests.runner.cuda.kernels.source.coroutines import (
    COROUTINES,
    HALVES,
    LOADS_ON_THE_CPU,
    NUMBERS,
    RUNNING,
    compiled,
)
from tests.runner.cuda.kernels.source.packed_operands import exact, floats, random_operands

pytestmark = [pytest.mark.integration, pytest.mark.needs_program("c++")]

_CLUSTER = """
alignas(1024) uint4 memory[SHARED / 16 * BLOCKS_TOGETHER];
static void together() { __syncthreads(); }
static float4 remote(const float4* mine, int rank) {
  const int own = threadIdx.x / (MANY / BLOCKS_TOGETHER);
  return *(const float4*)((const char*)mine + (rank - own) * SHARED);
}
"""

_PRODUCTS = """
// Products are made as late as they may be where copies are made at once, and the other way round.
struct LateProduct { float* c; const unsigned* a; const char* rows; unsigned group; };
static LateProduct products[MANY][64];
static unsigned waiting[MANY], groups_of[MANY];
static void make(const LateProduct& p) {
  memcpy(fragments[threadIdx.x], p.a, 16);
  meet_warp();
  const unsigned warp = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
  for (int i = 0; i < EIGHTS_OF_ROWS * 4; ++i) {
    const unsigned row = warp + lane / 4 * 4, of = i / 4 * 8 + lane % 4 * 2 + i % 2;
    for (int k = 0; k < 16; ++k) {
      unsigned long long at = (unsigned long long)p.rows + of * 128 + k * 2;
      at ^= (at >> 7 & 7) << 4;  // the swizzling of 128 bytes is one of addresses
      T element_of_it;
      memcpy(&element_of_it, (const void*)at, 2);
      p.c[i] += element(row, i / 2 % 2, k) * load(element_of_it);
    }
  }
  meet_warp();
}
typedef const char* Rows;
static Rows described(const void* rows) { return (Rows)rows; }
static void multiply_rows(float* c, const unsigned* a, Rows rows, int sixteen) {
  const LateProduct p = {c, a, rows + 32 * sixteen, groups_of[threadIdx.x]};
  if (late) make(p); else products[threadIdx.x][waiting[threadIdx.x]++] = p;
}
static void commit_products() { ++groups_of[threadIdx.x]; }
template <int groups> static void wait_for_products() {
  const unsigned mine = threadIdx.x, all = waiting[mine];
  waiting[mine] = 0;
  for (unsigned i = 0; i < all; ++i)
    if (products[mine][i].group + groups < groups_of[mine]) make(products[mine][i]);
    else products[mine][waiting[mine]++] = products[mine][i];
}
#define show_copies()
#define order_products()
#define settled(sum)
"""

_START = """
static void* operands[8];
static int columns;
static void call() {
  packed_by_warpgroups((T*)operands[0], (uint4*)operands[1], (uint4*)operands[2],
                       (uint4*)operands[3], (T*)operands[4], (T*)operands[5],
                       (float4*)operands[6], (unsigned*)operands[7], columns);
}
static void run_blocks(int across, int down);
extern "C" void start(void** given, int n, int blocks) {
  memcpy(operands, given, sizeof operands);
  columns = n;
  run_blocks(blocks, 1);
}
"""

_OF_A_CLUSTER = {
    "extern __shared__ __align__(1024) uint4 memory[];": (
        "uint4* memory = ::memory + BLOCK_OF_IT * (SHARED / 16);"
    ),
    "__launch_bounds__(THREADS, RESIDENT)": "",
    "threadIdx.x": "(threadIdx.x % THREADS)",
    "blockIdx.x": "(blockIdx.x * CLUSTER + BLOCK_OF_IT)",
    "BLOCK_OF_IT": "(threadIdx.x / THREADS)",
    "#pragma unroll": "//",
}


def ran(
    call: PackedProduct,
    operands: dict[str, Array],
    precision: Precision,
    tiling: WarpgroupTiling,
    late: bool,
    folder: Path,
) -> Array:
    """The m×n results in 16 bits."""
    packing = WeightPacking(call.bits, call.block, call.zeros)
    text = source(precision, call.m, call.k, packing, call.bias, tiling)
    rows = tiling.rows_of(call.m)
    own = [PREAMBLE[precision], instructions(precision), LOADS]
    own += [warpgroup_instructions(precision, rows)] * tiling.asynchronous
    for part in own:
        assert part in text
        text = text.replace(part, "")
    if tiling.cluster > 1:
        text = text[: text.index(CLUSTERED)] + text[text.index("#define UNITS_OF_A_ROW") :]
    for mark, instead in _OF_A_CLUSTER.items():
        text = text.replace(mark, instead)
    shared = tiling.shared_bytes(call.m, packing)
    defined = {
        "HALF": int(precision == "fp16"),
        "MANY": tiling.threads * tiling.cluster,
        "BLOCKS_TOGETHER": tiling.cluster,
        "MOST_COPIES": 1 << 9,
        "SHARED": -(-shared // 1024) * 1024,
        "EIGHTS_OF_ROWS": rows // 8,
        "__cluster_dims__(x, y, z)": "",
    }
    head = "".join(f"#define {name} {value}\n" for name, value in defined.items())
    products = _PRODUCTS if tiling.asynchronous else ""
    parts = head, COROUTINES, NUMBERS, HALVES, LOADS_ON_THE_CPU, _CLUSTER, products, text
    result = np.full((call.m, call.n), 0xFFFF, np.uint16)
    ordered = (
        operands["a"],
        weights_in_turn(np, operands["b"], call.n, call.bits),
        by_unit(np, operands["scales"], call.block),
        zeros_by_unit(np, operands["zeros"], call.n, call.blocks, call.block, call.bits),
        operands["bias"],
        result,
        np.full(tiling.scratch_bytes(call.m, call.n) // 4, np.nan, np.float32),
        np.zeros(tiling.blocks(call.m, call.n), np.uint32),
    )
    whole = "".join((*parts, _START, RUNNING))
    compiled(whole, folder, late=late).start(
        (ctypes.c_void_p * 8)(*[array.ctypes.data for array in ordered]),
        call.n,
        tiling.blocks(call.m, call.n) // tiling.cluster,
    )
    return result


@pytest.mark.parametrize(
    ("sizes", "packing", "bias", "tiling", "precision", "late"),
    [
        # Rows, columns, and elements of a sum; tiles, warpgroups, units, the most rows, blocks of
        # a multiprocessor, stages, blocks of a cluster, clusters that share sums out, and whether
        # products are asynchronous.
        ((19, 130, 456), (4, 32, True), True, (2, 1, 1, 64, 1, 3, 1, 1, True), "fp16", False),
        ((40, 76, 1160), (4, 128, False), False, (1, 1, 2, 16, 1, 4, 3, 1, True), "bf16", True),
        ((16, 72, 136), (4, 16, True), False, (1, 1, 2, 64, 1, 3, 1, 1, True), "bf16", True),
        ((9, 257, 832), (4, 64, False), True, (2, 2, 1, 64, 1, 5, 2, 2, True), "fp16", False),
        ((17, 76, 328), (8, 32, True), True, (2, 1, 1, 16, 1, 3, 1, 1, True), "fp16", False),
        ((12, 72, 520), (8, 128, False), False, (1, 1, 2, 16, 1, 4, 2, 1, True), "bf16", True),
        ((24, 72, 840), (4, 256, True), True, (1, 1, 2, 16, 1, 3, 1, 3, False), "fp16", True),
    ],
)
def test_it_is_the_product_with_the_weights(
    sizes: tuple[int, int, int],
    packing: tuple[int, int, bool],
    bias: bool,
    tiling: tuple[int, int, int, int, int, int, int, int, bool],
    precision: Precision,
    late: bool,
    tmp_path: Path,
) -> None:
    """To units in the last place: weights are rounded to the precision."""
    (m, n, k), (bits, block, zeros) = sizes, packing
    call = PackedProduct((m, n), m, n, k, bits, block, zeros, bias=bias)
    operands = random_operands(call, precision)
    found = floats(
        ran(call, operands, precision, WarpgroupTiling(*tiling), late, tmp_path), precision
    )
    expected = packed_product(call, exact(operands, precision))
    last_place = 2.0 ** (-10 if precision == "fp16" else -7)
    assert np.linalg.norm(found - expected) < last_place * np.linalg.norm(expected)
    assert np.abs(found - expected).max() < 8 * last_place * np.abs(expected).mean()
