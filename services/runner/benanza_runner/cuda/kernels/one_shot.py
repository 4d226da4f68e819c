"""Collectives as one kernel on each GPU, which reads the operands of all GPUs where they lie.

At a few hundred kilobytes, what NCCL's protocols take is latency. Here a GPU says in the memory of
all others that its operand is there, waits for them to say so, and reads their operands over
NVLink. It ends when all have read, so that what comes next may overwrite the operand.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import AllGather, AllReduce
from benanza_runner.cuda.candidate import Candidate
from benanza_runner.cuda.device_tensor import DeviceTensor, stored_as
from benanza_runner.cuda.kernels.launching import LIBRARY, WORDS
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.timing.peers import Peers, peers_of
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

THREADS = 512
MOST_TURNS = 64
"""Fewer blocks than the most are no use where each of their threads would read more packs."""

BLOCKS = (1, 4, 8, 16, 32, 64, 96)
"""All blocks have to be at work at once, or they would wait for those that aren't."""


class OneShotCollectives:
    """Candidates for collectives, with more or fewer blocks."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each number of blocks that all have something to do."""
        call = workspace.call
        if not isinstance(call, (AllReduce, AllGather)):
            return
        operand, result = workspace.operand("input"), workspace.result(call.output)
        layout = workspace.natural_layout(call.output)
        # So many consecutive elements lie one behind another in the operand and in the result.
        together = operand.array.size
        if isinstance(call, AllGather):
            together //= call.outer
        element_bytes = PRECISIONS[workspace.precision].bytes
        width = next(size for size in WORDS if together * element_bytes % size == 0)
        kernel = one_shot_kernel(
            workspace.precision, width // element_bytes, call.ranks, isinstance(call, AllReduce)
        )
        packs = operand.array.nbytes // width
        at_once = int(cupy.cuda.Device().attributes["MultiProcessorCount"])
        for blocks in (count for count in BLOCKS if count <= at_once):
            few = blocks < BLOCKS[-1] and packs > blocks * THREADS * MOST_TURNS
            if (blocks - 1) * THREADS < packs and not few:
                sizes = packs, together * element_bytes // width
                run = _OneShot(kernel, blocks, sizes, peers_of(call.ranks), operand, result)
                name = f"one-shot kernel ({blocks} blocks)"
                yield Candidate(LIBRARY, name, layout, run.prepare, run, result)


class _OneShot:
    """Starts the kernel on all ranks, each with all operands and with the marks of all."""

    def __init__(
        self,
        kernel: Any,
        blocks: int,
        sizes: tuple[int, int],
        peers: Peers,
        operand: DeviceTensor,
        result: DeviceTensor,
    ) -> None:
        self._kernel, self._blocks, self._sizes, self._peers = kernel, blocks, sizes, peers
        self._operand, self._result = operand, result
        self._arguments: list[tuple[Any, ...]] = []

    def prepare(self) -> int:
        """Makes the buffers, and runs once, so that each GPU has loaded the kernel."""
        peers = self._peers
        peers.connect()
        inputs = peers.inputs(self._operand.array)
        dtype = stored_as(self._operand.precision)
        results = peers.each(lambda rank: cupy.empty(self._result.array.shape, dtype))
        results[0] = self._result.array
        marks = peers.each(lambda rank: cupy.zeros(self._blocks * peers.ranks, np.uint32))
        turns = peers.each(lambda rank: cupy.zeros(self._blocks, np.uint32))
        packs, together = map(np.int32, self._sizes)
        self._arguments = [
            (*inputs, *marks, turns[rank], results[rank], np.int32(rank), packs, together)
            for rank in range(peers.ranks)
        ]
        self()
        peers.synchronise()
        return 0

    def __call__(self) -> None:
        for rank, stream in enumerate(self._peers.streams()):
            # Behind a `with` of a stream, CuPy makes the default stream the current one, and the
            # next call would be no part of a graph.
            with cupy.cuda.Device(rank):
                self._kernel((self._blocks,), (THREADS,), self._arguments[rank], stream=stream)


@cache
def one_shot_kernel(precision: Precision, width: int, ranks: int, sum_up: bool) -> Any:
    """The kernel for packs of so many elements."""
    inputs = ", ".join(f"const Pack* x{rank}" for rank in range(ranks))
    marks = ", ".join(f"unsigned* m{rank}" for rank in range(ranks))
    source = f"""{PREAMBLE[precision]}
#define WIDTH {width}
#define RANKS {ranks}
#define SUM_UP {int(sum_up)}
#define INPUTS {inputs}
#define ALL_INPUTS {", ".join(f"x{rank}" for rank in range(ranks))}
#define MARKS {marks}
#define ALL_MARKS {", ".join(f"m{rank}" for rank in range(ranks))}
{_SOURCE}"""
    return cupy.RawKernel(source, "one_shot")


_SOURCE = """
struct __align__(sizeof(T) * WIDTH) Pack { T v[WIDTH]; };

// Waits until the same block of each rank is here, too. Marks only grow.
__device__ __forceinline__ void meet(unsigned* const* marks, int rank, unsigned turn) {
  __syncthreads();
  if (threadIdx.x < RANKS) {
    unsigned* there = marks[threadIdx.x] + blockIdx.x * RANKS + rank;
    const unsigned* here = marks[rank] + blockIdx.x * RANKS + threadIdx.x;
    asm volatile("st.release.sys.global.u32 [%0], %1;" :: "l"(there), "r"(turn) : "memory");
    unsigned seen;
    do {
      asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(here) : "memory");
    } while ((int)(seen - turn) < 0);
  }
  __syncthreads();
}

extern "C" __global__ void one_shot(INPUTS, MARKS, unsigned* turns, Pack* y, int rank, int packs,
    int together) {
  const Pack* inputs[RANKS] = {ALL_INPUTS};
  unsigned* marks[RANKS] = {ALL_MARKS};
  const unsigned turn = turns[blockIdx.x];
  meet(marks, rank, turn + 1);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < packs; i += gridDim.x * blockDim.x) {
    Pack parts[RANKS];
    #pragma unroll
    for (int r = 0; r < RANKS; ++r) parts[r] = inputs[r][i];
#if SUM_UP
    Pack total;
    #pragma unroll
    for (int j = 0; j < WIDTH; ++j) {
      float sum = 0.0f;
      #pragma unroll
      for (int r = 0; r < RANKS; ++r) sum += load(parts[r].v[j]);
      total.v[j] = store(sum);
    }
    y[i] = total;
#else
    const int outer = i / together, inner = i % together;
    #pragma unroll
    for (int r = 0; r < RANKS; ++r)
      y[((long long)outer * RANKS + r) * together + inner] = parts[r];
#endif
  }
  meet(marks, rank, turn + 2);
  if (threadIdx.x == 0) turns[blockIdx.x] = turn + 2;
}
"""
