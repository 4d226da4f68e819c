"""Rows times packed weights, by the kernel for Tensor Cores compiled for this machine's processor.

Its threads are coroutines that run up to each exchange, and the instruction that multiplies goes by
the layouts of its fragments in NVIDIA's PTX ISA.
"""

import ctypes
from math import inf
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import PackedProduct
from benanza_runner.cuda.kernels.source.packed_tensor_cores import Tiling, chunk, source
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
from tests.runner.cuda.kernels.source.packed_operands import (
    exact,
    floats,
    random_operands,
    sixteen_bits,
)

pytestmark = [pytest.mark.integration, pytest.mark.needs_program("c++")]

_START = """
alignas(64) uint4 memory[SHARED / 16];
static void* operands[7];
static int numbers[4];
static unsigned arrived[64];
static void call() {
  packed_tiles((T*)operands[0], (uint4*)operands[1], (T*)operands[2], (unsigned char*)operands[3],
               (T*)operands[4], (T*)operands[5], (float*)operands[6], arrived, numbers[0],
               numbers[1], numbers[2], numbers[3]);
}
static void run_blocks(int across, int down);
extern "C" void start(void** given, const int* sizes, int blocks) {
  memcpy(operands, given, sizeof operands);
  memcpy(numbers, sizes, sizeof numbers);
  run_blocks(blocks, 1);
}
"""


def ran(
    call: PackedProduct,
    operands: dict[str, Array],
    precision: Precision,
    tiling: Tiling,
    splits: int,
    late: bool,
    folder: Path,
) -> Array:
    """The m×n results in 16 bits."""
    packing = WeightPacking(call.bits, call.block, call.zeros)
    text = source(precision, call.k, packing, call.bias, tiling)
    for part in (PREAMBLE[precision], instructions(precision)):
        assert part in text
        text = text.replace(part, "")
    for mark, instead in (("extern __shared__", "extern"), ("__shared__", "static")):
        text = text.replace(mark, instead)
    defined = {
        "HALF": int(precision == "fp16"),
        "MANY": tiling.threads,
        "MOST_COPIES": tiling.stages * tiling.stage_bytes(call.bits) // 16,
        "SHARED": tiling.shared_bytes(call.bits),
    }
    head = "".join(f"#define {name} {value}\n" for name, value in defined.items())
    kernel = text.replace("#pragma unroll", "//")
    whole = "".join((head, COROUTINES, NUMBERS, HALVES, kernel, _START, RUNNING))
    wholes = -(-call.n // tiling.columns)
    chunks = -(-call.blocks * call.block // chunk(call.bits))
    rounds = -(-chunks // (tiling.along * splits))
    result = np.full((call.m, call.n), 0xFFFF, np.uint16)
    parts = np.full(wholes * splits * call.m * tiling.columns, np.nan, np.float32)
    ordered = [operands[name] for name in ("a", "b", "scales", "zeros", "bias")]
    pointers = [array.ctypes.data for array in (*ordered, result, parts)]
    compiled(whole, folder, late=late).start(
        (ctypes.c_void_p * 7)(*pointers),
        (ctypes.c_int * 4)(call.m, call.n, splits, rounds),
        wholes * splits,
    )
    return result


@pytest.mark.parametrize(
    ("shape", "packing", "bias", "tiling", "splits"),
    [
        # Rows, columns, and elements of a sum; groups of rows, tiles, warps across and along.
        ((1, 24, 1152), (4, 32, False), False, (1, 2, 1, 2, 3), 1),
        ((5, 17, 104), (4, 32, True), True, (1, 2, 1, 4, 3), 1),
        ((17, 100, 424), (4, 64, True), False, (3, 2, 2, 2, 2), 2),
        ((33, 40, 640), (4, 128, False), True, (5, 1, 1, 2, 4), 2),
        ((64, 33, 896), (4, 128, True), True, (8, 2, 1, 2, 2), 3),
        ((12, 70, 256), (4, 256, False), False, (2, 4, 1, 1, 3), 1),
        ((7, 17, 80), (8, 16, True), False, (1, 2, 1, 2, 2), 1),
        ((33, 66, 200), (8, 32, True), True, (5, 2, 2, 2, 3), 2),
        ((64, 24, 384), (8, 64, False), False, (8, 2, 1, 2, 2), 2),
    ],
)
@pytest.mark.parametrize(("precision", "late"), [("fp16", False), ("bf16", True)])
def test_it_is_the_product_with_rounded_weights(
    shape: tuple[int, int, int],
    packing: tuple[int, int, bool],
    bias: bool,
    tiling: tuple[int, int, int, int, int],
    splits: int,
    precision: Precision,
    late: bool,
    tmp_path: Path,
) -> None:
    """To a unit in the last place: only sums in other orders are rounded otherwise."""
    (m, n, k), (bits, block, zeros) = shape, packing
    call = PackedProduct((m, n), m, n, k, bits, block, zeros, bias=bias)
    operands = random_operands(call, precision)
    found = ran(call, operands, precision, Tiling(*tiling), splits, late, tmp_path)
    known = exact(operands, precision)
    identity = known | {"a": np.eye(k), "bias": np.zeros(n)}
    whole = PackedProduct((k, n), k, n, k, bits, block, zeros)
    weights = floats(sixteen_bits(packed_product(whole, identity), precision), precision)
    expected = known["a"] @ weights + (known["bias"] if bias else 0)
    last_place = 2.0 ** (-10 if precision == "fp16" else -7)
    worst = np.abs(floats(found, precision) - expected) / (np.abs(expected) + 0.1)
    assert worst.max(initial=inf if np.isnan(worst).any() else 0) < last_place
