"""The source of the kernel that multiplies up to some hundreds of rows by weights in fragments.

The weights are the first factor, with 64 columns of the product in the rows of a group of four
warps; all rows of a block are the other one, so that a weight is unpacked once for all of them.
Weights and elements of rows are copied to shared memory some rounds ahead: each thread's weights
for itself, and rows for all. While products are under way, threads unpack the next weights.

Blocks of a cluster share the sums out, and so may several clusters, since a cluster's blocks have
to be near each other. Whoever is last adds up what clusters found, in one order.
"""

from benanza_runner.cuda.kernels.packed.fragments_source import NUMBERS_OF_FRAGMENTS
from benanza_runner.cuda.kernels.packed.warpgroup_tiling import WarpgroupTiling
from benanza_runner.cuda.kernels.regions.threads import CLUSTERED
from benanza_runner.cuda.kernels.source.packed_weights import WeightPacking, packed_weights_source
from benanza_runner.cuda.kernels.source.pairs_of_weights import pairs_source
from benanza_runner.cuda.kernels.source.tensor_cores import LOADS, instructions
from benanza_runner.cuda.kernels.source.warpgroup_products import (
    WITHOUT_WARPGROUPS,
    warpgroup_instructions,
)
from benanza_schemas.layer import Precision


def source(
    precision: Precision,
    m: int,
    k: int,
    packing: WeightPacking,
    bias: bool,
    tiling: WarpgroupTiling,
) -> str:
    """The kernel for m rows of k elements in fp16 or bf16, k a multiple of eight, and weights of
    four or eight bits.
    """
    rows = tiling.rows_of(m)
    wide = warpgroup_instructions(precision, rows) if tiling.asynchronous else WITHOUT_WARPGROUPS
    return f"""{packed_weights_source(precision, k, packing)}
{instructions(precision)}
{LOADS}
{wide}
{pairs_source(precision, packing.bits)}
#define M {m}
#define BIAS {int(bias)}
#define ROWS {rows}
#define ROW_TILES {tiling.row_tiles(m)}
#define TILES {tiling.tiles}
#define WARPGROUPS {tiling.warpgroups}
#define UNITS {tiling.units}
#define STAGES {tiling.stages}
#define ROUNDS {tiling.rounds(k)}
#define RESIDENT {tiling.resident}
#define CLUSTER {tiling.cluster}
#define SPLITS {tiling.splits}
#define ASYNCHRONOUS {int(tiling.asynchronous)}
#define IN_CLUSTERS {"__cluster_dims__(CLUSTER, 1, 1)" if tiling.cluster > 1 else ""}
{CLUSTERED + _REMOTE if tiling.cluster > 1 else ""}
{NUMBERS_OF_FRAGMENTS}
{_SOURCE}"""


_REMOTE = """
__device__ __forceinline__ float4 remote(const float4* mine, int rank) {
  float4 v;
  asm volatile("ld.shared::cluster.v4.f32 {%0,%1,%2,%3}, [%4];"
      : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(place(mine, rank)));
  return v;
}
"""

_SOURCE = """
#define THREADS (128 * WARPGROUPS)
#define COLUMNS (64 * TILES * WARPGROUPS)
#define FRAGMENTS (COLUMNS / 16)
#define PITCH (COLUMNS + 4)
// Pieces of 16 bytes in shared memory: of a unit of all rows, and of weights, scales and zero
// points behind it.
#define ELEMENTS (ROWS * 8)
#define PIECES_OF_A_UNIT (BITS / 4)  // that a thread has
#define WEIGHTS (TILES * PIECES_OF_A_UNIT * THREADS)
#define SCALES (FRAGMENTS * 2 * PER_UNIT)
#define POINTS (ZEROS ? FRAGMENTS * PER_UNIT : 0)
#define WEIGHTS_AT (UNITS * ELEMENTS)
#define SCALES_AT (WEIGHTS_AT + UNITS * WEIGHTS)
#define POINTS_AT (SCALES_AT + UNITS * SCALES)
#define STAGE ((POINTS_AT + UNITS * POINTS + 63) / 64 * 64)
#define ROWS_AT_ONCE (THREADS / (8 * UNITS))
#define WHOLE (ROUNDS * UNITS * CLUSTER * SPLITS * 64 <= K)  // All blocks have all of their units.
static_assert(SCALES <= THREADS, "a thread copies one piece of scales");
// Of two columns.
struct __align__(4 * PER_UNIT) Scales { unsigned pairs[PER_UNIT]; };
struct __align__(2 * PER_UNIT) Zeros { unsigned short pairs[PER_UNIT]; };
struct Held {
  uint4 weights[PIECES_OF_A_UNIT];
  Scales scales;
#if ZEROS
  Zeros zeros;
#endif
};
struct __align__(8) Four { T v[4]; };

__device__ __forceinline__ float4 add(float4 x, float4 y) {
  return {x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w};
}

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(THREADS, RESIDENT) packed_by_warpgroups(
    const T* __restrict__ a, const uint4* __restrict__ b, const uint4* __restrict__ scales,
    const uint4* __restrict__ zeros, const T* __restrict__ bias, T* __restrict__ y,
    float4* __restrict__ parts, unsigned* __restrict__ arrived, int n) {
  extern __shared__ __align__(1024) uint4 memory[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int rank = blockIdx.x % CLUSTER, split = blockIdx.x / CLUSTER % SPLITS;
  const int tile = blockIdx.x / CLUSTER / SPLITS;
  const int first = tile % ROW_TILES * ROWS, whole = tile / ROW_TILES;
  const int here = M - first < ROWS ? M - first : ROWS;  // rows
  const int begin = (split * CLUSTER + rank) * ROUNDS * UNITS;  // the first of the block's units

#if BITS == 4
  // The compiler doesn't know that n isn't negative, so it keeps the mask in a register. It would
  // move a known number there at each use.
  const unsigned low = 0x000f000fu + (n < 0 ? lane : 0);
#endif
  // A thread copies the same pieces of all units, of some rows, and those of its own weights.
  const int row = threadIdx.x / (8 * UNITS), piece = threadIdx.x % (8 * UNITS);
  const int own = warp / 4 * TILES * 4 + warp % 4;  // the first of the warp's fragments
  const int left = (n + 15) / 16 - whole * FRAGMENTS;  // fragments
  const int scales_of = threadIdx.x / (2 * PER_UNIT);
  const long long fragment = (long long)whole * FRAGMENTS;
  const T* const elements_from = a + (long long)(first + row) * K + begin * 64 + piece * 8;
  const uint4* const weights_from =
      b + ((fragment + own) * UNITS_OF_A_ROW + begin) * 32 * PIECES_OF_A_UNIT + lane;
  const uint4* const scales_from =
      scales + (fragment + scales_of) * BLOCKS_OF_A_ROW * (2 * PER_UNIT) +
      threadIdx.x % (2 * PER_UNIT);
#if ZEROS
  const int zeros_of = threadIdx.x / PER_UNIT;
  const uint4* const zeros_from =
      zeros + (fragment + zeros_of) * BLOCKS_OF_A_ROW * PER_UNIT + threadIdx.x % PER_UNIT;
#endif
  uint4* const elements_to = memory + piece / 8 * ELEMENTS + row * 8 + (piece % 8 ^ row % 8);

  // What isn't there isn't read, and becomes zeros.
  auto fetch = [&](int round, int stage) {
    const bool now = round < ROUNDS;
    const T* const elements = elements_from + round * UNITS * 64;
    #pragma unroll
    for (int i = 0; i < ROWS; i += ROWS_AT_ONCE)
      copy_if(now && (i + ROWS_AT_ONCE <= ROWS || row + i < ROWS),
              elements_to + stage * STAGE + i * 8, elements + i * K,
              row + i < here && (WHOLE || (begin + round * UNITS) * 64 + piece * 8 < K));
    #pragma unroll
    for (int u = 0; u < UNITS; ++u) {
      uint4* const to = memory + stage * STAGE + threadIdx.x;
      const int after = round * UNITS + u, block = (begin + after) / PER_BLOCK;
      const bool there = WHOLE || begin + after < UNITS_OF_A_ROW;
      #pragma unroll
      for (int c = 0; c < TILES; ++c)
        #pragma unroll
        for (int q = 0; q < PIECES_OF_A_UNIT; ++q)
          copy_if(now, to + WEIGHTS_AT + u * WEIGHTS + (c * PIECES_OF_A_UNIT + q) * THREADS,
                  weights_from + ((c * 4 * UNITS_OF_A_ROW + after) * PIECES_OF_A_UNIT + q) * 32,
                  there && own + c * 4 < left);
      copy_if(now && threadIdx.x < SCALES, to + SCALES_AT + u * SCALES,
              scales_from + block * (2 * PER_UNIT), there && scales_of < left);
#if ZEROS
      copy_if(now && threadIdx.x < POINTS, to + POINTS_AT + u * POINTS,
              zeros_from + block * PER_UNIT, there && zeros_of < left);
#endif
    }
    commit_copies();
  };
  auto read = [&](const uint4* stage, int u, int c) {
    Held held;
    const int at = (own + c * 4) * 8 + lane / 4;
    #pragma unroll
    for (int q = 0; q < PIECES_OF_A_UNIT; ++q)
      held.weights[q] =
          stage[WEIGHTS_AT + u * WEIGHTS + (c * PIECES_OF_A_UNIT + q) * THREADS + threadIdx.x];
    held.scales = ((const Scales*)(stage + SCALES_AT + u * SCALES))[at];
#if ZEROS
    held.zeros = ((const Zeros*)(stage + POINTS_AT + u * POINTS))[at];
#endif
    return held;
  };
  auto unpack = [&](Held held, unsigned (*pairs)[4]) {
    unsigned words[BITS];
    #pragma unroll
    for (int q = 0; q < PIECES_OF_A_UNIT; ++q) {
      words[4 * q] = held.weights[q].x;
      words[4 * q + 1] = held.weights[q].y;
      words[4 * q + 2] = held.weights[q].z;
      words[4 * q + 3] = held.weights[q].w;
    }
    #pragma unroll
    for (int p = 0; p < PER_UNIT; ++p) {
      Factor factors[2];
      #pragma unroll
      for (int i = 0; i < 2; ++i) {
#if ZEROS
        const unsigned point = held.zeros.pairs[p] >> 8 * i & 255u;
#else
        const unsigned point = 1 << BITS - 1;
#endif
        factors[i] = factor((T)(held.scales.pairs[p] >> 16 * i), point << i * LOWER);
      }
      #pragma unroll
      for (int w = p * 4 / PER_UNIT; w < (p + 1) * 4 / PER_UNIT; ++w) {
#if BITS == 4
        numbers(words[w], low, pairs[w]);
        #pragma unroll
        for (int i = 0; i < 4; ++i) pairs[w][i] = weights(pairs[w][i], factors[i % 2]);
#else
        #pragma unroll
        for (int i = 0; i < 4; ++i)
          pairs[w][i] = pair(words[2 * w + i / 2], i % 2, factors[i % 2]);
#endif
      }
    }
  };

  #pragma unroll
  for (int s = 0; s < STAGES - 2; ++s) fetch(s, s);
  float sums[TILES][ROWS / 2] = {};
  unsigned pairs[ASYNCHRONOUS ? 2 : TILES][4][4];
  int stage = 0, free = STAGES - 2;
  #pragma unroll 1
  for (int round = 0; round < ROUNDS; ++round) {
    wait_for_copies<STAGES - 3>();
    show_copies();
    __syncthreads();
    const uint4* const from = memory + stage * STAGE;
    #pragma unroll
    for (int u = 0; u < UNITS; ++u) {
#if ASYNCHRONOUS
      const Rows rows = described(from + u * ELEMENTS);
      #pragma unroll
      for (int c = 0; c < TILES; ++c) {
        auto& fragments = pairs[(u * TILES + c) % 2];
        const Held held = read(from, u, c);
        wait_for_products<1>();
        // Products of the round before the last have ended, and so their stage is free.
        if (u * TILES + c == 1) fetch(round + STAGES - 2, free);
        unpack(held, fragments);
        order_products();
        #pragma unroll
        for (int w = 0; w < 4; ++w) multiply_rows(sums[c], fragments[w], rows, w);
        commit_products();
      }
#else
      if (u == 0) fetch(round + STAGES - 2, free);
      #pragma unroll
      for (int c = 0; c < TILES; ++c) unpack(read(from, u, c), pairs[c]);
      #pragma unroll
      for (int w = 0; w < 4; ++w)
        #pragma unroll
        for (int r = 0; r < ROWS; r += 16) {
          const int of = r + lane / 16 * 8 + lane % 8;
          unsigned elements[4];
          four(elements, from + u * ELEMENTS + of * 8 + (2 * w + lane / 8 % 2 ^ lane % 8));
          #pragma unroll
          for (int c = 0; c < TILES; ++c) {
            multiply(sums[c] + r / 2, pairs[c][w], elements);
            if (r + 8 < ROWS) multiply(sums[c] + r / 2 + 4, pairs[c][w], elements + 2);
          }
        }
#endif
    }
    stage = stage + 1 < STAGES ? stage + 1 : 0;
    free = free + 1 < STAGES ? free + 1 : 0;
  }

  // The sums of the cluster's blocks.
  wait_for_products<0>();
  wait_for_copies<0>();
  __syncthreads();
  float* const found = (float*)memory;
  #pragma unroll
  for (int c = 0; c < TILES; ++c)
    #pragma unroll
    for (int i = 0; i < ROWS / 2; ++i) {
      const int of = i / 4 * 8 + lane % 4 * 2 + i % 2;
      const int column = (own + c * 4) * 16 + i / 2 % 2 * 8 + lane / 4;
      settled(sums[c][i]);
      found[of * PITCH + column] = i / 2 % 2 ? sums[c][i] * (1.0f / (1 << LOWER)) : sums[c][i];
    }
  __syncthreads();
#if CLUSTER > 1
  together();
#endif
  const int fours = here * COLUMNS / 4;
  auto finish = [&](int at, float4 sum) {
    const int start = whole * COLUMNS + at % (COLUMNS / 4) * 4;
    const float each[4] = {sum.x, sum.y, sum.z, sum.w};
    T* const to = y + (long long)(first + at / (COLUMNS / 4)) * n + start;
    Four rounded;
    #pragma unroll
    for (int i = 0; i < 4; ++i)
      rounded.v[i] = store(each[i] + (BIAS && start + i < n ? load(bias[start + i]) : 0.0f));
    if (n % 4 == 0) {
      if (start < n) *(Four*)to = rounded;
    } else {
      for (int i = 0; i < 4 && start + i < n; ++i) to[i] = rounded.v[i];
    }
  };
#if SPLITS > 1
  float4* const of_tile = parts + (long long)tile * SPLITS * ROWS * COLUMNS / 4;
#endif
  for (int at = rank * THREADS + threadIdx.x; at < fours; at += CLUSTER * THREADS) {
    const float4* const mine =
        (const float4*)(found + at / (COLUMNS / 4) * PITCH) + at % (COLUMNS / 4);
#if CLUSTER > 1
    float4 sum = {};
    #pragma unroll
    for (int i = 0; i < CLUSTER; ++i) sum = add(sum, remote(mine, i));
#else
    const float4 sum = *mine;
#endif
#if SPLITS > 1
    of_tile[split * ROWS * COLUMNS / 4 + at] = sum;
#else
    finish(at, sum);
#endif
  }
#if CLUSTER > 1
  together();  // Nobody leaves before all have read.
#endif
#if SPLITS > 1
  __threadfence();
  __syncthreads();
  bool* const last = (bool*)memory;
  if (threadIdx.x == 0) {
    unsigned* const mine = arrived + tile * CLUSTER + rank;
    *last = atomicAdd(mine, 1) == SPLITS - 1;
    if (*last) *mine = 0;
  }
  __syncthreads();
  if (!*last) return;
  __threadfence();
  for (int at = rank * THREADS + threadIdx.x; at < fours; at += CLUSTER * THREADS) {
    float4 sum = {};
    #pragma unroll
    for (int s = 0; s < SPLITS; ++s)
      sum = add(sum, __ldcg(of_tile + s * ROWS * COLUMNS / 4 + at));
    finish(at, sum);
  }
#endif
}
"""
