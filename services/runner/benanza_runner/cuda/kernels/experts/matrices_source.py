"""What kernels of an expert's product begin with: its matrices, its routes, and what follows it."""

from benanza_runner.cuda.calls import ExpertMatrices, MixtureOfExperts
from benanza_runner.cuda.kernels.source.packed_weights import WeightPacking, packed_weights_source
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.lowering.elementwise.expressions import literal
from benanza_runner.cuda.lowering.products.activations import expression
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision


def product_source(precision: Precision, call: MixtureOfExperts, *, down: bool) -> str:
    """The beginning of a source for the first product, or for the second one if `down`.

    Besides what `packed_weights_source` defines, which is also there where weights are floats:
    `FLOATS` says that they are; `WIDTH` is the length of a row of the product's result; `finished`
    makes an element of it from one sum, or from the two of a pair if `PAIRS`.
    """
    matrices = call.down if down else call.up
    gated = call.gated and not down
    activation = "v" if down else expression(call.activation, call.numbers, "v")
    return f"""{_matrices(precision, matrices)}
#define EXPERTS {call.experts}
#define TOP_K {call.top_k}
#define N {matrices.n}
#define BIAS {int(matrices.bias)}
#define DOWN_PRODUCT {int(down)}
#define PAIRS {int(gated)}
#define WIDTH {matrices.n // 2 if gated else matrices.n}
__device__ __forceinline__ float activated(float v) {{ return {activation}; }}
__device__ __forceinline__ float finished(float v, float linear) {{
#if PAIRS
  const float limit = {literal(call.limit)};
  return activated(fminf(v, limit)) * (fminf(fmaxf(linear, -limit), limit) + {literal(call.beta)});
#else
  return activated(v);
#endif
}}
"""


def _matrices(precision: Precision, matrices: ExpertMatrices) -> str:
    if matrices.bits:
        packing = WeightPacking(matrices.bits, matrices.block, matrices.zeros)
        return "#define FLOATS 0\n" + packed_weights_source(precision, matrices.k, packing)
    return f"""{PREAMBLE[precision]}
#define FLOATS 1
#define K {matrices.k}
#define BLOCKS 1
#define PIECE {16 // PRECISIONS[precision].bytes}
#define PIECES (K / PIECE)
"""


TILES_OF_ROUTES = """
// The rows of a block: so many of the expert's routes, in order. There may be none.
struct Tile { int expert, first, count; };
__device__ Tile tile_of(const int* offsets, int tile) {
  __shared__ int tiles[EXPERTS];
  for (int e = threadIdx.x; e < EXPERTS; e += THREADS)
    tiles[e] = (offsets[e + 1] - offsets[e] + ROWS - 1) / ROWS;
  __syncthreads();
  int expert = 0, before = 0;
  while (expert < EXPERTS && before + tiles[expert] <= tile) before += tiles[expert++];
  if (expert == EXPERTS) return {0, 0, 0};
  const int first = offsets[expert] + (tile - before) * ROWS;
  return {expert, first, min(ROWS, offsets[expert + 1] - first)};
}
// Of the route in this place: the row that a product reads, and the one that it writes. What is
// between the products lies in the order of routes by expert.
__device__ __forceinline__ int row_read(const int* order, int place) {
  return DOWN_PRODUCT ? place : order[place] / TOP_K;
}
__device__ __forceinline__ int row_written(const int* order, int place) {
  return DOWN_PRODUCT ? order[place] : place;
}
"""
"""`tile_of` and what goes with it, where `ROWS` and `THREADS` are defined."""


def tiles(routes: int, experts: int, rows: int) -> int:
    """How many tiles of so many rows there may be at most, however routes go to experts."""
    return (routes + min(experts, routes) * (rows - 1)) // rows
