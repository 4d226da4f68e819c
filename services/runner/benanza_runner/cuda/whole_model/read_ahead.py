"""A model run with its weights read ahead: before a call starts, they are in the last cache.

A model's weights outgrow the cache long before it does what it computes, so each call waits for
its own from memory. Beside the calls, in the same CUDA graph, a kernel of few blocks asks for the
weights of calls to come.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.arrays import Placed
from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.whole_model.asks import asks
from benanza_runner.cuda.whole_model.witness import Witness

AHEAD_BYTES = 2_000_000
LEAST_BYTES = 300_000
"""Starting a kernel beside the others takes them a microsecond, so it has to be worth it."""

MOST_BYTES = 16_000_000
"""Of one call. What reads more is bound by memory anyway, and would drive out the others'."""

BLOCKS = 16
THREADS = 256


class ReadAhead:
    """A witness that runs one call after the other, with weights read ahead on another stream.

    They are asked for by `least_bytes` or more.
    """

    def __init__(self, witness: Witness, least_bytes: int = LEAST_BYTES) -> None:
        self._calls = witness.calls
        self._main = witness.stream
        self._side = cupy.cuda.Stream(non_blocking=True)
        weights = [_wanted(call.weights) for call in witness.calls]
        found = asks([sum(_bytes(each)) for each in weights], AHEAD_BYTES, least_bytes)
        self._asks = {
            call: _asking([placed for later in wanted for placed in weights[later]])
            for call, wanted in found.items()
        }
        self._events = {
            call: cupy.cuda.Event(disable_timing=True) for call in (*self._asks, len(self._calls))
        }

    @property
    def worth_it(self) -> bool:
        """Whether there is anything to ask for."""
        return bool(self._asks)

    def run(self) -> None:
        """Starts the model once; it may be captured into a graph."""
        for number, call in enumerate(self._calls):
            if number in self._asks:
                self._events[number].record(self._main)
                self._side.wait_event(self._events[number])
                self._side.use()
                self._asks[number]()
                # Leaving a `with` would make the default stream the current one.
                self._main.use()
            for run in call.runs:
                run()
        last = self._events[len(self._calls)]
        last.record(self._side)
        self._main.wait_event(last)


def _wanted(weights: Sequence[Placed]) -> list[Placed]:
    return list(weights) if sum(_bytes(weights)) <= MOST_BYTES else []


def _bytes(weights: Sequence[Placed]) -> list[int]:
    return [int(placed.array.nbytes) for placed in weights]


def _asking(weights: Sequence[Placed]) -> Run:
    """What asks for these once it is started."""
    addresses = cupy.asarray([placed.pointer for placed in weights], dtype=cupy.uint64)
    sizes = cupy.asarray(_bytes(weights), dtype=cupy.int64)
    arguments: tuple[Any, ...] = (addresses, sizes, np.int32(len(weights)))
    kernel = _kernel()
    return lambda: kernel((BLOCKS,), (THREADS,), arguments)


@cache
def _kernel() -> Any:
    return cupy.RawKernel(
        """
extern "C" __global__ void read_ahead(
    const unsigned long long* __restrict__ addresses, const long long* __restrict__ sizes, int n) {
  const long long line = 128;
  const long long step = gridDim.x * (long long)blockDim.x * line;
  for (int k = 0; k < n; ++k)
    for (long long at = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * line; at < sizes[k];
         at += step)
      asm volatile("prefetch.global.L2 [%0];" :: "l"(addresses[k] + at));
}
""",
        "read_ahead",
    )
