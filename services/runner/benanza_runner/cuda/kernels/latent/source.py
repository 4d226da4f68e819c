"""The source of the kernel for attention to vectors that are keys and values at once.

A block has some rows, a row being a query of one of the heads that a vector serves, and goes
through some vectors at a time, which its warps copy to shared memory some rounds ahead, once for
both uses. Warps share the scores out by rows and vectors, and the sums of values by columns. Blocks
share the vectors out, and the last one merges what all found. Sources: "FlashMLA" (DeepSeek, 2025)
for the idea of one copy; the layouts of `mma.m16n8k16` and `ldmatrix` in NVIDIA's PTX ISA.
"""

from typing import NamedTuple

from benanza_runner.cuda.kernels.source.attention.scores import Scoring, scoring_source
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.kernels.source.tensor_cores import LOADS, instructions
from benanza_schemas.layer import Precision

WARPS = 8
"""Of a block."""


class Shape(NamedTuple):
    """A block's rows, vectors of a round, and rounds in shared memory."""

    rows: int
    keys: int
    stages: int


def shared_bytes(size: int, shape: Shape) -> int:
    """The shared memory of a block, for vectors of so many elements of two bytes."""
    line = size + 8 * (1 + size // 8 % 2)
    return (
        2 * line * (shape.rows + shape.stages * shape.keys)
        + 2 * shape.rows * (shape.keys + 8)
        + 4 * shape.rows * shape.keys
    )


def source(precision: Precision, size: int, width: int, shape: Shape, scoring: Scoring) -> str:
    """The kernel for vectors of this size, the first `width` elements of which are values."""
    return f"""{PREAMBLE[precision]}
#define SIZE {size}
#define WIDTH {width}
#define ROWS {shape.rows}
#define KEYS {shape.keys}
#define STAGES {shape.stages}
#define WARPS {WARPS}
{scoring_source(scoring)}
{instructions(precision)}{LOADS}
{_SOURCE}"""


_SOURCE = """
#define THREADS (32 * WARPS)
#define LINE (SIZE + 8 * (1 + SIZE / 8 % 2))  // odd in 16 bytes: rows don't collide
#define SHARES (KEYS + 8)
#define LANES (THREADS / ROWS)  // that look at a row's scores
#define TILES (ROWS / 16)
#define OWN (WIDTH / WARPS)  // columns of a warp

// The largest or the sum of what so many lanes that follow each other have.
__device__ __forceinline__ float over_lanes(float v, int lanes, bool largest) {
  for (int offset = 1; offset < lanes; offset *= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, v, offset);
    v = largest ? fmaxf(v, other) : v + other;
  }
  return v;
}

extern "C" __global__ void __launch_bounds__(THREADS) attend(const T* __restrict__ query,
    const T* __restrict__ key, const M* __restrict__ mask, const T* __restrict__ sinks,
    T* __restrict__ result, float* __restrict__ parts, unsigned* __restrict__ arrived, float scale,
    float when_true, float when_false, float cap, unsigned key_heads, unsigned group,
    unsigned queries, unsigned keys, unsigned splits, unsigned per_split, unsigned before,
    unsigned window, Step qb, Step qh, Step qr, Step kb, Step kh, Step kr,
    Step mb, Step mh, Step mr, Step mc, Step yb, Step yh, Step yr, Step yc) {
  extern __shared__ __align__(16) T memory[];
  __shared__ float factor_of[ROWS], sum_of[ROWS];
  __shared__ bool last;
  T* const held = memory;
  T* const rounds_of = held + ROWS * LINE;
  T* const shares = rounds_of + STAGES * KEYS * LINE;
  float* const scores = (float*)(shares + ROWS * SHARES);
  const unsigned rows = queries * group, tiles = (rows + ROWS - 1) / ROWS;
  const unsigned split = blockIdx.x % splits, whole = blockIdx.x / splits;
  const unsigned tile = whole % tiles, head = whole / tiles % key_heads;
  const unsigned batch = whole / tiles / key_heads;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned first = split * per_split, end = min(keys, (split + 1) * per_split);
  const unsigned rounds = first < end ? (end - first + KEYS - 1) / KEYS : 0;
  key += batch * kb + head * kh;

  for (unsigned chunk = threadIdx.x; chunk < ROWS * SIZE / 8; chunk += THREADS) {
    const unsigned local = chunk / (SIZE / 8), c = chunk % (SIZE / 8) * 8;
    const unsigned row = tile * ROWS + local, at = row < rows ? row : 0;
    const T* const from = query + batch * qb + (head * group + at % group) * qh + at / group * qr;
    copy(held + local * LINE + c, from + c, row < rows);
  }
  auto fetch = [&](unsigned round) {
    if (round < rounds) {
      T* const to = rounds_of + round % STAGES * KEYS * LINE;
      const unsigned start = first + round * KEYS;
      for (unsigned chunk = threadIdx.x; chunk < KEYS * SIZE / 8; chunk += THREADS) {
        const unsigned row = chunk / (SIZE / 8), c = chunk % (SIZE / 8) * 8;
        const bool there = start + row < end;
        copy(to + row * LINE + c, key + (there ? start + row : start) * kr + c, there);
      }
    }
    commit_copies();
  };
  #pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) fetch(s);

  // The row that this thread looks at, with others.
  const unsigned looked_at = threadIdx.x / LANES;
  float most = NONE, sum = 0.0f;
#if SINKS
  // One split of all counts them.
  if (split == 0) {
    most = load(sinks[head * group + (tile * ROWS + looked_at) % group]);
    sum = 1.0f;
  }
#endif
  float out[TILES][OWN / 8][4];
  #pragma unroll
  for (int t = 0; t < TILES; ++t)
    #pragma unroll
    for (int c = 0; c < OWN / 8; ++c)
      out[t][c][0] = out[t][c][1] = out[t][c][2] = out[t][c][3] = 0.0f;

  for (unsigned round = 0; round < rounds; ++round) {
    wait_for_copies<STAGES - 2>();
    __syncthreads();
    fetch(round + STAGES - 1);
    const T* const vectors = rounds_of + round % STAGES * KEYS * LINE;
    for (unsigned unit = warp; unit < TILES * KEYS / 16; unit += WARPS) {
      const unsigned t = unit % TILES, part = unit / TILES;
      float score[2][4] = {};
      #pragma unroll 4
      for (int k = 0; k < SIZE / 16; ++k) {
        unsigned a[4], b[4];
        four(a, held + (t * 16 + lane % 16) * LINE + k * 16 + lane / 16 * 8);
        four(b, vectors + (part * 16 + lane % 8 + lane / 16 * 8) * LINE + k * 16
                + lane / 8 % 2 * 8);
        multiply(score[0], a, b);
        multiply(score[1], a, b + 2);
      }
      #pragma unroll
      for (int n = 0; n < 2; ++n) {
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          const unsigned place = part * 16 + n * 8 + lane % 4 * 2 + i % 2;
          const unsigned local = t * 16 + lane / 4 + i / 2 * 8, row = tile * ROWS + local;
          const unsigned at = first + round * KEYS + place;
          float s = capped(scale * score[n][i], cap);
#if MASK
          if (row < rows && at < end) {
            const M added = mask[batch * mb + (head * group + row % group) * mh
                                 + row / group * mr + at * mc];
#if CHOSEN
            s += added ? when_true : when_false;
#else
            s += load(added);
#endif
          }
#endif
          const bool unseen = at >= end || hidden(at, row / group + before, window);
          scores[local * KEYS + place] = unseen ? NONE : s;
        }
      }
    }
    __syncthreads();
    float found = NONE;
    for (unsigned j = threadIdx.x % LANES; j < KEYS; j += LANES)
      found = fmaxf(found, scores[looked_at * KEYS + j]);
    const float larger = fmaxf(most, over_lanes(found, LANES, true));
    const float base = larger == NONE ? 0.0f : larger;
    const float factor = __expf(most - base);
    float added = 0.0f;
    for (unsigned j = threadIdx.x % LANES; j < KEYS; j += LANES) {
      const float share = __expf(scores[looked_at * KEYS + j] - base);
      shares[looked_at * SHARES + j] = store(share);
      added += share;
    }
    most = larger;
    sum = sum * factor + over_lanes(added, LANES, false);
    if (threadIdx.x % LANES == 0) factor_of[looked_at] = factor;
    __syncthreads();
    #pragma unroll
    for (int t = 0; t < TILES; ++t) {
      const float low = factor_of[t * 16 + lane / 4], high = factor_of[t * 16 + lane / 4 + 8];
      #pragma unroll
      for (int c = 0; c < OWN / 8; ++c) {
        out[t][c][0] *= low;
        out[t][c][1] *= low;
        out[t][c][2] *= high;
        out[t][c][3] *= high;
      }
    }
    #pragma unroll 2
    for (int part = 0; part < KEYS / 16; ++part) {
      unsigned a[TILES][4];
      #pragma unroll
      for (int t = 0; t < TILES; ++t)
        four(a[t], shares + (t * 16 + lane % 16) * SHARES + part * 16 + lane / 16 * 8);
      #pragma unroll
      for (int c = 0; c < OWN / 8; c += 2) {
        unsigned b[4];
        four_turned(b, vectors + (part * 16 + lane % 16) * LINE + warp * OWN + c * 8
                       + lane / 16 * 8);
        #pragma unroll
        for (int t = 0; t < TILES; ++t) {
          multiply(out[t][c], a[t], b);
          multiply(out[t][c + 1], a[t], b + 2);
        }
      }
    }
  }

  wait_for_copies<0>();
  const unsigned present = min((unsigned)ROWS, rows - tile * ROWS), part = ROWS * (WIDTH + 2);
  float* const mine = parts + (Step)blockIdx.x * part;
  if (threadIdx.x % LANES == 0) {
    if (splits > 1) {
      mine[ROWS * WIDTH + looked_at] = most;
      mine[ROWS * WIDTH + ROWS + looked_at] = sum;
    }
    sum_of[looked_at] = sum == 0.0f ? 0.0f : 1.0f / sum;
  }
  __syncthreads();
  #pragma unroll
  for (int t = 0; t < TILES; ++t)
    #pragma unroll
    for (int c = 0; c < OWN / 8; ++c)
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        const unsigned local = t * 16 + lane / 4 + i / 2 * 8, at = tile * ROWS + local;
        const unsigned column = warp * OWN + c * 8 + lane % 4 * 2 + i % 2;
        if (local >= present) continue;
        if (splits > 1)
          mine[local * WIDTH + column] = out[t][c][i];
        else
          result[batch * yb + (head * group + at % group) * yh + at / group * yr + column * yc] =
              store(out[t][c][i] * sum_of[local]);
      }
  if (splits == 1) return;

  // The block that arrives last merges what all have found.
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(arrived + whole, 1) == splits - 1;
    if (last) arrived[whole] = 0;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  const float* const found_by = parts + (Step)whole * splits * part;
  float* const factors = (float*)memory;  // of each part and row
  if (looked_at < present) {
    const float* const highest = found_by + ROWS * WIDTH + looked_at;
    float larger = NONE;
    for (unsigned s = 0; s < splits; ++s) larger = fmaxf(larger, __ldcg(highest + s * part));
    float all = 0.0f;
    for (unsigned s = 0; s < splits; ++s) {
      const float most_seen = __ldcg(highest + s * part);
      const float factor = most_seen == NONE ? 0.0f : __expf(most_seen - larger);
      if (threadIdx.x % LANES == 0) factors[s * ROWS + looked_at] = factor;
      all += factor * __ldcg(highest + s * part + ROWS);
    }
    if (threadIdx.x % LANES == 0) sum_of[looked_at] = all == 0.0f ? 0.0f : 1.0f / all;
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < present * WIDTH / 4; i += THREADS) {
    const unsigned row = i / (WIDTH / 4), column = i % (WIDTH / 4) * 4, at = tile * ROWS + row;
    float found[4] = {};
    #pragma unroll 8
    for (unsigned s = 0; s < splits; ++s) {
      const float4 four = __ldcg((const float4*)(found_by + s * part) + i);
      const float factor = factors[s * ROWS + row];
      found[0] += factor * four.x;
      found[1] += factor * four.y;
      found[2] += factor * four.z;
      found[3] += factor * four.w;
    }
    T* const to = result + batch * yb + (head * group + at % group) * yh + at / group * yr;
    #pragma unroll
    for (int j = 0; j < 4; ++j) to[(column + j) * yc] = store(found[j] * sum_of[row]);
  }
}
"""
