"""A model run with prefetching: before a call starts, its weights are in the last cache.

A model's weights outgrow the cache long before their use does, so calls wait for theirs from
memory. Beside them, in the same CUDA graph, a kernel prefetches the weights of later calls. The
cache holds longer what was prefetched with the priority `evict_last`: either all weights, or some
that persist while the others come as they are needed.

Source: PTX ISA, `prefetch` and cache eviction priority hints.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

import cupy
import numpy as np
from cuda.bindings import runtime as cudart

from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.whole_model.prefetch_plan import (
    CallWeights,
    PrefetchPolicy,
    persistent_calls,
    prefetches,
)
from benanza_runner.cuda.whole_model.witness import ModelCall, PreparedProgram

PREFETCHING = PrefetchPolicy()
PERSISTING = PrefetchPolicy(persistent_bytes=8_000_000)
"""Of an H200's L2 of 60 MiB, more persistent weights drive out what is at work."""

THREADS = 256
OLDEST = 80
"""The compute capability from which a prefetch takes an eviction priority."""

Priority = Literal["evict_normal", "evict_last"]


def prefetched_runs(program: PreparedProgram) -> list["PrefetchedRun"]:
    """The ways of prefetching that this device can and that differ; none where no call waits."""
    if int(cupy.cuda.Device().compute_capability) < OLDEST:
        return []
    prefetching = PrefetchedRun(program, PREFETCHING)
    persisting = PrefetchedRun(program, PERSISTING)
    if not prefetching.prefetches:
        return []
    return [prefetching, *([persisting] if persisting.persistent else [])]


class PrefetchedRun:
    """A program that runs one call after the other, with weights prefetched.

    The weights of the calls in `persistent` are in the cache from the start, and stay. Without any,
    what is prefetched stays as long as it can. `prefetches` lists, by call, the later calls whose
    weights it prefetches. Run it within `persisting`.
    """

    def __init__(self, program: PreparedProgram, policy: PrefetchPolicy) -> None:
        self._calls = program.calls
        self._main = program.stream
        self._side = cupy.cuda.Stream(non_blocking=True)
        weights = [_weights(call) for call in program.calls]
        self.persistent = persistent_calls(weights, policy)
        self.prefetches = prefetches(weights, policy, self.persistent)
        self._persist = _prefetch(
            [self._calls[call] for call in self.persistent], policy.blocks, "evict_last"
        )
        priority: Priority = "evict_normal" if self.persistent else "evict_last"
        self._prefetches = {
            call: _prefetch([self._calls[later] for later in wanted], policy.blocks, priority)
            for call, wanted in self.prefetches.items()
        }
        self._events = {
            call: cupy.cuda.Event(disable_timing=True)
            for call in (*self._prefetches, len(self._calls))
        }

    @contextmanager
    def persisting(self) -> Iterator[Callable[[], None]]:
        """A function that starts the model once, and may be captured into a graph.

        In the end, nothing persists in the cache any more. Raises `RuntimeError` where CUDA can't
        do that.
        """
        self._main.use()  # Once results were read, it may be another.
        try:
            if self.persistent:
                self._persist()
            self._main.synchronize()
            yield self._run
        finally:
            self._main.synchronize()
            (error,) = cudart.cudaCtxResetPersistingL2Cache()
            if error != cudart.cudaError_t.cudaSuccess:
                raise RuntimeError(f"cudaCtxResetPersistingL2Cache: {error.name}")

    def _run(self) -> None:
        for number, call in enumerate(self._calls):
            if number in self._prefetches:
                self._start_prefetch(number)
            for run in call.runs:
                run()
        if self._prefetches:
            last = self._events[len(self._calls)]
            last.record(self._side)
            self._main.wait_event(last)

    def _start_prefetch(self, number: int) -> None:
        self._events[number].record(self._main)
        self._side.wait_event(self._events[number])
        self._side.use()
        try:
            self._prefetches[number]()
        finally:
            # Leaving a `with` would make the default stream the current one.
            self._main.use()


def _weights(call: ModelCall) -> CallWeights:
    return CallWeights(sum(_bytes(call)), call.us, call.wait_us)


def _bytes(call: ModelCall) -> Sequence[int]:
    return [int(tensor.array.nbytes) for tensor in call.weights]


def _prefetch(calls: Sequence[ModelCall], blocks: int, priority: Priority) -> Run:
    """What prefetches these calls' weights once it is started."""
    pointers = [tensor.pointer for call in calls for tensor in call.weights]
    addresses = cupy.asarray(pointers, dtype=cupy.uint64)
    sizes = cupy.asarray([size for call in calls for size in _bytes(call)], dtype=cupy.int64)
    arguments: tuple[Any, ...] = (addresses, sizes, np.int32(len(pointers)))
    kernel = _read_ahead_kernel(priority)
    return lambda: kernel((blocks,), (THREADS,), arguments)


@cache
def _read_ahead_kernel(priority: Priority) -> Any:
    source = """
extern "C" __global__ void read_ahead(
    const unsigned long long* __restrict__ addresses, const long long* __restrict__ sizes, int n) {
  const long long line = 128;
  const long long step = gridDim.x * (long long)blockDim.x * line;
  for (int k = 0; k < n; ++k)
    for (long long at = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * line; at < sizes[k];
         at += step)
      asm volatile("prefetch.global.L2::PRIORITY [%0];" :: "l"(addresses[k] + at));
}
"""
    kernel = cupy.RawKernel(source.replace("PRIORITY", priority), "read_ahead")
    kernel.compile()  # It would be the first time it runs, and that is captured into a graph.
    return kernel
