"""The source of the kernel that shares the keys of attention out over blocks.

A warp has sixteen rows, a row being a query of one of the heads that a key serves, and goes through
sixteen keys at a time, which it copies to shared memory some rounds ahead. Scores and sums of
values are products of Tensor Cores. What warps and blocks found is merged by the largest score that
each has seen. Keys and values that are stored as codes become fp16 in registers; their scales are
those of queries and of sums. Sources: "Flash-Decoding for long-context inference" (Dao et al.,
2023); the layouts of `mma.m16n8k16` and `ldmatrix` in NVIDIA's PTX ISA.
"""

from benanza_runner.cuda.kernels.source.attention.cache_codes import codes_source
from benanza_runner.cuda.kernels.source.attention.cached_rows import rows_source
from benanza_runner.cuda.kernels.source.attention.merging import MERGING
from benanza_runner.cuda.kernels.source.attention.scores import Scoring, scoring_source
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.kernels.source.tensor_cores import LOADS, instructions
from benanza_schemas.layer import Precision

ROWS = 16
"""Rows of a block."""

KEYS = 16
"""Keys of a warp's round."""

WARPS = 4
"""Of a block."""

PADDING = 8
"""Behind a row's sums of values in shared memory: four rows don't collide."""


def source(precision: Precision, size: int, stages: int, scoring: Scoring) -> str:
    """The kernel for heads of this size, and so many rounds of keys in shared memory."""
    return f"""{PREAMBLE[precision]}
#define SIZE {size}
#define STAGES {stages}
#define WARPS {WARPS}
#define WIDE (SIZE + {PADDING})
{scoring_source(scoring)}
{instructions("fp16" if scoring.stored else precision)}{LOADS}
{codes_source(scoring.stored)}{rows_source(scoring.stored)}
{_SOURCE}{MERGING}"""


_SOURCE = """
#define PART (16 * LINE)
#define COLUMNS (SIZE / 8)

// The largest or the sum of what so many lanes that follow each other have.
__device__ __forceinline__ float over_lanes(float v, int lanes, bool largest) {
  for (int offset = 1; offset < lanes; offset *= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, v, offset);
    v = largest ? fmaxf(v, other) : v + other;
  }
  return v;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) attend(const T* __restrict__ query,
    const C* __restrict__ key, const C* __restrict__ value, const M* __restrict__ mask,
    const T* __restrict__ sinks, const T* __restrict__ query_bias,
    const T* __restrict__ value_bias, const float* __restrict__ key_scales,
    const float* __restrict__ value_scales, T* __restrict__ result, PAGES
    float* __restrict__ parts, unsigned* __restrict__ arrived,
    float scale, float when_true, float when_false, float cap,
    unsigned key_heads, unsigned group, unsigned queries, unsigned keys, unsigned splits,
    unsigned per_split, unsigned before, unsigned window,
    Step qb, Step qh, Step qr, Step kb, Step kh, Step kr, Step vb, Step vh, Step vr,
    Step mb, Step mh, Step mr, Step mc, Step yb, Step yh, Step yr, Step yc) {
  extern __shared__ __align__(16) char memory[];
  __shared__ float most_of[WARPS][16], sum_of[WARPS][16];
  __shared__ bool last;
  const unsigned tiles = (queries * group + 15) / 16;
  const unsigned split = blockIdx.x % splits, whole = blockIdx.x / splits;
  const unsigned tile = whole % tiles, head = whole / tiles % key_heads;
  const unsigned batch = whole / tiles / key_heads;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#if PAGED
  table += batch * width;
  query += ends[batch] * qr;
  result += ends[batch] * yr;
  queries = ends[batch + 1] - ends[batch];
  before = past[batch];
  keys = before + queries;
#endif
  const unsigned rows = queries * group;
  // Sixteen keys that begin here lie in one block.
  const unsigned begin = (PAGED ? unseen(before, window) / 16 * 16 : 0) + split * per_split;
  const unsigned end = min(keys, begin + per_split);
  key += batch * kb + head * kh;
  value += batch * vb + head * vh;

  // The queries as fragments of 16 rows and 16 columns.
  unsigned q[SIZE / 16][4];
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned row = tile * 16 + lane / 4 + i % 2 * 8;
    const T* mine = query + batch * qb + (head * group + row % group) * qh + row / group * qr;
    #pragma unroll
    for (int k = 0; k < SIZE / 16; ++k) {
      const unsigned column = query_column(k, i, lane);
#if BIASED || QUANTISED
      const unsigned beside = column + BESIDE;
      q[k][i] = 0;
      if (row < rows) {
        const unsigned own = (head * group + row % group) * SIZE, of_keys = head * SIZE;
        q[k][i] = packed(biased(load(mine[column]), query_bias, own + column)
                             * key_scale(key_scales, of_keys + column),
                         biased(load(mine[beside]), query_bias, own + beside)
                             * key_scale(key_scales, of_keys + beside));
      }
#else
      q[k][i] = row < rows ? *(const unsigned*)(mine + column) : 0;
#endif
    }
  }
  float most[2] = {NONE, NONE}, sum[2] = {0.0f, 0.0f};
#if SINKS
  // One warp of all counts them.
  if (split == 0 && warp == 0) {
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
      most[h] = load(sinks[head * group + (tile * 16 + lane / 4 + 8 * h) % group]);
      sum[h] = 1.0f;
    }
  }
#endif
  float out[COLUMNS][4];
  #pragma unroll
  for (int c = 0; c < COLUMNS; ++c)
    out[c][0] = out[c][1] = out[c][2] = out[c][3] = 0.0f;

  char* const own = memory + warp * STAGES * 2 * PART;
  const unsigned first = begin + warp * 16, step = WARPS * 16;
  const unsigned rounds = first < end ? (end - first + step - 1) / step : 0;
  // Where the keys of the next round are is read a round before they are.
  Step ahead = rounds > 0 ? row_of(first) : 0;
  auto fetch = [&](unsigned round) {
    if (round < rounds) {
      char* const to = own + round % STAGES * 2 * PART;
      const unsigned start = first + round * step;
      const Step place = ahead;
      if (round + 1 < rounds) ahead = row_of(start + step);
      #pragma unroll
      for (int i = 0; i < ROW / 32; ++i) {
        const unsigned chunk = i * 32 + lane, row = chunk / (ROW / 16), c = chunk % (ROW / 16) * 16;
        const bool there = start + row < end;
        const Step at = there ? place + row : place;
        copy(to + row * LINE + c, (const char*)(key + at * kr) + c, there);
        copy(to + PART + row * LINE + c, (const char*)(value + at * vr) + c, there);
      }
    }
    commit_copies();
  };
  #pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) fetch(s);

  for (unsigned round = 0; round < rounds; ++round) {
    wait_for_copies<STAGES - 2>();
    __syncwarp();
    fetch(round + STAGES - 1);
    const char* const k_part = own + round % STAGES * 2 * PART;
    const char* const v_part = k_part + PART;
    float score[2][4] = {};
    #pragma unroll
    for (int k = 0; k < SIZE / 16; k += STEPS) {
      unsigned b[STEPS][4];
      keys_at(b, k_part, k, lane);
      #pragma unroll
      for (int s = 0; s < STEPS; ++s) {
        multiply(score[0], q[k + s], b[s]);
        multiply(score[1], q[k + s], b[s] + 2);
      }
    }
    const unsigned start = first + round * step;
    #pragma unroll
    for (int n = 0; n < 2; ++n) {
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        const unsigned at = start + n * 8 + lane % 4 * 2 + i % 2;
        const unsigned row = tile * 16 + lane / 4 + i / 2 * 8;
        float s = capped(scale * score[n][i], cap);
#if MASK
        if (row < rows && at < end) {
          const M added = mask[batch * mb + (head * group + row % group) * mh + row / group * mr
                               + at * mc];
#if CHOSEN
          s += added ? when_true : when_false;
#else
          s += load(added);
#endif
        }
#endif
        score[n][i] = at >= end || hidden(at, row / group + before, window) ? NONE : s;
      }
    }
    float factor[2];
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float found = fmaxf(fmaxf(score[0][2 * h], score[0][2 * h + 1]),
                                fmaxf(score[1][2 * h], score[1][2 * h + 1]));
      const float larger = fmaxf(most[h], over_lanes(found, 4, true));
      const float base = larger == NONE ? 0.0f : larger;
      factor[h] = __expf(most[h] - base);
      most[h] = larger;
      float added = 0.0f;
      #pragma unroll
      for (int n = 0; n < 2; ++n)
        #pragma unroll
        for (int i = 2 * h; i < 2 * h + 2; ++i)
          added += score[n][i] = __expf(score[n][i] - base);
      sum[h] = sum[h] * factor[h] + over_lanes(added, 4, false);
    }
    const unsigned share[4] = {packed(score[0][0], score[0][1]), packed(score[0][2], score[0][3]),
                               packed(score[1][0], score[1][1]), packed(score[1][2], score[1][3])};
    #pragma unroll
    for (int c = 0; c < COLUMNS; c += TILES) {
      unsigned b[TILES][2];
      values_at(b, v_part, c, lane);
      #pragma unroll
      for (int n = 0; n < TILES; ++n) {
        out[c + n][0] *= factor[0];
        out[c + n][1] *= factor[0];
        out[c + n][2] *= factor[1];
        out[c + n][3] *= factor[1];
        multiply(out[c + n], share, b[n]);
      }
    }
    __syncwarp();
  }

  // The block's warps are merged: each scales what it has to the largest score of all.
  wait_for_copies<0>();
  if (lane % 4 == 0) {
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
      most_of[warp][lane / 4 + 8 * h] = most[h];
      sum_of[warp][lane / 4 + 8 * h] = sum[h];
    }
  }
  __syncthreads();
  const unsigned part = 16 * (SIZE + 2), left = tile * 16;
  const unsigned present = left < rows ? min(16u, rows - left) : 0;
  float* const sums = (float*)memory;
  #pragma unroll
  for (int h = 0; h < 2; ++h) {
    const unsigned row = lane / 4 + 8 * h;
    if (row >= present) continue;
    float larger = most_of[0][row];
    #pragma unroll
    for (int w = 1; w < WARPS; ++w) larger = fmaxf(larger, most_of[w][row]);
    const float factor = most[h] == NONE ? 0.0f : __expf(most[h] - larger);
    #pragma unroll
    for (int c = 0; c < COLUMNS; ++c)
      #pragma unroll
      for (int i = 0; i < 2; ++i)
        sums[(warp * 16 + row) * WIDE + result_column(c, i, lane)] = factor * out[c][2 * h + i];
  }
  __syncthreads();
  float* const mine = parts + (Step)blockIdx.x * part;
  for (unsigned i = threadIdx.x; i < present * SIZE; i += 32 * WARPS) {
    const unsigned row = i / SIZE, column = i % SIZE;
    float larger = most_of[0][row], all = 0.0f, found = 0.0f;
    for (int w = 1; w < WARPS; ++w) larger = fmaxf(larger, most_of[w][row]);
    for (int w = 0; w < WARPS; ++w) {
      found += sums[(w * 16 + row) * WIDE + column];
      if (most_of[w][row] != NONE) all += sum_of[w][row] * __expf(most_of[w][row] - larger);
    }
    found *= value_scale(value_scales, head * SIZE + column);
    if (splits > 1) {
      mine[i] = found;
      if (column == 0) {
        mine[16 * SIZE + row] = larger;
        mine[16 * SIZE + 16 + row] = all;
      }
    } else {
      const unsigned at = tile * 16 + row;
      result[batch * yb + (head * group + at % group) * yh + at / group * yr + column * yc] =
          store(biased(all == 0.0f ? 0.0f : found / all, value_bias,
                       (head * group + at % group) * SIZE + column));
    }
  }
  if (splits == 1) return;
"""
