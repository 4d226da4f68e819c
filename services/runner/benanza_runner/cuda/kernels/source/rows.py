"""What kernels have in common that reduce rows: rows' indices, and sums over threads."""

from benanza_runner.cuda.kernels.source.indexing import Axis


def row_axes(side: str, rank: int, *targets: str) -> list[Axis]:
    """The axes that tell rows apart (`o`), or those within a row (`i`), for the targets."""
    letters = "st"[: len(targets)]
    return [
        Axis(f"{side}n{at}", [(t, f"{side}{s}{at}") for t, s in zip(targets, letters, strict=True)])
        for at in range(rank)
    ]


def row_parameters(outside: int, inside: int) -> str:
    """Parameters of a kernel for the numbers of `Rows`, after others."""
    return "".join(
        f", unsigned {side}n{at}, unsigned {side}s{at}, unsigned {side}t{at}"
        for side, rank in (("o", outside), ("i", inside))
        for at in range(rank)
    )


OVER_LANES = """
__device__ __forceinline__ V over_lanes(V v) {
#if LANES > 1
  for (int offset = 16; offset; offset /= 2) {
    const V other = __shfl_xor_sync(0xffffffffu, v, offset);
    v = JOIN(v, other);
  }
#endif
#if LANES > 32
  __shared__ V parts[32];
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = parts[0];
  for (int i = 1; i < blockDim.x / 32; ++i) v = JOIN(v, parts[i]);
#endif
  return v;
}
"""
"""`over_lanes`, which joins the values `v` of LANES threads by JOIN."""
