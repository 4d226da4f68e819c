"""Products of 8 bits, by the kernel for Tensor Cores compiled for this machine's processor.

The instructions go by the layouts of fragments in NVIDIA's PTX ISA.
"""

import ctypes
from math import prod
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Convolution, EightBitProduct, Quantised
from benanza_runner.cuda.elements import FLOAT8
from benanza_runner.cuda.kernels.integers.scaling import scaled_source
from benanza_runner.cuda.kernels.source.eight_bit_tensor_cores import (
    TILES,
    Tile,
    product_of,
    source,
    windows,
)
from benanza_runner.cuda.kernels.source.tensor_cores import COPIES, LOADS
from tests.runner.cuda.kernels.source.coroutines import (
    COROUTINES,
    EIGHT_BITS,
    LOADS_ON_THE_CPU,
    NUMBERS,
    RUNNING,
    compiled,
)

pytestmark = [pytest.mark.integration, pytest.mark.needs_program("c++")]

MOST_SHARED_BYTES = 227 << 10
"""Of a block, on GPUs of Hopper's generation. Source: CUDA C++ Programming Guide."""

_PRODUCT = """
static unsigned char parts[MANY][6][4];
static void add_product(Sum* c, const unsigned* a, const unsigned* b) {
  memcpy(parts[threadIdx.x], a, 16);
  memcpy(parts[threadIdx.x][4], b, 8);
  meet_warp();
  const unsigned warp = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i) {
    const unsigned row = warp + lane / 4 * 4, column = warp + (lane % 4 * 2 + i % 2) * 4;
    for (int k = 0; k < 32; ++k) {
      const int of_four = k % 16 / 4;
      c[i] += number(parts[row + of_four][i / 2 + k / 16 * 2][k % 4], SIGNED)
              * number(parts[column + of_four][4 + k / 16][k % 4], true);
    }
  }
  meet_warp();
}
"""

_START = """
alignas(64) char memory[SHARED];
static void* operands[6];
static void call() {
  multiply_eight_bits((char*)operands[0], (char*)operands[1], (float4*)operands[2],
                      (float4*)operands[3], (Added*)operands[4], (Written*)operands[5]);
}
static void run_blocks(int across, int down);
extern "C" void start(void** given, int blocks) {
  memcpy(operands, given, sizeof operands);
  run_blocks(blocks, 1);
}
"""


def ran(call: Quantised, tile: Tile, operands: list[Array], late: bool, folder: Path) -> Array:
    """The rows of results, in float32: of pixels or of a product."""
    sums = windows(call.sums)
    scaled = scaled_source("fp32", call)
    text = source(sums, call.input_element, tile, scaled)
    for part in (COPIES, LOADS, product_of(call.input_element), scaled):
        assert part in text
        text = text.replace(part, "")
    text = text.replace("extern __shared__ __align__(16)", "extern")
    defined = {
        "MANY": tile.threads,
        "MOST_COPIES": tile.stages * (tile.rows + tile.columns) * tile.depth // 16,
        "SHARED": tile.shared_bytes,
        "FLOAT8": int(call.input_element == FLOAT8),
        "SIGNED": int(call.input_element == "int8"),
    }
    head = "".join(f"#define {name} {value}\n" for name, value in defined.items())
    plain = (scaled + EIGHT_BITS + _PRODUCT + text).replace("#pragma unroll", "//")
    written = "".join((head, COROUTINES, NUMBERS, LOADS_ON_THE_CPU, plain, _START, RUNNING))
    pixels, columns = sums.output[0] * prod(sums.output[2:]), sums.output[1]
    result = np.full((pixels, columns), np.nan, np.float32)
    pointers = [array.ctypes.data for array in (*operands, result)]
    blocks = -(-pixels // tile.rows) * -(-columns // tile.columns)
    compiled(written, folder, late=late).start((ctypes.c_void_p * 6)(*pointers), blocks)
    return result


def convolution(
    channels: int, filters: int, side: int, window: int, stride: int, dilation: int, pad: int
) -> Convolution:
    """Two images, whose height isn't their width."""
    reach = (window - 1) * dilation + 1
    height, width = ((size + 2 * pad - reach) // stride + 1 for size in (side, side + 3))
    return Convolution(
        input=(2, channels, side, side + 3),
        filter=(filters, channels, window, window),
        output=(2, filters, height, width),
        strides=(stride, stride),
        dilations=(dilation, dilation),
        pads_before=(pad, pad),
        pads_after=(pad, pad),
    )


def convolved(x: Array, weights: Array, sums: Convolution) -> Array:
    """The rows of sums, of maps with channels last."""
    top, stride, dilation = sums.pads_before[0], sums.strides[0], sums.dilations[0]
    wide = np.pad(x.astype(np.float64), ((0, 0), (top, top), (top, top), (0, 0)))
    _, _, height, width = sums.output
    found: Array = np.zeros(())
    for r in range(sums.filter[2]):
        for s in range(sums.filter[3]):
            rows = slice(r * dilation, r * dilation + (height - 1) * stride + 1, stride)
            columns = slice(s * dilation, s * dilation + (width - 1) * stride + 1, stride)
            found = found + wide[:, rows, columns] @ weights[:, r, s].astype(np.float64).T
    return np.asarray(found).reshape(-1, sums.filter[0])


@pytest.mark.parametrize("element", ["int8", "uint8"])
@pytest.mark.parametrize(
    ("sums", "tile"),
    [
        (convolution(16, 20, 9, 3, 1, 1, 1), TILES[0]),
        (convolution(48, 68, 7, 3, 2, 1, 1), TILES[3]),
        (convolution(32, 132, 8, 3, 1, 2, 2), TILES[4]),
        (convolution(144, 64, 5, 1, 2, 1, 0), TILES[1]),
        (convolution(16, 8, 11, 5, 3, 1, 0), TILES[2]),
    ],
)
def test_it_is_the_convolution(sums: Convolution, tile: Tile, element: str, tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    images, channels, height, width = sums.input
    kind = np.dtype(element)
    x = random.integers(0 if element == "uint8" else -128, 128, (images, height, width, channels))
    x = x.astype(kind)
    filters, _, rows, columns = sums.filter
    weights = random.integers(-128, 128, (filters, rows, columns, channels)).astype(np.int8)
    scale = random.uniform(0.5, 2, filters).astype(np.float32)
    bias = random.uniform(-9, 9, filters).astype(np.float32)
    expected = convolved(x, weights, sums) * scale + bias
    residual = random.uniform(-99, 99, expected.shape).astype(np.float32)
    call = Quantised(sums, element, residual=True, factor=2.0, activation="Relu")
    expected = np.maximum(expected + 2 * residual, 0)
    operands: list[Array] = [x, weights, scale, bias, residual]
    for late in (False, True):
        found = ran(call, tile, operands, late, tmp_path)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-2)


def test_it_is_the_product_of_float8(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    m, n, k = 70, 36, 208
    codes = random.integers(0, 127, (m + n, k)).astype(np.uint8)
    codes[random.random(codes.shape) < 0.5] |= 128
    exponent, mantissa = codes.astype(int) >> 3 & 15, codes.astype(int) & 7
    size = np.ldexp(np.where(exponent, 8 + mantissa, mantissa), np.maximum(exponent, 1) - 10)
    numbers = np.where(codes & 128, -size, size)
    sums = EightBitProduct((m, n), m, n, k, FLOAT8, FLOAT8)
    ones, zeros = np.ones(n, np.float32), np.zeros(n, np.float32)
    operands: list[Array] = [codes[:m].copy(), codes[m:].copy(), ones, zeros, zeros]
    found = ran(Quantised(sums, FLOAT8), TILES[5], operands, True, tmp_path)
    expected = numbers[:m] @ numbers[m:].T
    scale = np.abs(numbers[:m]) @ np.abs(numbers[m:]).T
    assert (np.abs(found - expected) <= 1e-5 * scale).all()


@pytest.mark.parametrize("tile", TILES)
def test_all_threads_of_a_tile_copy_whole_rows_together(tile: Tile) -> None:
    step = tile.threads * 16 / tile.depth
    assert step.is_integer()
    assert tile.rows % step == 0
    assert tile.shared_bytes <= MOST_SHARED_BYTES
