"""Attention as a kernel, for what no library runs, such as float32 or keys that lie transposed.

A block has a few queries and goes through the keys, as many at a time as it has threads. It keeps
the largest score so far and the sums that belong to it, and scales these down when a larger score
comes. So scores are never in memory.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Attention, CachedAttention
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.kernels.appending import behind_appending
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, launch
from benanza_runner.cuda.kernels.source.attention.cache_codes import codes_source
from benanza_runner.cuda.kernels.source.attention.scores import Scoring, scoring_of, scoring_source
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

SHAPES = ((64, 1), (256, 1), (64, 4), (128, 4), (64, 16), (128, 16))
"""How many threads and how many queries a block has."""

MOST_SUMS = 64
"""How many elements of the result a thread may keep in registers."""

MOST_SHARED_BYTES = 48 * 1024
"""What a block has without asking for more."""


class AttentionKernels:
    """Candidates for attention of any precision, with operands of any strides."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each shape of a block that the heads fit into."""
        call = workspace.call
        if isinstance(call, CachedAttention):
            yield from behind_appending(self, workspace, call)
        if not isinstance(call, Attention):
            return
        scores = call.batch * call.heads * call.queries * call.keys
        if max(prod(call.output), scores) >= MOST_ELEMENTS:
            yield refused(LIBRARY, "kernel", "", "it has too many elements for one kernel")
            return
        result = workspace.result(call.output)
        arguments = (
            *operands_of(workspace, call),
            result.array,
            *pages_of(workspace, call),
            np.float32(call.scale),
            *map(np.float32, (*(call.chosen or (0.0, 0.0)), call.cap)),
            *map(np.uint32, (call.heads, call.heads // call.key_heads)),
            np.uint32(call.heads // call.value_heads),
            *map(np.uint32, (call.queries, call.keys, call.before, call.window)),
            *map(np.int64, (*call.query_steps, *call.key_steps, *call.value_steps)),
            *map(np.int64, (*mask_steps(call), *call.output_steps)),
        )
        offered, scored = 0, scoring_in(workspace, call)
        for threads, rows in SHAPES:
            if not fits(call, threads, rows):
                continue
            offered += 1
            kernel = _attention_kernel(
                workspace.precision, call.size, call.width, threads, rows, scored
            )
            blocks = call.batch * call.heads * -(-call.queries // rows)
            run = launch(kernel, blocks, threads, arguments)
            name = f"attention kernel ({rows} queries a block, {threads} threads)"
            yield Candidate(LIBRARY, name, "", no_scratch, run, result)
        if not offered:
            yield refused(LIBRARY, "kernel", "", "its heads are too large for one block")


def operands_of(workspace: Workspace, call: Attention) -> tuple[Any, ...]:
    """The queries, keys and values from where they begin, the mask, the sinks, the biases and the
    scales; where there are none, the queries fill their place.
    """
    query, key, value = (
        workspace.operand(name).array.reshape(-1)[start:]
        for name, start in (
            ("query", call.query_start),
            ("key", call.key_start),
            ("value", call.value_start),
        )
    )
    further = (
        ("mask", call.mask),
        ("sinks", call.sinks),
        ("query_bias", call.biased),
        ("value_bias", call.biased),
    )
    more = (workspace.operand(name).array if there else query for name, there in further)
    scales = (
        workspace.exact(name).array if call.stored else query
        for name in ("key_scales", "value_scales")
    )
    return query, key, value, *more, *scales


def pages_of(workspace: Workspace, call: Attention) -> tuple[Any, ...]:
    """What says which keys a sequence has; nothing if they don't lie in blocks."""
    if call.pages is None:
        return ()
    lengths = (workspace.operand(name).array for name in ("ends", "past", "table"))
    return *lengths, np.uint32(call.pages.width), np.uint32(call.pages.block)


def scoring_in(workspace: Workspace, call: Attention) -> Scoring:
    """What becomes of the scores."""
    return scoring_of(call, workspace.operand("mask").element if call.mask else "")


def fits(call: Attention, threads: int, rows: int) -> bool:
    """Whether a block of so many threads has room for so many queries, and use for most of them."""
    shared = 4 * (rows * call.size + rows * threads + threads)
    sums = rows * -(-call.width // threads)
    return shared <= MOST_SHARED_BYTES and sums <= MOST_SUMS and rows < 2 * call.queries


def mask_steps(call: Attention) -> tuple[int, ...]:
    """The strides of the mask in elements: 0 on axes where it is repeated."""
    shape = call.mask or (1, 1, 1, 1)
    return tuple(0 if n == 1 else prod(shape[axis + 1 :]) for axis, n in enumerate(shape))


@cache
def _attention_kernel(
    precision: Precision, size: int, width: int, threads: int, rows: int, scoring: Scoring
) -> Any:
    return cupy.RawKernel(source(precision, size, width, threads, rows, scoring), "attend")


def source(
    precision: Precision, size: int, width: int, threads: int, rows: int, scoring: Scoring
) -> str:
    """The kernel for heads of these sizes."""
    return f"""{PREAMBLE[precision]}
#define SIZE {size}
#define WIDTH {width}
#define THREADS {threads}
#define ROWS {rows}
#define COLUMNS {-(-width // threads)}
{scoring_source(scoring)}
{codes_source(scoring.stored)}
{_SOURCE}"""


_SOURCE = """
__shared__ float parts[THREADS / 32];
__device__ __forceinline__ float over_block(float v, bool largest) {
  for (int offset = 16; offset; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, v, offset);
    v = largest ? fmaxf(v, other) : v + other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = parts[0];
  for (int i = 1; i < THREADS / 32; ++i) v = largest ? fmaxf(v, parts[i]) : v + parts[i];
  return v;
}
extern "C" __global__ void attend(const T* __restrict__ query, const C* __restrict__ key,
    const C* __restrict__ value, const M* __restrict__ mask, const T* __restrict__ sinks,
    const T* __restrict__ query_bias, const T* __restrict__ value_bias,
    const float* __restrict__ key_scales, const float* __restrict__ value_scales,
    T* __restrict__ result, PAGES
    float scale, float when_true, float when_false, float cap,
    unsigned heads, unsigned by_key, unsigned by_value, unsigned queries, unsigned keys,
    unsigned before, unsigned window,
    Step qb, Step qh, Step qr, Step qc, Step kb, Step kh, Step kr, Step kc,
    Step vb, Step vh, Step vr, Step vc, Step mb, Step mh, Step mr, Step mc,
    Step yb, Step yh, Step yr, Step yc) {
  __shared__ float rows[ROWS * SIZE], shares[ROWS * THREADS];
  const unsigned blocks = (queries + ROWS - 1) / ROWS;
  const unsigned head = blockIdx.x / blocks % heads, batch = blockIdx.x / blocks / heads;
  const unsigned first = blockIdx.x % blocks * ROWS, thread = threadIdx.x;
#if PAGED
  table += batch * width;
  query += ends[batch] * qr;
  result += ends[batch] * yr;
  queries = ends[batch + 1] - ends[batch];
  before = past[batch];
  keys = before + queries;
  if (first >= queries) return;
#endif
  query += batch * qb + head * qh;
  key += batch * kb + head / by_key * kh;
  value += batch * vb + head / by_value * vh;
  mask += batch * mb + head * mh;
  result += batch * yb + head * yh;
  for (unsigned i = thread; i < ROWS * SIZE; i += THREADS) {
    const unsigned row = first + i / SIZE;
    rows[i] = row < queries
        ? scale * biased(load(query[row * qr + i % SIZE * qc]), query_bias, head * SIZE + i % SIZE)
              * key_scale(key_scales, head / by_key * SIZE + i % SIZE)
        : 0.0f;
  }
  float most[ROWS], sum[ROWS], found[ROWS][COLUMNS];
  #pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    most[r] = SINKS ? load(sinks[head]) : NONE;
    sum[r] = SINKS && thread == 0 ? 1.0f : 0.0f;
    #pragma unroll
    for (int c = 0; c < COLUMNS; ++c) found[r][c] = 0.0f;
  }
  __syncthreads();
  // What no query of the block sees is not read.
  const unsigned own = first + before, begin = unseen(own, window);
  const unsigned end = CAUSAL ? min(keys, own + ROWS) : keys;
  for (unsigned start = begin; start < end; start += THREADS) {
    const unsigned at = start + thread, count = min(end - start, (unsigned)THREADS);
    float score[ROWS];
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) score[r] = 0.0f;
    if (at < end) {
      const C* mine = key + row_of(at) * kr;
      #pragma unroll 4
      for (int c = 0; c < SIZE; ++c) {
        const float k = number(mine, c * kc);
        #pragma unroll
        for (int r = 0; r < ROWS; ++r) score[r] += rows[r * SIZE + c] * k;
      }
    }
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const unsigned row = min(first + r, queries - 1);
      score[r] = capped(score[r], cap);
      if (MASK && at < end) {
        const M added = mask[row * mr + at * mc];
#if CHOSEN
        score[r] += added ? when_true : when_false;
#else
        score[r] += load(added);
#endif
      }
      if (at >= end || hidden(at, row + before, window)) score[r] = NONE;
      const float larger = fmaxf(most[r], over_block(score[r], true));
      // Where nothing was seen yet, there is nothing to make smaller.
      const float base = larger == NONE ? 0.0f : larger;
      const float share = expf(score[r] - base), factor = expf(most[r] - base);
      most[r] = larger;
      sum[r] = sum[r] * factor + share;
      shares[r * THREADS + thread] = share;
      #pragma unroll
      for (int c = 0; c < COLUMNS; ++c) found[r][c] *= factor;
    }
    __syncthreads();
    #pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
      const unsigned column = thread + c * THREADS;
      if (column >= WIDTH) continue;
      #pragma unroll 4
      for (unsigned i = 0; i < count; ++i) {
        const float v = number(value + row_of(start + i) * vr, column * vc);
        #pragma unroll
        for (int r = 0; r < ROWS; ++r) found[r][c] += shares[r * THREADS + i] * v;
      }
    }
    __syncthreads();
  }
  #pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const float all = over_block(sum[r], false);
    #pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
      const unsigned column = thread + c * THREADS, row = first + r;
      if (column < WIDTH && row < queries)
        result[row * yr + column * yc] = store(
            biased(all == 0.0f ? 0.0f : found[r][c] / all
                       * value_scale(value_scales, head / by_value * WIDTH + column),
                   value_bias, head * WIDTH + column));
    }
  }
}
"""
