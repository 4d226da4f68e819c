"""How threads share the work of a kernel, and how those of a row join what they have found."""

from typing import NamedTuple

ALONG = """
#define LANE threadIdx.x
#define OWN threadIdx.y
template <typename V, typename F> __device__ __forceinline__ V over_lanes(V v, F join) {
  #pragma unroll
  for (int offset = (LANES < 32 ? LANES : 32) / 2; offset; offset /= 2)
    v = join(v, (V)__shfl_xor_sync(0xffffffffu, v, offset));
#if LANES > 32
  __shared__ V parts[32];
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = parts[0];
  #pragma unroll
  for (int i = 1; i < LANES / 32; ++i) v = join(v, parts[i]);
#endif
  return v;
}
"""

ACROSS = """
#define LANE threadIdx.y
#define OWN threadIdx.x
template <typename V, typename F> __device__ __forceinline__ V over_lanes(V v, F join) {
  __shared__ V parts[LANES][ROWS];
  __syncthreads();
  parts[LANE][OWN] = v;
  __syncthreads();
  v = parts[0][OWN];
  #pragma unroll
  for (int i = 1; i < LANES; ++i) v = join(v, parts[i][OWN]);
  return v;
}
"""


class Threads(NamedTuple):
    """The threads of a block: so many `lanes` share a row, for so many `rows`.

    Threads next to each other have the same row, or the next one if they lie `across`. Where there
    are no rows, each thread computes `turns` packs.
    """

    lanes: int
    rows: int
    across: bool = False
    turns: int = 1

    def shape(self) -> tuple[int, int]:
        """As CUDA wants it."""
        return (self.rows, self.lanes) if self.across else (self.lanes, self.rows)


class SectionSize(NamedTuple):
    """How much a section has to do: `rows` of a reduction, each of so many `packs` that a thread
    computes at once; without reductions, all packs are one row.
    """

    rows: int
    packs: int
    reduces: bool

    def blocks(self, threads: Threads) -> int:
        """How many blocks of such threads it takes."""
        if self.reduces:
            return -(-self.rows // threads.rows)
        return -(-self.packs // (threads.lanes * threads.rows * threads.turns))
