"""Kernels that choose experts for rows, sort rows by expert, and add up what experts made of them.

A route is a pair of a row and one of its experts: route r is of row r / TOP_K. Nothing is counted
on the host, so all of it can be captured into a CUDA graph.
"""

from benanza_runner.cuda.calls import MixtureOfExperts
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_schemas.layer import Precision

ROUTING_THREADS = 256

MOST_ROUTED_AT_ONCE = 32
"""Rows for which `route` has room."""


def routing_source(precision: Precision, call: MixtureOfExperts) -> str:
    """The kernels `choose`, `arrange` and `route`, which is both of them.

    `choose` has a warp for each row, and writes the experts of routes and their shares; `arrange`
    has a block for each expert, and writes where the expert's routes begin, and which they are.
    `route` has a block for each expert, all of which choose for all rows.
    """
    return f"""{PREAMBLE[precision]}
#define EXPERTS {call.experts}
#define TOP_K {call.top_k}
#define NORMALISED {int(call.normalised)}
#define THREADS {ROUTING_THREADS}
#define FEW {MOST_ROUTED_AT_ONCE}
{_ROUTING}"""


def combining_source(precision: Precision, call: MixtureOfExperts) -> str:
    """The kernel `combine`, in which a thread has eight elements of the result.

    It adds up what the experts of a row made of it, by their shares.
    """
    return f"""{PREAMBLE[precision]}
#define TOP_K {call.top_k}
#define N {call.down.n}
{_COMBINING}"""


_ROUTING = """
#define PER_LANE ((EXPERTS + 31) / 32)
#define NONE __int_as_float(0xff800000)
#define LEAST -3.4e38f

// A warp's choice for a row: lane i has the i-th of its experts, and that one's share.
__device__ void choose_for(const T* logits, int* chosen, float* shares) {
  const int lane = threadIdx.x % 32;
  float mine[PER_LANE];
  #pragma unroll
  for (int i = 0; i < PER_LANE; ++i) {
    const int expert = i * 32 + lane;
    mine[i] = expert < EXPERTS ? fmaxf(load(logits[expert]), LEAST) : NONE;
  }
  float most = 0.0f, all = 0.0f, share = 0.0f;
  int choice = 0;
  for (int k = 0; k < TOP_K; ++k) {
    float best = NONE;
    int at = EXPERTS;
    #pragma unroll
    for (int i = 0; i < PER_LANE; ++i)
      if (mine[i] > best) {
        best = mine[i];
        at = i * 32 + lane;
      }
    for (int step = 16; step; step /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, best, step);
      const int there = __shfl_xor_sync(0xffffffffu, at, step);
      if (other > best || (other == best && there < at)) {
        best = other;
        at = there;
      }
    }
    if (k == 0) {
      most = best;
      #pragma unroll
      for (int i = 0; i < PER_LANE; ++i) all += expf(mine[i] - most);
    }
    if (lane == k) {
      choice = at;
      share = expf(best - most);
    }
    #pragma unroll
    for (int i = 0; i < PER_LANE; ++i)
      if (i * 32 + lane == at) mine[i] = NONE;
  }
  float sum = NORMALISED ? share : all;
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane < TOP_K) {
    chosen[lane] = choice;
    shares[lane] = share / sum;
  }
}

// Where the block's expert has its routes, and which they are, in order.
__device__ void arrange_for(const int* chosen, int* offsets, int* order, int routes) {
  __shared__ int counts[THREADS / 32];
  const int expert = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int before = 0;
  for (int i = threadIdx.x; i < routes; i += THREADS) before += chosen[i] < expert;
  for (int step = 16; step; step /= 2) before += __shfl_xor_sync(0xffffffffu, before, step);
  if (lane == 0) counts[warp] = before;
  __syncthreads();
  int next = 0;
  for (int w = 0; w < THREADS / 32; ++w) next += counts[w];
  if (threadIdx.x == 0) offsets[expert] = next;
  for (int start = 0; start < routes; start += THREADS) {
    const int route = start + threadIdx.x;
    const bool mine = route < routes && chosen[route] == expert;
    const unsigned which = __ballot_sync(0xffffffffu, mine);
    __syncthreads();
    if (lane == 0) counts[warp] = __popc(which);
    __syncthreads();
    int at = next + __popc(which & (1u << lane) - 1u);
    for (int w = 0; w < THREADS / 32; ++w) {
      at += w < warp ? counts[w] : 0;
      next += counts[w];
    }
    if (mine) order[at] = route;
  }
  if (threadIdx.x == 0 && expert == EXPERTS - 1) offsets[EXPERTS] = next;
}

extern "C" __global__ void choose(const T* __restrict__ logits, int* __restrict__ chosen,
    float* __restrict__ shares, int rows) {
  const int row = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  choose_for(logits + (long long)row * EXPERTS, chosen + (long long)row * TOP_K,
             shares + (long long)row * TOP_K);
}

extern "C" __global__ void arrange(const int* __restrict__ chosen, int* __restrict__ offsets,
    int* __restrict__ order, int rows) {
  arrange_for(chosen, offsets, order, rows * TOP_K);
}

extern "C" __global__ void route(const T* __restrict__ logits, float* __restrict__ shares,
    int* __restrict__ offsets, int* __restrict__ order, int rows) {
  __shared__ int chosen[FEW * TOP_K];
  __shared__ float found[FEW * TOP_K];
  for (int row = threadIdx.x / 32; row < rows; row += THREADS / 32)
    choose_for(logits + row * EXPERTS, chosen + row * TOP_K, found + row * TOP_K);
  __syncthreads();
  if (blockIdx.x == 0)
    for (int i = threadIdx.x; i < rows * TOP_K; i += THREADS) shares[i] = found[i];
  arrange_for(chosen, offsets, order, rows * TOP_K);
}
"""

_COMBINING = """
struct __align__(16) Eight { T v[8]; };
extern "C" __global__ void combine(const Eight* __restrict__ parts,
    const float* __restrict__ shares, Eight* __restrict__ y, int rows) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const int row = at / (N / 8), column = at % (N / 8);
  if (row >= rows) return;
  float sums[8] = {};
  #pragma unroll 4
  for (int k = 0; k < TOP_K; ++k) {
    const long long route = (long long)row * TOP_K + k;
    const Eight part = parts[route * (N / 8) + column];
    const float share = shares[route];
    #pragma unroll
    for (int i = 0; i < 8; ++i) sums[i] += share * load(part.v[i]);
  }
  Eight found;
  #pragma unroll
  for (int i = 0; i < 8; ++i) found.v[i] = store(sums[i]);
  y[at] = found;
}
"""
