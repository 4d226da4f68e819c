"""The source of the kernel that multiplies 8-bit integers or float8 on Tensor Cores.

A convolution is computed as a product: a row for each pixel of the output, a column for each of its
channels, and a term for each element of a filter. Rows of terms are copied from the feature map to
shared memory some rounds ahead, 16 bytes at a time, which are zeros where a filter reaches beyond
the map. In shared memory the 16-byte chunks of a row change places, so that eight rows which are
read together don't collide. Sources: the layouts of `mma.m16n8k32` and `ldmatrix` in NVIDIA's PTX
ISA; "implicit GEMM" in "cuDNN: Efficient Primitives for Deep Learning" (Chetlur et al., 2014).
"""

from typing import NamedTuple

from benanza_runner.cuda.calls import Convolution, EightBitProduct
from benanza_runner.cuda.elements import FLOAT8
from benanza_runner.cuda.kernels.source.tensor_cores import COPIES, LOADS

CHUNK = 16
"""Bytes that a thread copies at once."""

_TYPES = {"int8": "s8", "uint8": "u8", FLOAT8: "e4m3"}

MARGIN = 8
"""Sums by which a row of them is longer in shared memory, so that rows don't collide."""


class Tile(NamedTuple):
    """Rows and columns of the result that a block computes, those of each of its warps, the bytes
    of a row that it copies in a round, and rounds in shared memory.
    """

    rows: int
    columns: int
    warp_rows: int
    warp_columns: int
    depth: int
    stages: int

    @property
    def threads(self) -> int:
        """Of a block."""
        return 32 * (self.rows // self.warp_rows) * (self.columns // self.warp_columns)

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block: for rounds of operands, and then for the sums."""
        operands = self.stages * (self.rows + self.columns) * self.depth
        return max(operands, 4 * self.rows * (self.columns + MARGIN))


TILES = (
    Tile(64, 64, 32, 32, 64, 4),
    Tile(64, 64, 32, 32, 128, 3),
    Tile(128, 64, 64, 32, 64, 4),
    Tile(128, 64, 64, 32, 128, 3),
    Tile(128, 128, 64, 32, 64, 4),
    Tile(128, 128, 64, 32, 128, 3),
)
"""Those that are tried."""


def windows(sums: Convolution | EightBitProduct) -> Convolution:
    """What the kernel computes, as a convolution of two axes of space; a product is one by filters
    of one element.
    """
    if isinstance(sums, Convolution):
        return sums
    return Convolution(
        input=(sums.m, sums.k, 1, 1),
        filter=(sums.n, sums.k, 1, 1),
        output=(sums.m, sums.n, 1, 1),
        strides=(1, 1),
        dilations=(1, 1),
        pads_before=(0, 0),
        pads_after=(0, 0),
    )


def source(sums: Convolution, element: str, tile: Tile, scaled: str) -> str:
    """The kernel for a convolution of elements of a type, with channels last.

    `scaled` defines what follows the sums, as `scaling.scaled_source` writes it.
    """
    images, channels, height, width = sums.input
    filters, _, filter_height, filter_width = sums.filter
    _, _, rows, columns = sums.output
    numbers = {
        "M": images * rows * columns,
        "N": filters,
        "C": channels,
        "H": height,
        "W": width,
        "P": rows,
        "Q": columns,
        "R": filter_height,
        "S": filter_width,
        "STRIDE_H": sums.strides[0],
        "STRIDE_W": sums.strides[1],
        "DILATION_H": sums.dilations[0],
        "DILATION_W": sums.dilations[1],
        "TOP": sums.pads_before[0],
        "LEFT": sums.pads_before[1],
        "BM": tile.rows,
        "BN": tile.columns,
        "WM": tile.warp_rows,
        "WN": tile.warp_columns,
        "CHUNKS": tile.depth // CHUNK,
        "STAGES": tile.stages,
        "MARGIN": MARGIN,
        "THREADS": tile.threads,
    }
    constants = "".join(f"#define {name} {number}\n" for name, number in numbers.items())
    return f"{scaled}\n{COPIES}{LOADS}{product_of(element)}{constants}{_SOURCE}"


def product_of(element: str) -> str:
    """The function `add_product`, which adds a product of fragments of this type to sums."""
    kind = "f32" if element == FLOAT8 else "s32"
    weights = "e4m3" if element == FLOAT8 else "s8"
    register = "f" if element == FLOAT8 else "r"
    text = _PRODUCT.replace("TYPES", f"{kind}.{_TYPES[element]}.{weights}.{kind}")
    return text.replace('"+r"', f'"+{register}"')


_PRODUCT = """
__device__ __forceinline__ void add_product(Sum* c, const unsigned* a, const unsigned* b) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.TYPES "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
"""

_SOURCE = """
#define TERMS (R * S * C / 16)  // chunks of a row
#define ROUNDS ((TERMS + CHUNKS - 1) / CHUNKS)
#define LINE (CHUNKS * 16)
#define STAGE ((BM + BN) * LINE)
#define STEP (THREADS / CHUNKS)  // rows that all threads copy together
#define MINE (BM / STEP)

// Where a chunk of a row lies: eight rows that follow each other have theirs in eight places.
__device__ __forceinline__ int place(int row, int chunk) {
  return row * LINE + (chunk ^ (CHUNKS == 8 ? row & 7 : row >> 1 & 3)) * 16;
}

extern "C" __global__ void __launch_bounds__(THREADS) multiply_eight_bits(
    const char* __restrict__ x, const char* __restrict__ filter, const float4* __restrict__ scale,
    const float4* __restrict__ bias, const Added* __restrict__ residual,
    Written* __restrict__ result) {
  extern __shared__ __align__(16) char memory[];
  const int tiles = (N + BN - 1) / BN;
  const int first_row = blockIdx.x / tiles * BM, first_column = blockIdx.x % tiles * BN;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_row = warp / (BN / WN) * WM, warp_column = warp % (BN / WN) * WN;
  const int chunk = threadIdx.x % CHUNKS, own = threadIdx.x / CHUNKS;

  int top[MINE], left[MINE], image[MINE];
  #pragma unroll
  for (int i = 0; i < MINE; ++i) {
    const int pixel = first_row + own + i * STEP;
    top[i] = pixel < M ? pixel / Q % P * STRIDE_H - TOP : -(1 << 28);
    left[i] = pixel % Q * STRIDE_W - LEFT;
    image[i] = pixel / (P * Q) * H;
  }
  auto fetch = [&](int round) {
    if (round < ROUNDS) {
      char* const to = memory + round % STAGES * STAGE;
      const int term = round * CHUNKS + chunk;
      const int window = term / (C / 16), channel = term % (C / 16) * 16;
      const int down = window / S * DILATION_H, right = window % S * DILATION_W;
      #pragma unroll
      for (int i = 0; i < MINE; ++i) {
        const int h = top[i] + down, w = left[i] + right;
        const bool there = term < TERMS && h >= 0 && h < H && w >= 0 && w < W;
        const char* const from =
            there ? x + ((long long)(image[i] + h) * W + w) * C + channel : x;
        copy(to + place(own + i * STEP, chunk), from, there);
      }
      #pragma unroll
      for (int i = own; i < BN; i += STEP) {
        const bool there = term < TERMS && first_column + i < N;
        const char* const from =
            there ? filter + ((long long)(first_column + i) * TERMS + term) * 16 : filter;
        copy(to + BM * LINE + place(i, chunk), from, there);
      }
    }
    commit_copies();
  };
  Sum sum[WM / 16][WN / 8][4];
  #pragma unroll
  for (int m = 0; m < WM / 16; ++m)
    #pragma unroll
    for (int n = 0; n < WN / 8; ++n)
      sum[m][n][0] = sum[m][n][1] = sum[m][n][2] = sum[m][n][3] = 0;
  #pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) fetch(s);

  for (int round = 0; round < ROUNDS; ++round) {
    wait_for_copies<STAGES - 2>();
    __syncthreads();
    fetch(round + STAGES - 1);
    const char* const a_part = memory + round % STAGES * STAGE;
    const char* const b_part = a_part + BM * LINE;
    #pragma unroll
    for (int k = 0; k < CHUNKS; k += 2) {
      unsigned a[WM / 16][4], b[WN / 16][4];
      #pragma unroll
      for (int m = 0; m < WM / 16; ++m)
        four(a[m], a_part + place(warp_row + m * 16 + lane % 16, k + lane / 16));
      #pragma unroll
      for (int n = 0; n < WN / 16; ++n)
        four(b[n], b_part + place(warp_column + n * 16 + lane % 8 + lane / 16 * 8,
                                  k + lane / 8 % 2));
      #pragma unroll
      for (int m = 0; m < WM / 16; ++m)
        #pragma unroll
        for (int n = 0; n < WN / 8; ++n) add_product(sum[m][n], a[m], b[n / 2] + n % 2 * 2);
    }
  }

  // Sums go to shared memory, so that results are written in long lines.
  wait_for_copies<0>();
  __syncthreads();
  Sum* const sums = (Sum*)memory;
  #pragma unroll
  for (int m = 0; m < WM / 16; ++m)
    #pragma unroll
    for (int n = 0; n < WN / 8; ++n)
      #pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[(warp_row + m * 16 + lane / 4 + i / 2 * 8) * (BN + MARGIN) + warp_column + n * 8
             + lane % 4 * 2 + i % 2] = sum[m][n][i];
  __syncthreads();
  for (int i = threadIdx.x; i < BM * BN / 4; i += THREADS) {
    const int own_row = i / (BN / 4), own_column = i % (BN / 4) * 4;
    const int row = first_row + own_row, column = first_column + own_column;
    if (row >= M || column >= N) continue;
    const int at = (int)(((long long)row * N + column) / 4);
    result[at] = scaled(*(const Sums*)(sums + own_row * (BN + MARGIN) + own_column),
                        scale[column / 4], bias[column / 4], residual, at);
  }
}
"""
