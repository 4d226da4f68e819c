"""A kernel for an expert's product of few rows: warps have a few rows of weights, which they read
once, unpack in registers and multiply with all rows of a tile.
"""

from benanza_runner.cuda.calls import MixtureOfExperts
from benanza_runner.cuda.kernels.experts.matrices_source import TILES_OF_ROUTES, product_source
from benanza_schemas.layer import Precision

ROWS_THREADS = 128


def rows_source(
    precision: Precision, call: MixtureOfExperts, *, down: bool, rows: int, columns: int
) -> str:
    """The kernel `expert_rows` for tiles of so many rows and for so many columns of a warp, an even
    number.

    With no rows, blocks don't share experts: in the first product a block has a route, in the
    second one a row of the result, for which it adds up what the row's experts make.
    """
    return f"""{product_source(precision, call, down=down)}
#define THREADS {ROWS_THREADS}
#define BY_ROW {int(rows == 0)}
#define ROWS {max(rows, 1)}
#define COLUMNS {columns}
{TILES_OF_ROUTES}
{_SOURCE}"""


_SOURCE = """
#if FLOATS
#define UNIT PIECE
#else
#define UNIT PER_WORD
#endif
#define UNIT_BYTES (UNIT * (int)sizeof(T))
struct __align__(UNIT_BYTES < 16 ? UNIT_BYTES : 16) Unit { T v[UNIT]; };
union Words { uint4 all; unsigned word[4]; T element[16 / sizeof(T)]; };

struct Given {
  const T* x;
  const uint4* weights;
  const T* scales;
  const unsigned char* zeros;
};

// Adds the lane's part of the products of rows, whose numbers are given, with the warp's columns.
__device__ __forceinline__ void add(float (*sums)[COLUMNS], const Given& given, int expert,
    int column, const int* rows, int count, float share) {
  const long long line = (long long)expert * N + column;
  #pragma unroll 2
  for (int piece = threadIdx.x % 32; piece < PIECES; piece += 32) {
    Words words[COLUMNS];
#if !FLOATS
    float scale[COLUMNS], zero[COLUMNS];
#endif
    #pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
      words[c].all = __ldg(given.weights + (line + c) * PIECES + piece);
#if !FLOATS
      const int block = piece * PIECE / BLOCK;
      scale[c] = share * load(given.scales[(line + c) * BLOCKS + block]);
      zero[c] = number(zero_of(given.zeros, line + c, block));
#endif
    }
    #pragma unroll
    for (int u = 0; u < PIECE / UNIT; ++u) {
      float weights[COLUMNS][UNIT];
      #pragma unroll
      for (int c = 0; c < COLUMNS; ++c)
        #pragma unroll
        for (int i = 0; i < UNIT; ++i)
#if FLOATS
          weights[c][i] = share * load(words[c].element[i]);
#else
          weights[c][i] =
              scale[c] * (number(words[c].word[u] >> i * BITS & (1 << BITS) - 1) - zero[c]);
#endif
      #pragma unroll
      for (int r = 0; r < ROWS; ++r)
        if (r < count) {
          const Unit read =
              *(const Unit*)(given.x + (long long)rows[r] * K + piece * PIECE + u * UNIT);
          #pragma unroll
          for (int i = 0; i < UNIT; ++i) {
            const float v = load(read.v[i]);
            #pragma unroll
            for (int c = 0; c < COLUMNS; ++c) sums[r][c] += v * weights[c][i];
          }
        }
    }
  }
}

// Sums over the lanes of the warp, of which the first writes what they make.
__device__ __forceinline__ void finish(float* sums, T* y) {
  #pragma unroll
  for (int c = 0; c < COLUMNS; ++c)
    for (int step = 16; step; step /= 2) sums[c] += __shfl_xor_sync(0xffffffffu, sums[c], step);
  if (threadIdx.x % 32) return;
  #pragma unroll
  for (int c = 0; c < COLUMNS; c += 1 + PAIRS)
    y[c / (1 + PAIRS)] = store(finished(sums[c], sums[c + PAIRS]));
}

extern "C" __global__ void expert_rows(const T* __restrict__ x, const uint4* __restrict__ weights,
    const T* __restrict__ scales, const unsigned char* __restrict__ zeros,
    const T* __restrict__ bias, const int* __restrict__ places, const int* __restrict__ order,
    const float* __restrict__ shares, T* __restrict__ y) {
  const int column = (blockIdx.x * THREADS + threadIdx.x) / 32 * COLUMNS;
  const Given given = {x, weights, scales, zeros};
  float sums[ROWS][COLUMNS] = {};
#if BY_ROW
  if (column >= N) return;
  const int own = blockIdx.y, routes = DOWN_PRODUCT ? TOP_K : 1;
  for (int k = 0; k < routes; ++k) {
    const int route = own * routes + k, expert = places[route];
    const int row = DOWN_PRODUCT ? route : route / TOP_K;
    const float share = DOWN_PRODUCT ? shares[route] : 1.0f;
    add(sums, given, expert, column, &row, 1, share);
    if (BIAS && threadIdx.x % 32 == 0)
      for (int c = 0; c < COLUMNS; ++c)
        sums[0][c] += share * load(bias[(long long)expert * N + column + c]);
  }
  finish(sums[0], y + (long long)own * WIDTH + column / (1 + PAIRS));
#else
  const Tile tile = tile_of(places, blockIdx.y);
  if (tile.count == 0 || column >= N) return;
  int rows[ROWS];
  #pragma unroll
  for (int r = 0; r < ROWS; ++r)
    rows[r] = r < tile.count ? row_read(order, tile.first + r) : 0;
  add(sums, given, tile.expert, column, rows, tile.count, 1.0f);
  #pragma unroll
  for (int r = 0; r < ROWS; ++r)
    if (r < tile.count) {
      if (BIAS && threadIdx.x % 32 == 0)
        for (int c = 0; c < COLUMNS; ++c)
          sums[r][c] += load(bias[(long long)tile.expert * N + column + c]);
      const long long line = row_written(order, tile.first + r);
      finish(sums[r], y + line * WIDTH + column / (1 + PAIRS));
    }
#endif
}
"""
