"""The source of the kernel that multiplies rows by packed weights on Tensor Cores.

The weights are the first factor of `mma.m16n8k16`, with sixteen columns of the product in its rows;
rows of the product are the second's columns, so that they come in groups of eight. A block's warps
have neighbouring columns and share the sums out; where there are too few columns for all
multiprocessors, blocks share the sums out, too, and the one that ends last adds them up.

A sum has no order. So a thread keeps the piece of 16 bytes that it reads of a column, and makes
floats of it where the instruction wants them: four threads have the pieces of a chunk, and find the
same elements of the other factor in shared memory. Both are copied there some rounds ahead.
"""

from typing import NamedTuple

from benanza_runner.cuda.kernels.source.packed_weights import WeightPacking, packed_weights_source
from benanza_runner.cuda.kernels.source.pairs_of_weights import pairs_source
from benanza_runner.cuda.kernels.source.tensor_cores import instructions
from benanza_schemas.layer import Precision

GROUP = 8
"""Rows that are multiplied at once."""

_THREADS_OF_A_WARP = 32
_TILE = 16
_PIECES_OF_A_CHUNK = 4
_PIECE_BYTES = 16


class Tiling(NamedTuple):
    """What a block has: `groups` of eight rows, `tiles` of sixteen columns a warp, so many warps
    `across` the columns and `along` the sums, and so many `stages` of copies in shared memory.
    """

    groups: int
    tiles: int
    across: int
    along: int
    stages: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return _THREADS_OF_A_WARP * self.across * self.along

    @property
    def columns(self) -> int:
        """Columns of a block."""
        return _TILE * self.tiles * self.across

    @property
    def rows(self) -> int:
        """Rows of a block."""
        return GROUP * self.groups

    def stage_bytes(self, bits: int) -> int:
        """Shared memory of a stage, for weights of so many bits."""
        weights = 2 * self.tiles * self.threads * _PIECE_BYTES
        line = 2 * chunk(bits) + _PIECES_OF_A_CHUNK * _PIECE_BYTES
        return weights + self.along * self.rows * line

    def shared_bytes(self, bits: int) -> int:
        """Shared memory of a block: its stages, or its warps' sums after them."""
        sums = 4 * self.along * self.rows * (self.columns + 4)
        return max(self.stages * self.stage_bytes(bits), sums)


def chunk(bits: int) -> int:
    """The weights that four threads have of a column at a time."""
    return _PIECES_OF_A_CHUNK * _PIECE_BYTES * 8 // bits


def source(precision: Precision, k: int, packing: WeightPacking, bias: bool, tiling: Tiling) -> str:
    """The kernel for fp16 or bf16, rows of k elements, a multiple of eight, and such weights."""
    return f"""{packed_weights_source(precision, k, packing)}
{instructions(precision)}
{pairs_source(precision, packing.bits)}
#define BIAS {int(bias)}
#define GROUPS {tiling.groups}
#define TILES {tiling.tiles}
#define ACROSS {tiling.across}
#define ALONG {tiling.along}
#define STAGES {tiling.stages}
{_SOURCE}"""


_SOURCE = """
#define CHUNK (4 * PIECE)
#define CHUNKS ((PIECES + 3) / 4)
#define THREADS (32 * ACROSS * ALONG)
#define COLUMNS (16 * TILES * ACROSS)
#define ROWS (8 * GROUPS)
#define EIGHTS (PIECE / 8)
#define UNITS (4 * EIGHTS)  // of 16 bytes, in a chunk of a row
#define LINE (UNITS + 4)  // odd in 64 bytes: two rows' units for four threads don't collide
#define STAGE (2 * TILES * THREADS + ALONG * ROWS * LINE)
#define PITCH (COLUMNS + 4)

extern "C" __global__ void __launch_bounds__(THREADS) packed_tiles(const T* __restrict__ a,
    const uint4* __restrict__ b, const T* __restrict__ scales,
    const unsigned char* __restrict__ zeros, const T* __restrict__ bias, T* __restrict__ y,
    float* __restrict__ parts, unsigned* __restrict__ arrived, int m, int n, int splits,
    int rounds) {
  extern __shared__ uint4 memory[];
  __shared__ bool last;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int across = warp % ACROSS, along = warp / ACROSS;
  const int whole = blockIdx.x / splits, split = blockIdx.x % splits;
  const int first = (split * ALONG + along) * rounds;  // of the warp's chunks
  const int own = across * 16 * TILES + lane / 4;      // of the thread's columns

  auto row_of = [&](int i) { return (long long)min(whole * COLUMNS + own + 8 * i, n - 1); };
  auto piece_of = [&](int round) { return min((first + round) * 4 + lane % 4, PIECES - 1); };
  // Rows beyond m and elements beyond K are zeros, whatever the weights are.
  auto fetch = [&](int round) {
    if (round < rounds) {
      uint4* const stage = memory + round % STAGES * STAGE;
      const int piece = piece_of(round);
      #pragma unroll
      for (int i = 0; i < 2 * TILES; ++i)
        copy(stage + i * THREADS + threadIdx.x, b + row_of(i) * PIECES + piece, true);
      uint4* const rows = stage + 2 * TILES * THREADS + along * ROWS * LINE;
      #pragma unroll
      for (int i = 0; i < ROWS * UNITS; i += 32 * ACROSS) {
        const int at = i + across * 32 + lane, row = at / UNITS, unit = at % UNITS;
        const int k = (first + round) * CHUNK + unit * 8;
        const bool there = row < m && k < K;
        if (at < ROWS * UNITS)
          copy(rows + row * LINE + unit % EIGHTS * 4 + unit / EIGHTS,
               a + (there ? (long long)row * K + k : 0), there);
      }
    }
    commit_copies();
  };
  T scale[2 * TILES];
  unsigned zero[2 * TILES];
  auto read = [&](int round) {
    const int block = piece_of(round) * PIECE / BLOCK;
    #pragma unroll
    for (int i = 0; i < 2 * TILES; ++i) {
      scale[i] = scales[row_of(i) * BLOCKS + block];
      zero[i] = zero_of(zeros, row_of(i), block);
    }
  };
  float sums[TILES][GROUPS][4] = {};
  #pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) fetch(s);
  read(0);

  for (int round = 0; round < rounds; ++round) {
    wait_for_copies<STAGES - 2>();
    __syncthreads();
    fetch(round + STAGES - 1);
    Factor factors[2 * TILES];
    #pragma unroll
    for (int i = 0; i < 2 * TILES; ++i) factors[i] = factor(scale[i], zero[i]);
    read(round + 1);
    const uint4* const stage = memory + round % STAGES * STAGE;
    unsigned words[2 * TILES][4];
    #pragma unroll
    for (int i = 0; i < 2 * TILES; ++i) {
      const uint4 piece = stage[i * THREADS + threadIdx.x];
      words[i][0] = piece.x;
      words[i][1] = piece.y;
      words[i][2] = piece.z;
      words[i][3] = piece.w;
    }
    const uint4* const rows = stage + 2 * TILES * THREADS + (along * ROWS + lane / 4) * LINE;
    #pragma unroll
    for (int e = 0; e < EIGHTS; ++e) {
      unsigned pairs[TILES][2][4];
      #pragma unroll
      for (int i = 0; i < 2 * TILES; ++i) {
        unsigned found[4];
        eight(words[i], e, factors[i], found);
        #pragma unroll
        for (int p = 0; p < 4; ++p) pairs[i / 2][p / 2][p % 2 * 2 + i % 2] = found[p];
      }
      #pragma unroll
      for (int r = 0; r < GROUPS; ++r) {
        unsigned elements[4];
        in_pairs(rows[r * 8 * LINE + e * 4 + lane % 4], elements);
        #pragma unroll
        for (int c = 0; c < TILES; ++c) {
          multiply(sums[c][r], pairs[c][0], elements);
          multiply(sums[c][r], pairs[c][1], elements + 2);
        }
      }
    }
  }

  // The block's sums: one after another of those of the warps along them.
  wait_for_copies<0>();
  __syncthreads();
  float* const found = (float*)memory;
  #pragma unroll
  for (int c = 0; c < TILES; ++c)
    #pragma unroll
    for (int r = 0; r < GROUPS; ++r)
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = r * 8 + lane % 4 * 2 + i % 2, column = own + c * 16 + i / 2 * 8;
        found[(along * ROWS + row) * PITCH + column] = sums[c][r][i];
      }
  __syncthreads();
  auto finish = [&](int at, float sum) {
    const int row = at / COLUMNS, column = whole * COLUMNS + at % COLUMNS;
    if (column < n)
      y[(long long)row * n + column] = store(sum + (BIAS ? load(bias[column]) : 0.0f));
  };
  float* const mine = parts + (long long)blockIdx.x * m * COLUMNS;
  for (int at = threadIdx.x; at < m * COLUMNS; at += THREADS) {
    float sum = 0.0f;
    #pragma unroll
    for (int w = 0; w < ALONG; ++w)
      sum += found[(w * ROWS + at / COLUMNS) * PITCH + at % COLUMNS];
    if (splits > 1)
      mine[at] = sum;
    else
      finish(at, sum);
  }
  if (splits == 1) return;

  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(arrived + whole, 1) == splits - 1;
    if (last) arrived[whole] = 0;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  const float* const found_by = parts + (long long)whole * splits * m * COLUMNS;
  for (int at = threadIdx.x; at < m * COLUMNS; at += THREADS) {
    float sum = 0.0f;
    #pragma unroll 4
    for (int s = 0; s < splits; ++s) sum += __ldcg(found_by + s * m * COLUMNS + at);
    finish(at, sum);
  }
}
"""
