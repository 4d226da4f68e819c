"""Products of few rows in 8 bits, by their kernel compiled for this machine's processor.

The instruction goes by the layouts of fragments in NVIDIA's PTX ISA.
"""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import EightBitProduct, Quantised
from benanza_runner.cuda.elements import FLOAT8
from benanza_runner.cuda.kernels.integers.few_rows_source import (
    COLUMNS,
    few_rows_source,
    product_by_columns,
)
from benanza_runner.cuda.kernels.integers.scaling import scaled_source
from tests.runner.cuda.kernels.source.coroutines import (
    COROUTINES,
    EIGHT_BITS,
    NUMBERS,
    RUNNING,
    compiled,
)

pytestmark = [pytest.mark.integration, pytest.mark.needs_program("c++")]

_PRODUCT = """
static unsigned char parts_of[MANY][6][4];
static void add_product(Sum* c, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
    unsigned b1) {
  const unsigned given[6] = {a0, a1, a2, a3, b0, b1};
  memcpy(parts_of[threadIdx.x], given, sizeof given);
  meet_warp();
  const unsigned warp = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i) {
    const unsigned row = warp + lane / 4 * 4, column = warp + (lane % 4 * 2 + i % 2) * 4;
    for (int k = 0; k < 32; ++k) {
      const int of_four = k % 16 / 4;
      c[i] += number(parts_of[row + of_four][i / 2 + k / 16 * 2][k % 4], true)
              * number(parts_of[column + of_four][4 + k / 16][k % 4], SIGNED);
    }
  }
  meet_warp();
}
"""

_START = """
alignas(64) char memory[1];
static void* operands[6];
static void call() {
  multiply_few_rows((uint4*)operands[0], (uint4*)operands[1], (float4*)operands[2],
                    (float4*)operands[3], (Added*)operands[4], (Written*)operands[5]);
}
static void run_blocks(int across, int down);
extern "C" void start(void** given, int blocks) {
  memcpy(operands, given, sizeof operands);
  run_blocks(blocks, 1);
}
"""


def ran(call: Quantised, warps: int, operands: list[Array], folder: Path) -> Array:
    """The rows of results, in float32."""
    assert isinstance(call.sums, EightBitProduct)
    scaled = scaled_source("fp32", call)
    text = few_rows_source(call.sums, call.input_element, warps, scaled)
    for part in (product_by_columns(call.input_element), scaled):
        assert part in text
        text = text.replace(part, "")
    defined = {
        "MANY": 32 * warps,
        "MOST_COPIES": 1,
        "FLOAT8": int(call.input_element == FLOAT8),
        "SIGNED": int(call.input_element == "int8"),
        "__shared__": "static",
    }
    head = "".join(f"#define {name} {value}\n" for name, value in defined.items())
    plain = (scaled + EIGHT_BITS + _PRODUCT + text).replace("#pragma unroll", "//")
    written = "".join((head, COROUTINES, NUMBERS, plain, _START, RUNNING))
    result = np.full(call.output, np.nan, np.float32)
    pointers = [array.ctypes.data for array in (*operands, result)]
    blocks = -(-call.sums.n // COLUMNS)
    compiled(written, folder, late=False).start((ctypes.c_void_p * 6)(*pointers), blocks)
    return result


@pytest.mark.parametrize("element", ["int8", "uint8"])
@pytest.mark.parametrize(
    ("m", "n", "k", "warps"), [(1, 20, 80, 2), (8, 32, 512, 4), (11, 36, 16, 2), (32, 16, 208, 8)]
)
def test_it_is_the_product(
    m: int, n: int, k: int, warps: int, element: str, tmp_path: Path
) -> None:
    random = np.random.default_rng(3)
    x = random.integers(0 if element == "uint8" else -128, 128, (m, k)).astype(element)
    weights = random.integers(-128, 128, (n, k)).astype(np.int8)
    scale = random.uniform(0.5, 2, n).astype(np.float32)
    bias = random.uniform(-9, 9, n).astype(np.float32)
    residual = random.uniform(-99, 99, (m, n)).astype(np.float32)
    sums = EightBitProduct((m, n), m, n, k, element, "int8")
    call = Quantised(sums, element, residual=True, factor=2.0, activation="Relu")
    expected = x.astype(np.float64) @ weights.T.astype(np.float64) * scale + bias + 2 * residual
    found = ran(call, warps, [x, weights, scale, bias, residual], tmp_path)
    np.testing.assert_allclose(found, np.maximum(expected, 0), rtol=1e-5, atol=1e-2)


def test_it_is_the_product_of_float8(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    m, n, k = 3, 20, 272
    codes = random.integers(0, 127, (m + n, k)).astype(np.uint8)
    codes[random.random(codes.shape) < 0.5] |= 128
    exponent, mantissa = codes.astype(int) >> 3 & 15, codes.astype(int) & 7
    size = np.ldexp(np.where(exponent, 8 + mantissa, mantissa), np.maximum(exponent, 1) - 10)
    numbers = np.where(codes & 128, -size, size)
    sums = EightBitProduct((m, n), m, n, k, FLOAT8, FLOAT8)
    ones, zeros = np.ones(n, np.float32), np.zeros(n, np.float32)
    operands: list[Array] = [codes[:m].copy(), codes[m:].copy(), ones, zeros, zeros]
    found = ran(Quantised(sums, FLOAT8), 4, operands, tmp_path)
    expected = numbers[:m] @ numbers[m:].T
    scale = np.abs(numbers[:m]) @ np.abs(numbers[m:]).T
    assert (np.abs(found - expected) <= 1e-5 * scale).all()
