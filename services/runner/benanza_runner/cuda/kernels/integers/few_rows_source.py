"""The source of the kernel for products of few rows with weights in 8 bits, on Tensor Cores.

Such a product is bound by reading its weights, so no shared memory is in the way: what a thread
reads of two columns is its part of a fragment. Here the weights are the operand that has 16 rows in
`mma.m16n8k32`, and eight rows of the product are its columns. A thread's 16 bytes lie one behind
another, where the instruction wants four at four places; as the other operand is read alike, sums
have the same terms in another order. Warps of a block share the terms of its 16 columns, and sum up
through shared memory. Source: the layouts of fragments in NVIDIA's PTX ISA.
"""

from benanza_runner.cuda.calls import EightBitProduct
from benanza_runner.cuda.elements import FLOAT8
from benanza_runner.cuda.kernels.integers.scaling import FOUR

COLUMNS = 16
"""Of a block."""

ROWS = 8
"""Of one instruction."""

TERMS = 16
"""Which a thread reads at once."""

_TYPES = {"int8": "s32.s8.s8.s32", "uint8": "s32.s8.u8.s32", FLOAT8: "f32.e4m3.e4m3.f32"}


def few_rows_source(sums: EightBitProduct, element: str, warps: int, scaled: str) -> str:
    """The kernel for rows of elements of a type, with so many warps in a block.

    `scaled` defines what follows the sums, as `scaling.scaled_source` writes it.
    """
    numbers = {
        "M": sums.m,
        "N": sums.n,
        "CHUNKS": sums.k // TERMS,
        "WARPS": warps,
        "EIGHTS": -(-sums.m // ROWS),
        "COLUMNS": COLUMNS,
        "FOURS": COLUMNS // FOUR,
    }
    constants = "".join(f"#define {name} {number}\n" for name, number in numbers.items())
    return f"{scaled}\n{product_by_columns(element)}{constants}{_SOURCE}"


def product_by_columns(element: str) -> str:
    """The function `add_product`, which adds a product of weights and rows of this type to sums."""
    text = _PRODUCT.replace("TYPES", _TYPES[element])
    return text.replace('"+r"', '"+f"') if element == FLOAT8 else text


_PRODUCT = """
__device__ __forceinline__ void add_product(Sum* c, unsigned a0, unsigned a1, unsigned a2,
    unsigned a3, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.TYPES "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
"""

_SOURCE = """
extern "C" __global__ void __launch_bounds__(WARPS * 32) multiply_few_rows(
    const uint4* __restrict__ x, const uint4* __restrict__ weights,
    const float4* __restrict__ scale, const float4* __restrict__ bias,
    const Added* __restrict__ residual, Written* __restrict__ result) {
  __shared__ Sum parts[WARPS][EIGHTS * 8][COLUMNS + 4];
  const int first = blockIdx.x * COLUMNS;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int own = lane / 4, quarter = lane % 4;
  // Sums of columns beyond the last one are dropped.
  const uint4* const upper = weights + (long long)min(first + own, N - 1) * CHUNKS;
  const uint4* const lower = weights + (long long)min(first + own + 8, N - 1) * CHUNKS;
  const uint4 none = {0, 0, 0, 0};
  Sum sum[EIGHTS][4];
  #pragma unroll
  for (int e = 0; e < EIGHTS; ++e) sum[e][0] = sum[e][1] = sum[e][2] = sum[e][3] = 0;
  #pragma unroll 4
  for (int group = warp * 4; group < CHUNKS; group += WARPS * 4) {
    const int chunk = group + quarter;
    const bool there = CHUNKS % 4 == 0 || chunk < CHUNKS;
    const uint4 u = there ? upper[chunk] : none, l = there ? lower[chunk] : none;
    #pragma unroll
    for (int e = 0; e < EIGHTS; ++e) {
      const int row = e * 8 + own;
      const uint4 v = there && row < M ? x[(long long)row * CHUNKS + chunk] : none;
      add_product(sum[e], u.x, l.x, u.y, l.y, v.x, v.y);
      add_product(sum[e], u.z, l.z, u.w, l.w, v.z, v.w);
    }
  }
  #pragma unroll
  for (int e = 0; e < EIGHTS; ++e)
    #pragma unroll
    for (int i = 0; i < 4; ++i)
      parts[warp][e * 8 + quarter * 2 + i % 2][own + i / 2 * 8] = sum[e][i];
  __syncthreads();
  for (int i = threadIdx.x; i < M * FOURS; i += WARPS * 32) {
    const int row = i / FOURS, column = first + i % FOURS * 4;
    if (column >= N) continue;
    Sums total = {0, 0, 0, 0};
    #pragma unroll
    for (int part = 0; part < WARPS; ++part) {
      const Sum* const s = parts[part][row] + i % FOURS * 4;
      total.x += s[0], total.y += s[1], total.z += s[2], total.w += s[3];
    }
    const int at = (int)(((long long)row * N + column) / 4);
    result[at] = scaled(total, scale[column / 4], bias[column / 4], residual, at);
  }
}
"""
