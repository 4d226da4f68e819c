"""The source of the kernel of running sums along an axis."""

from benanza_runner.cuda.kernels.launching import preamble
from benanza_schemas.layer import Precision

LOADED = 16
"""Elements that a thread reads at once: it waits for memory once for all of them."""


def running_sum_source(
    precision: Precision, element: str, lanes: int, *, exclusive: bool, reverse: bool
) -> str:
    """A kernel `accumulate`, in which so many threads, a whole block if several, share a row.

    `element` names the type of the elements, empty for floats of the precision. If `exclusive`, a
    sum is of the elements before its own place; if `reverse`, sums begin at the end.
    """
    return f"""{preamble(precision, element)}
#define LANES {lanes}
#define LOADED {LOADED}
#define EXCLUSIVE {int(exclusive)}
#define REVERSE {int(reverse)}
{_SOURCE}"""


_SOURCE = """
// Each thread adds up a run of its own, then those of the threads before it, then writes.
extern "C" __global__ void accumulate(const E* __restrict__ x, E* __restrict__ y, int rows,
    int size, int inner) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const int lane = threadIdx.x % LANES;
  if (row >= rows) return;
  const long long first = (long long)(row / inner) * size * inner + row % inner;
  const int length = (size + LANES - 1) / LANES;
  const int begin = lane * length, end = min(size, begin + length);
  V sum = 0;
#if LANES > 1
  __shared__ V parts[LANES];
  #pragma unroll 4
  for (int i = begin; i < end; ++i)
    sum += read(x[first + (long long)(REVERSE ? size - 1 - i : i) * inner]);
  parts[lane] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < lane; ++i) sum += parts[i];
#endif
  for (int start = begin; start < end; start += LOADED) {
    V v[LOADED];
    #pragma unroll
    for (int j = 0; j < LOADED; ++j) {
      const int i = start + j;
      if (i < end) v[j] = read(x[first + (long long)(REVERSE ? size - 1 - i : i) * inner]);
    }
    #pragma unroll
    for (int j = 0; j < LOADED; ++j) {
      const int i = start + j;
      if (i >= end) break;
      const long long at = first + (long long)(REVERSE ? size - 1 - i : i) * inner;
      if (EXCLUSIVE) y[at] = write(sum);
      sum += v[j];
      if (!EXCLUSIVE) y[at] = write(sum);
    }
  }
}
"""
