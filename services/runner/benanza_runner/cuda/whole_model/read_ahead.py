"""A model run with its weights read ahead: before a call starts, they are in the last cache.

A model's weights outgrow the cache long before it does what it computes, so calls wait for theirs
from memory. Beside them, in the same CUDA graph, a kernel asks for the weights of calls to come.
The cache holds longer what was asked for with the priority `evict_last`: either all that is asked
for, or some weights for good, and the others as they are needed.

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
from benanza_runner.cuda.whole_model.asks import Policy, Reading, asks, keepers
from benanza_runner.cuda.whole_model.witness import Call, Witness

ASKING, KEEPING = Policy(), Policy(kept_bytes=8_000_000)
"""Of an H200's L2 of 60 MiB, keeping more for good drives out what is at work."""

THREADS = 256
OLDEST = 80
"""The compute capability from which a prefetch may say what to keep."""

Priority = Literal["evict_normal", "evict_last"]


def ways(witness: Witness) -> list["ReadAhead"]:
    """The ways of reading ahead that this device can and that differ: none where no call waits."""
    if int(cupy.cuda.Device().compute_capability) < OLDEST:
        return []
    asking, keeping = ReadAhead(witness, ASKING), ReadAhead(witness, KEEPING)
    if not asking.asks_for:
        return []
    return [asking, *([keeping] if keeping.keeps else [])]


class ReadAhead:
    """A witness that runs one call after the other, with weights read ahead.

    Those of the calls in `keeps` are in the cache from the start, and stay; without any, what is
    asked for stays as long as it can. `asks_for` says by call for which later calls' it asks. Run
    it within `keeping`.
    """

    def __init__(self, witness: Witness, policy: Policy) -> None:
        self._calls = witness.calls
        self._main = witness.stream
        self._side = cupy.cuda.Stream(non_blocking=True)
        readings = [_reading(call) for call in witness.calls]
        self.keeps = keepers(readings, policy)
        self.asks_for = asks(readings, policy, self.keeps)
        self._keep = _asking(
            [self._calls[call] for call in self.keeps], policy.blocks, "evict_last"
        )
        priority: Priority = "evict_normal" if self.keeps else "evict_last"
        self._asks = {
            call: _asking([self._calls[later] for later in wanted], policy.blocks, priority)
            for call, wanted in self.asks_for.items()
        }
        self._events = {
            call: cupy.cuda.Event(disable_timing=True) for call in (*self._asks, len(self._calls))
        }

    @contextmanager
    def keeping(self) -> Iterator[Callable[[], None]]:
        """What starts the model once, and may be captured into a graph. In the end, nothing is
        kept in the cache any more.
        """
        try:
            if self.keeps:
                self._keep()
            self._main.synchronize()
            yield self._run
        finally:
            self._main.synchronize()
            (error,) = cudart.cudaCtxResetPersistingL2Cache()
            if error != cudart.cudaError_t.cudaSuccess:
                raise RuntimeError(f"cudaCtxResetPersistingL2Cache: {error.name}")

    def _run(self) -> None:
        for number, call in enumerate(self._calls):
            if number in self._asks:
                self._ask(number)
            for run in call.runs:
                run()
        if self._asks:
            last = self._events[len(self._calls)]
            last.record(self._side)
            self._main.wait_event(last)

    def _ask(self, number: int) -> None:
        self._events[number].record(self._main)
        self._side.wait_event(self._events[number])
        self._side.use()
        try:
            self._asks[number]()
        finally:
            # Leaving a `with` would make the default stream the current one.
            self._main.use()


def _reading(call: Call) -> Reading:
    return Reading(sum(_bytes(call)), call.us, call.waits_us)


def _bytes(call: Call) -> Sequence[int]:
    return [int(placed.array.nbytes) for placed in call.weights]


def _asking(calls: Sequence[Call], blocks: int, priority: Priority) -> Run:
    """What asks for these calls' weights once it is started."""
    pointers = [placed.pointer for call in calls for placed in call.weights]
    addresses = cupy.asarray(pointers, dtype=cupy.uint64)
    sizes = cupy.asarray([size for call in calls for size in _bytes(call)], dtype=cupy.int64)
    arguments: tuple[Any, ...] = (addresses, sizes, np.int32(len(pointers)))
    kernel = _kernel(priority)
    return lambda: kernel((blocks,), (THREADS,), arguments)


@cache
def _kernel(priority: Priority) -> Any:
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
