"""The source of the kernel that multiplies rows by weights that lie in fragments.

The weights are the first factor of `mma.m16n8k16`, with sixteen columns of the product in its rows;
rows of the product are the second's columns, so that they come in groups of eight. Each thread
reads its weights straight to registers, a round ahead; elements of rows are copied to shared
memory some rounds ahead, where the warps across the columns share them. Warps along the sums, and
blocks of a cluster, share the sums out.

With up to sixteen rows, unpacking weights takes most of the time. There a weight q becomes
2^e + q, the sums of a block of weights begin with the elements times -(2^e + zero point), and are
scaled. With more rows weights are scaled.
"""

from benanza_runner.cuda.kernels.packed.fragment_tiling import GROUP, FragmentTiling
from benanza_runner.cuda.kernels.regions.threads import CLUSTERED
from benanza_runner.cuda.kernels.source.packed_weights import WeightPacking, packed_weights_source
from benanza_runner.cuda.kernels.source.pairs_of_weights import pairs_source
from benanza_runner.cuda.kernels.source.tensor_cores import instructions
from benanza_schemas.layer import Precision

SCALED_SUMS = 16
"""The most rows with which sums are scaled instead of weights."""


def source(
    precision: Precision, m: int, k: int, packing: WeightPacking, bias: bool, tiling: FragmentTiling
) -> str:
    """The kernel for m rows of k elements in fp16 or bf16, k a multiple of eight, and weights of
    four bits.
    """
    return f"""{packed_weights_source(precision, k, packing)}
{instructions(precision)}
{pairs_source(precision, packing.bits)}
#define M {m}
#define BIAS {int(bias)}
#define GROUPS {-(-m // GROUP)}
#define TILES {tiling.tiles}
#define ACROSS {tiling.across}
#define ALONG {tiling.along}
#define UNITS {tiling.units}
#define STAGES {tiling.stages}
#define ROUNDS {tiling.rounds(k)}
#define SCALED_SUMS {int(m <= SCALED_SUMS)}
#define CLUSTER {tiling.cluster}
#define IN_CLUSTERS {"__cluster_dims__(CLUSTER, 1, 1)" if tiling.cluster > 1 else ""}
{CLUSTERED if tiling.cluster > 1 else ""}
{NUMBERS_OF_FRAGMENTS}
{_SOURCE}"""


NUMBERS_OF_FRAGMENTS = """
#define UNITS_OF_A_ROW ((BLOCKS * BLOCK + 63) / 64)
#define PER_UNIT (BLOCK < 64 ? 64 / BLOCK : 1)  // blocks of weights
#define PER_BLOCK (BLOCK < 64 ? 1 : BLOCK / 64)  // units
#define BLOCKS_OF_A_ROW ((UNITS_OF_A_ROW + PER_BLOCK - 1) / PER_BLOCK)
// By so many bits numbers of the lower column stay shifted, where a mantissa has room for them.
#define LOWER (BITS == 4 && EXCESS == 0x6400u ? 4 : 0)
__device__ __forceinline__ unsigned less(unsigned zero) {
  return (0x8000u | EXCESS | zero) * 0x10001u;
}
// The first and third pair are of the upper column, the others of the lower one.
__device__ __forceinline__ void numbers(unsigned word, unsigned low, unsigned* pairs) {
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int there = i % 2 * LOWER;
    pairs[i] = word >> 4 * i - there & low << there | EXCESS * 0x10001u;
  }
}
"""
"""How many units of 64 weights and blocks of weights a row has, and a word's numbers as pairs."""

_SOURCE = """
#define STEPS (SCALED_SUMS ? PER_UNIT : 2)  // of a unit
#define THREADS (32 * ACROSS * ALONG)
#define COLUMNS (16 * TILES * ACROSS)
#define ROWS (8 * GROUPS)
#define SPAN (64 * UNITS * ALONG)
#define EIGHTS (SPAN / 8)
#define LINE (EIGHTS + 4)  // odd in 64 bytes: two rows' elements for four threads don't collide
#define PITCH (COLUMNS + 4)
// Of two columns; they stay words until they are used, or a thread would wait for them.
struct __align__(4 * PER_UNIT) Scales { unsigned pairs[PER_UNIT]; };
struct __align__(2 * PER_UNIT) Zeros { unsigned short pairs[PER_UNIT]; };
struct Held {
  uint4 weights;
  Scales scales;
#if ZEROS
  Zeros zeros;
#endif
};

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(THREADS) packed_in_fragments(
    const T* __restrict__ a, const uint4* __restrict__ b, const Scales* __restrict__ scales,
    const Zeros* __restrict__ zeros, const T* __restrict__ bias, T* __restrict__ y, int n) {
  extern __shared__ uint4 memory[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int across = warp % ACROSS, along = warp / ACROSS;
  const int whole = blockIdx.x / CLUSTER, rank = blockIdx.x % CLUSTER;

  // The compiler doesn't know that n isn't negative, so it keeps the mask in a register. It would
  // move a known number there at each use.
  const unsigned low = 0x000f000fu + (n < 0 ? lane : 0);
  const int begin = (rank * ROUNDS * ALONG + along) * UNITS;  // the first of the warp's units
  const uint4* weights_of[TILES];
  long long block_of[TILES];
  #pragma unroll
  for (int c = 0; c < TILES; ++c) {
    const long long tile = min((whole * ACROSS + across) * TILES + c, (n + 15) / 16 - 1);
    weights_of[c] = b + (tile * UNITS_OF_A_ROW + begin) * 32 + lane;
    block_of[c] = tile * BLOCKS_OF_A_ROW * 8 + lane / 4;
  }
  Held held[UNITS][TILES] = {};
  auto hold = [&](int round, int u) {
    const int after = round * ALONG * UNITS + u;
    if (begin + after >= UNITS_OF_A_ROW) return;
    #pragma unroll
    for (int c = 0; c < TILES; ++c) {
      const long long block = block_of[c] + (begin + after) / PER_BLOCK * 8;
      held[u][c].weights = __ldg(weights_of[c] + after * 32);
      held[u][c].scales = scales[block];
#if ZEROS
      held[u][c].zeros = zeros[block];
#endif
    }
  };
  // Elements beyond K are zeros, whatever the weights are.
  auto fetch = [&](int round) {
    if (round < ROUNDS) {
      uint4* const stage = memory + round % STAGES * ROWS * LINE;
      const int start = (rank * ROUNDS + round) * SPAN;
      #pragma unroll
      for (int i = 0; i < M * EIGHTS; i += THREADS) {
        const int at = i + threadIdx.x, row = at / EIGHTS, eight = at % EIGHTS;
        const int k = start + eight * 8;
        if (at < M * EIGHTS) copy(stage + row * LINE + eight, a + (k < K ? row * K + k : 0), k < K);
      }
    }
    commit_copies();
  };
  #pragma unroll
  for (int u = 0; u < UNITS; ++u) hold(0, u);
  #pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) fetch(s);
  for (int i = threadIdx.x; i < STAGES * ROWS * LINE; i += THREADS)
    if (i / LINE % ROWS >= M) memory[i] = {0, 0, 0, 0};

  float sums[TILES][GROUPS][4] = {};
  #pragma unroll 1
  for (int round = 0; round < ROUNDS; ++round) {
    wait_for_copies<STAGES - 2>();
    __syncthreads();
    fetch(round + STAGES - 1);
    const uint4* const rows =
        memory + (round % STAGES * ROWS + lane / 4) * LINE + along * UNITS * 8 + lane % 4;
    #pragma unroll
    for (int u = 0; u < UNITS; ++u) {
      #pragma unroll
      for (int step = 0; step < STEPS; ++step) {
        const int words = 4 / STEPS, first = step * words, p = step * PER_UNIT / STEPS;
        auto elements = [&](int r, unsigned* of) {
          #pragma unroll
          for (int w = 0; w < words; w += 2) {
            const uint4 found = rows[r * 8 * LINE + u * 8 + (first + w) / 2 * 4];
            of[2 * w] = found.x;
            of[2 * w + 1] = found.y;
            of[2 * w + 2] = found.z;
            of[2 * w + 3] = found.w;
          }
        };
        auto scale = [&](int c, int i) { return (T)(held[u][c].scales.pairs[p] >> 16 * i); };
        auto zero = [&](int c, int i) {
#if ZEROS
          return (held[u][c].zeros.pairs[p] >> 8 * i & 255u) << i * LOWER;
#else
          return 8u << i * LOWER;
#endif
        };
        unsigned pairs[TILES][words][4];
        #pragma unroll
        for (int c = 0; c < TILES; ++c) {
          const uint4 all = held[u][c].weights;
          const unsigned own[4] = {all.x, all.y, all.z, all.w};
          #pragma unroll
          for (int w = 0; w < words; ++w) numbers(own[first + w], low, pairs[c][w]);
#if !SCALED_SUMS
          #pragma unroll
          for (int i = 0; i < 2; ++i) {
            const Factor f = factor(scale(c, i), zero(c, i));
            #pragma unroll
            for (int w = 0; w < words; ++w) {
              pairs[c][w][i] = weights(pairs[c][w][i], f);
              pairs[c][w][i + 2] = weights(pairs[c][w][i + 2], f);
            }
          }
#endif
        }
        #pragma unroll
        for (int r = 0; r < GROUPS; ++r) {
          unsigned factor_of[2 * words];
          elements(r, factor_of);
#if SCALED_SUMS
          auto start = [&](float* sum, unsigned upper, unsigned lower) {
            const unsigned minus[4] = {less(upper), less(lower), less(upper), less(lower)};
            #pragma unroll
            for (int w = 0; w < words; ++w) multiply(sum, minus, factor_of + 2 * w);
          };
          float begun[4] = {};
          if (!ZEROS) start(begun, 8, 8 << LOWER);
          #pragma unroll
          for (int c = 0; c < TILES; ++c) {
            float found[4] = {begun[0], begun[1], begun[2], begun[3]};
            if (ZEROS) start(found, zero(c, 0), zero(c, 1));
            #pragma unroll
            for (int w = 0; w < words; ++w) multiply(found, pairs[c][w], factor_of + 2 * w);
            #pragma unroll
            for (int i = 0; i < 4; ++i)
              sums[c][r][i] += load(scale(c, i / 2)) * found[i];
          }
#else
          #pragma unroll
          for (int c = 0; c < TILES; ++c)
            #pragma unroll
            for (int w = 0; w < words; ++w)
              multiply(sums[c][r], pairs[c][w], factor_of + 2 * w);
#endif
        }
      }
      if (round + 1 < ROUNDS) hold(round + 1, u);
    }
  }

  // The sums of the block's warps, and of the cluster's blocks.
  wait_for_copies<0>();
  __syncthreads();
  float* const found = (float*)memory;
  #pragma unroll
  for (int c = 0; c < TILES; ++c)
    #pragma unroll
    for (int r = 0; r < GROUPS; ++r)
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = r * 8 + lane % 4 * 2 + i % 2;
        const int column = (across * TILES + c) * 16 + i / 2 * 8 + lane / 4;
        const float sum = i / 2 ? sums[c][r][i] * (1.0f / (1 << LOWER)) : sums[c][r][i];
        if (row < M) found[(along * M + row) * PITCH + column] = sum;
      }
  __syncthreads();
#if CLUSTER > 1 && ALONG > 1
  for (int at = threadIdx.x; at < M * COLUMNS; at += THREADS) {
    float* const mine = found + at / COLUMNS * PITCH + at % COLUMNS;
    #pragma unroll
    for (int w = 1; w < ALONG; ++w) *mine += mine[w * M * PITCH];
  }
#endif
#if CLUSTER > 1
  together();
#endif
  for (int at = rank * THREADS + threadIdx.x; at < M * COLUMNS; at += CLUSTER * THREADS) {
    const int row = at / COLUMNS, column = whole * COLUMNS + at % COLUMNS;
    const float* const mine = found + row * PITCH + at % COLUMNS;
    float sum = 0.0f;
#if CLUSTER > 1
    #pragma unroll
    for (int i = 0; i < CLUSTER; ++i) sum += remote(mine, i);
#else
    #pragma unroll
    for (int w = 0; w < ALONG; ++w) sum += mine[w * M * PITCH];
#endif
    if (column < n)
      y[(long long)row * n + column] = store(sum + (BIAS ? load(bias[column]) : 0.0f));
  }
#if CLUSTER > 1
  together();  // Nobody leaves before all have read.
#endif
}
"""
