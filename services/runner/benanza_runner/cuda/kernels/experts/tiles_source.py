"""A kernel for an expert's product of many rows, in fp16 and bf16 on Tensor Cores.

Blocks have tiles of an expert's routes and of the product's columns. Weights and rows are copied to
shared memory some rounds ahead. Which elements of a sum are multiplied together is free, as long as
both factors have them in the same places: so a thread reads 16 bytes of each at a time.
"""

from typing import NamedTuple

from benanza_runner.cuda.calls import MixtureOfExperts
from benanza_runner.cuda.kernels.experts.matrices_source import TILES_OF_ROUTES, product_source
from benanza_runner.cuda.kernels.source.pairs_of_weights import pairs_source
from benanza_runner.cuda.kernels.source.tensor_cores import instructions
from benanza_schemas.layer import Precision

_UNIT_BYTES = 16
_FLOAT_BITS = 16


class ExpertTiling(NamedTuple):
    """What a warp has: `tiles` of sixteen columns, and `groups` of eight rows; a block's warps
    `across` the columns and `along` the rows; and the `stages` of copies in shared memory.
    """

    tiles: int
    groups: int
    across: int
    along: int
    stages: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.across * self.along

    @property
    def columns(self) -> int:
        """Columns of a block."""
        return 16 * self.tiles * self.across

    @property
    def rows(self) -> int:
        """Rows of a block."""
        return 8 * self.groups * self.along

    def stage_bytes(self, bits: int) -> int:
        """Shared memory of a stage, for weights of so many bits, which are 0 for floats."""
        units = 4 * (_FLOAT_BITS // (bits or _FLOAT_BITS))
        return _UNIT_BYTES * (4 * self.columns + units * self.rows)

    def shared_bytes(self, bits: int) -> int:
        """Shared memory of a block: its stages, or its sums after them."""
        return max(self.stages * self.stage_bytes(bits), 4 * self.rows * (self.columns + 4))


def tiles_source(
    precision: Precision, call: MixtureOfExperts, tiling: ExpertTiling, *, down: bool
) -> str:
    """The kernel `expert_tiles` for fp16 or bf16."""
    bits = (call.down if down else call.up).bits
    return f"""{product_source(precision, call, down=down)}
{instructions(precision)}
{pairs_source(precision, bits) if bits else _FLOATS}
#define TILES {tiling.tiles}
#define GROUPS {tiling.groups}
#define ACROSS {tiling.across}
#define ALONG {tiling.along}
#define STAGES {tiling.stages}
#define ROWS (8 * GROUPS * ALONG)
#define THREADS (32 * ACROSS * ALONG)
{TILES_OF_ROUTES}
{_SOURCE}"""


_FLOATS = """
// Eight weights of a piece, and eight elements of a row, are pairs as they lie.
__device__ __forceinline__ void eight(const unsigned* words, unsigned* pairs) {
  #pragma unroll
  for (int i = 0; i < 4; ++i) pairs[i] = words[i];
}
__device__ __forceinline__ void in_pairs(uint4 row, unsigned* pairs) {
  pairs[0] = row.x;
  pairs[1] = row.y;
  pairs[2] = row.z;
  pairs[3] = row.w;
}
"""

_SOURCE = """
#define CHUNK (4 * PIECE)
#define CHUNKS ((PIECES + 3) / 4)
#define COLUMNS (16 * TILES * ACROSS)
#define EIGHTS (PIECE / 8)
#define UNITS (4 * EIGHTS)  // of 16 bytes, in a chunk of a row
#define STAGE (4 * COLUMNS + UNITS * ROWS)
#define PITCH (COLUMNS + 4)
#define WRITTEN (COLUMNS / (1 + PAIRS))

extern "C" __global__ void __launch_bounds__(THREADS) expert_tiles(const T* __restrict__ x,
    const uint4* __restrict__ weights, const T* __restrict__ scales,
    const unsigned char* __restrict__ zeros, const T* __restrict__ bias,
    const int* __restrict__ offsets, const int* __restrict__ order, T* __restrict__ y) {
  extern __shared__ uint4 memory[];
  __shared__ int read_rows[ROWS];
  const Tile tile = tile_of(offsets, blockIdx.y);
  if (tile.count == 0) return;
  for (int i = threadIdx.x; i < ROWS; i += THREADS)
    read_rows[i] = i < tile.count ? row_read(order, tile.first + i) : -1;
  __syncthreads();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int across = warp % ACROSS, along = warp / ACROSS;
  const int start = blockIdx.x * COLUMNS;
  const long long expert_line = (long long)tile.expert * N;
  auto line_of = [&](int column) { return expert_line + min(start + column, N - 1); };

  // Elements beyond the rows and beyond K are zeros.
  auto fetch = [&](int chunk) {
    if (chunk < CHUNKS) {
      uint4* const stage = memory + chunk % STAGES * STAGE;
      for (int i = threadIdx.x; i < 4 * COLUMNS; i += THREADS) {
        const int piece = chunk * 4 + i % 4;
        const bool there = piece < PIECES;
        copy(stage + i, weights + line_of(i / 4) * PIECES + (there ? piece : 0), there);
      }
      uint4* const rows = stage + 4 * COLUMNS;
      for (int i = threadIdx.x; i < UNITS * ROWS; i += THREADS) {
        const int row = i / UNITS, unit = i % UNITS, k = chunk * CHUNK + unit * 8;
        const bool there = read_rows[row] >= 0 && k < K;
        copy(rows + (unit % EIGHTS * ROWS + row) * 4 + unit / EIGHTS,
             x + (there ? (long long)read_rows[row] * K + k : 0), there);
      }
    }
    commit_copies();
  };
  const int own = across * 16 * TILES + lane / 4;  // of the thread's columns
#if !FLOATS
  T scale[2 * TILES];
  unsigned zero[2 * TILES];
  auto read = [&](int chunk) {
    const int block = min(chunk * 4 + lane % 4, PIECES - 1) * PIECE / BLOCK;
    #pragma unroll
    for (int i = 0; i < 2 * TILES; ++i) {
      const long long line = line_of(own + 8 * i);
      scale[i] = scales[line * BLOCKS + block];
      zero[i] = zero_of(zeros, line, block);
    }
  };
  read(0);
#endif
  float sums[TILES][GROUPS][4] = {};
  #pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) fetch(s);

  for (int chunk = 0; chunk < CHUNKS; ++chunk) {
    wait_for_copies<STAGES - 2>();
    __syncthreads();
    fetch(chunk + STAGES - 1);
#if !FLOATS
    Factor factors[2 * TILES];
    #pragma unroll
    for (int i = 0; i < 2 * TILES; ++i) factors[i] = factor(scale[i], zero[i]);
    read(chunk + 1);
#endif
    const uint4* const stage = memory + chunk % STAGES * STAGE;
    unsigned words[2 * TILES][4];
    #pragma unroll
    for (int i = 0; i < 2 * TILES; ++i) {
      const uint4 piece = stage[(own + 8 * i) * 4 + lane % 4];
      words[i][0] = piece.x;
      words[i][1] = piece.y;
      words[i][2] = piece.z;
      words[i][3] = piece.w;
    }
    #pragma unroll
    for (int e = 0; e < EIGHTS; ++e) {
      unsigned pairs[TILES][2][4];
      #pragma unroll
      for (int i = 0; i < 2 * TILES; ++i) {
        unsigned found[4];
#if FLOATS
        eight(words[i], found);
#else
        eight(words[i], e, factors[i], found);
#endif
        #pragma unroll
        for (int p = 0; p < 4; ++p) pairs[i / 2][p / 2][p % 2 * 2 + i % 2] = found[p];
      }
      const uint4* const rows = stage + 4 * COLUMNS + e * ROWS * 4;
      #pragma unroll
      for (int r = 0; r < GROUPS; ++r) {
        const int row = (along * GROUPS + r) * 8;
        if (row >= tile.count) continue;
        unsigned elements[4];
        in_pairs(rows[(row + lane / 4) * 4 + lane % 4], elements);
        #pragma unroll
        for (int c = 0; c < TILES; ++c) {
          multiply(sums[c][r], pairs[c][0], elements);
          multiply(sums[c][r], pairs[c][1], elements + 2);
        }
      }
    }
  }

  wait_for_copies<0>();
  __syncthreads();
  float* const found = (float*)memory;
  #pragma unroll
  for (int c = 0; c < TILES; ++c)
    #pragma unroll
    for (int r = 0; r < GROUPS; ++r)
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = (along * GROUPS + r) * 8 + lane % 4 * 2 + i % 2;
        found[row * PITCH + own + c * 16 + i / 2 * 8] = sums[c][r][i];
      }
  __syncthreads();
  auto sum_of = [&](int row, int column) {
    const float added = BIAS ? load(bias[line_of(column)]) : 0.0f;
    return found[row * PITCH + column] + added;
  };
  for (int at = threadIdx.x; at < tile.count * WRITTEN; at += THREADS) {
    const int row = at / WRITTEN, column = at % WRITTEN, first = column * (1 + PAIRS);
    if (start + first >= N) continue;
    const long long line = row_written(order, tile.first + row);
    y[line * WIDTH + blockIdx.x * WRITTEN + column] =
        store(finished(sum_of(row, first), sum_of(row, first + PAIRS)));
  }
}
"""
