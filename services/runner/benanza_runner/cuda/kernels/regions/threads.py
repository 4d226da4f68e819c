"""How threads share the work of a kernel, and how those of a row join what they have found."""

from typing import NamedTuple

ALONG = """
#define LANE THREAD
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
  for (int i = 1; i < LANES / CLUSTER / 32; ++i) v = join(v, parts[i]);
#endif
#if CLUSTER > 1
  __shared__ V mine;
  if (threadIdx.x == 0) mine = v;
  __syncwarp();
  together();
  v = remote(&mine, 0);
  #pragma unroll
  for (int i = 1; i < CLUSTER; ++i) v = join(v, remote(&mine, i));
  together();  // Nobody leaves, or writes again, before all have read.
#endif
  return v;
}
"""

CLUSTERED = """
__device__ __forceinline__ void together() {
  asm volatile("barrier.cluster.arrive.aligned;\\nbarrier.cluster.wait.aligned;" ::: "memory");
}
__device__ __forceinline__ unsigned place(const void* mine, int rank) {
  unsigned at = (unsigned)__cvta_generic_to_shared(mine);
  asm("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(at) : "r"(rank));
  return at;
}
__device__ __forceinline__ float remote(const float* mine, int rank) {
  float found;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(found) : "r"(place(mine, rank)));
  return found;
}
__device__ __forceinline__ int remote(const int* mine, int rank) {
  int found;
  asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(found) : "r"(place(mine, rank)));
  return found;
}
__device__ __forceinline__ long long remote(const long long* mine, int rank) {
  long long found;
  asm volatile("ld.shared::cluster.s64 %0, [%1];" : "=l"(found) : "r"(place(mine, rank)));
  return found;
}
"""
"""How the blocks of a cluster read each other's shared memory.

Source: PTX ISA, `mapa`, `ld.shared::cluster` and `barrier.cluster`.
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
    are no rows, each thread computes `turns` packs. The lanes may be those of a `cluster` of so
    many blocks.
    """

    lanes: int
    rows: int
    across: bool = False
    turns: int = 1
    cluster: int = 1

    def shape(self) -> tuple[int, int]:
        """The size of a block, as CUDA wants it."""
        lanes = self.lanes // self.cluster
        return (self.rows, lanes) if self.across else (lanes, self.rows)

    def definitions(self) -> str:
        """What the text of a kernel needs to be compiled for these threads."""
        numbers = {"LANES": self.lanes, "ROWS": self.rows, "TURNS": self.turns}
        numbers |= {"CLUSTER": self.cluster}
        sizes = "".join(f"#define {name} {number}\n" for name, number in numbers.items())
        together = self.cluster > 1
        sizes += "#define THREAD (threadIdx.x + blockIdx.x % CLUSTER * blockDim.x)\n"
        sizes += f"#define CLUSTER_DIMS {'__cluster_dims__(CLUSTER, 1, 1)' if together else ''}\n"
        return sizes + (CLUSTERED if together else "") + (ACROSS if self.across else ALONG)


class SectionSize(NamedTuple):
    """How much a section has to do: `rows` of a reduction, each of so many `packs` that a thread
    computes at once; without reductions, all packs are one row. A row may be reduced from more
    packs than it has, at most from the `longest`.
    """

    rows: int
    packs: int
    longest: int
    reduces: bool

    def blocks(self, threads: Threads) -> int:
        """How many blocks of such threads, or clusters of them, it takes."""
        if self.reduces:
            return -(-self.rows // threads.rows)
        return -(-self.packs // (threads.lanes * threads.rows * threads.turns))
