"""The source of linear attention: a thread holds some rows of a few columns of a state.

Columns of a state don't depend on each other, so blocks have some each, and only the sums along a
column go from thread to thread. Of the new state s' = g s + k d, the product with the query is
g s q + (q k) d: so both sums, that with the key and that with the query, are over the old state,
and are ready at once.
"""

from benanza_runner.cuda.calls import LinearAttention
from benanza_runner.cuda.kernels.launching import WIDE_BYTES
from benanza_runner.cuda.kernels.recurrences.tiles import StateTile, repeats
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision


def source(precision: Precision, call: LinearAttention, tile: StateTile) -> str:
    """A kernel `attend`, one block for each part of the columns of each state."""
    gates = {"": 0, "head": 1, "key": 2}
    rows, widest = call.size // tile.lanes, WIDE_BYTES // PRECISIONS[precision].bytes
    numbers = {
        "BATCH": call.batch,
        "HEADS": call.heads,
        "QUERY_HEADS": call.query_heads,
        "KEY_HEADS": call.key_heads,
        "REPEATS": repeats(call),
        "SIZE": call.size,
        "WIDTH": call.width,
        "LANES": tile.lanes,
        "COLUMNS": tile.columns,
        "GROUPS": tile.groups,
        "TOKENS": tile.tokens,
        "ROWS": rows,
        "WIDE": next(wide for wide in (widest, 4, 2, 1) if call.size % wide == 0),
        "RUN": next(run for run in (4, 2, 1) if rows % run == 0),
        "GATE": gates[call.gate],
        "DELTA": int(call.delta),
        "BETAS": call.betas,
        "PAST": int(call.past),
        "OUTPUT": int(0 in call.results),
        "STATE": int(1 in call.results),
    }
    defined = "".join(f"#define {name} {number}\n" for name, number in numbers.items())
    return PREAMBLE[precision] + defined + _KERNEL


_KERNEL = """
struct alignas(COLUMNS * sizeof(T)) Columns { T of[COLUMNS]; };
struct alignas(WIDE * sizeof(T)) Wide { T of[WIDE]; };

__device__ __forceinline__ float over_lanes(float v) {
#pragma unroll
  for (int offset = LANES / 2; offset; offset /= 2) v += __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}

// The row of a state that a lane holds as its m-th: runs of several, which are read at once.
__device__ __forceinline__ int row_of(int lane, int m) {
  return m / RUN * (RUN * LANES) + lane * RUN + m % RUN;
}

extern "C" __global__ void attend(const T* __restrict__ query, const T* __restrict__ key,
    const T* __restrict__ value, const T* __restrict__ past, const T* __restrict__ decay,
    const T* __restrict__ beta, T* __restrict__ out, T* __restrict__ present, int length,
    float scale) {
  constexpr int BLOCKS = (WIDTH + GROUPS * COLUMNS - 1) / (GROUPS * COLUMNS);
  constexpr int HEADS_OUT = HEADS * REPEATS;
  alignas(16) __shared__ float keys[TOKENS][SIZE], queries[TOKENS][REPEATS * SIZE];
  __shared__ float values[TOKENS][GROUPS * COLUMNS], betas[TOKENS];
  alignas(16) __shared__ float gates[TOKENS][GATE == 2 ? SIZE : 1];
  const int head = blockIdx.x / BLOCKS % HEADS, batch = blockIdx.x / BLOCKS / HEADS;
  const int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
  const int begin = blockIdx.x % BLOCKS * GROUPS * COLUMNS;
  const int column = begin + group * COLUMNS;
  const bool mine = group < GROUPS && column < WIDTH;
  const int inside = group < GROUPS ? group * COLUMNS : 0;
  const long long of_state = (long long)(batch * HEADS + head) * SIZE * WIDTH + column;
  float s[ROWS][COLUMNS];
#pragma unroll
  for (int m = 0; m < ROWS; ++m) {
    Columns read = {};
    if (PAST && mine) read = *(const Columns*)(past + of_state + row_of(lane, m) * WIDTH);
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) s[m][j] = PAST && mine ? load(read.of[j]) : 0.0f;
  }
  for (int first = 0; first < length; first += TOKENS) {
    const int count = min(TOKENS, length - first);
    __syncthreads();
    constexpr int PARTS = SIZE / WIDE;
#pragma unroll 4
    for (int i = threadIdx.x; i < count * PARTS; i += blockDim.x) {
      const int t = i / PARTS, row = i % PARTS * WIDE, token = batch * length + first + t;
      const int from = head * KEY_HEADS / HEADS;
      const Wide k = *(const Wide*)(key + ((long long)token * KEY_HEADS + from) * SIZE + row);
      for (int j = 0; j < WIDE; ++j) keys[t][row + j] = load(k.of[j]);
      if (GATE == 2) {
        const Wide g = *(const Wide*)(decay + ((long long)token * HEADS + head) * SIZE + row);
        for (int j = 0; j < WIDE; ++j) gates[t][row + j] = expf(load(g.of[j]));
      }
    }
#pragma unroll 4
    for (int i = threadIdx.x; i < count * REPEATS * PARTS; i += blockDim.x) {
      const int t = i / (REPEATS * PARTS), row = i % (REPEATS * PARTS) * WIDE;
      const int token = batch * length + first + t;
      const int from = REPEATS > 1 ? head * REPEATS : head * QUERY_HEADS / HEADS;
      const Wide q = *(const Wide*)(query + ((long long)token * QUERY_HEADS + from) * SIZE + row);
      for (int j = 0; j < WIDE; ++j) queries[t][row + j] = load(q.of[j]);
    }
    for (int i = threadIdx.x; i < count * GROUPS; i += blockDim.x) {
      const int t = i / GROUPS, at = i % GROUPS * COLUMNS;
      const long long token = batch * length + first + t;
      if (begin + at < WIDTH) {
        const Columns v = *(const Columns*)(value + (token * HEADS + head) * WIDTH + begin + at);
        for (int j = 0; j < COLUMNS; ++j) values[t][at + j] = load(v.of[j]);
      }
    }
    for (int t = threadIdx.x; t < count; t += blockDim.x) {
      const long long token = batch * length + first + t;
      if (GATE == 1) gates[t][0] = expf(load(decay[token * HEADS + head]));
      if (DELTA) betas[t] = load(beta[token * BETAS + (BETAS > 1 ? head : 0)]);
    }
    __syncthreads();
    for (int t = 0; t < count; ++t) {
      const int token = batch * length + first + t;
      float k[ROWS], d[COLUMNS];
#pragma unroll
      for (int m = 0; m < ROWS; ++m) {
        k[m] = keys[t][row_of(lane, m)];
        const float g = GATE ? gates[t][GATE == 2 ? row_of(lane, m) : 0] : 1.0f;
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) s[m][j] *= g;
      }
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) {
        d[j] = values[t][inside + j];
        if (DELTA) {
          float sum = 0.0f;
#pragma unroll
          for (int m = 0; m < ROWS; ++m) sum = fmaf(s[m][j], k[m], sum);
          d[j] = betas[t] * (d[j] - over_lanes(sum));
        }
      }
#if OUTPUT
#pragma unroll
      for (int r = 0; r < REPEATS; ++r) {
        float both = 0.0f, sums[COLUMNS] = {};
#pragma unroll
        for (int m = 0; m < ROWS; ++m) {
          const float q = queries[t][r * SIZE + row_of(lane, m)];
          both = fmaf(q, k[m], both);
#pragma unroll
          for (int j = 0; j < COLUMNS; ++j) sums[j] = fmaf(q, s[m][j], sums[j]);
        }
        both = over_lanes(both);
        Columns written;
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
          written.of[j] = store(scale * fmaf(both, d[j], over_lanes(sums[j])));
        if (mine && lane == 0)
          *(Columns*)(out + ((long long)token * HEADS_OUT + head * REPEATS + r) * WIDTH + column)
              = written;
      }
#endif
#pragma unroll
      for (int m = 0; m < ROWS; ++m)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) s[m][j] = fmaf(k[m], d[j], s[m][j]);
    }
  }
#if STATE
#pragma unroll
  for (int m = 0; m < ROWS; ++m) {
    Columns written;
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) written.of[j] = store(s[m][j]);
    if (mine) *(Columns*)(present + of_state + row_of(lane, m) * WIDTH) = written;
  }
#endif
}
"""
