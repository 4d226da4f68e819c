"""The launch overhead: how long a kernel of a CUDA graph takes that does nothing.

It is 0.56 to 0.60 µs on an H200 in a fresh process, and 0.74 to 0.79 µs once certain calls were
made outside a graph (docs/gpu.md); then every kernel takes longer.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import cupy

from benanza_runner.cuda.search.instruments import Timer
from benanza_runner.cuda.search.replays import wake

KERNELS = 100
SAMPLES = 5
BLOCKS = 64
THREADS = 256


def launch_overhead(timer: Timer) -> Callable[[], float]:
    """A function that measures the launch overhead now, in microseconds.

    It is the least of a few times, because only waiting comes on top.
    """
    kernel = _nothing()

    def run() -> None:
        kernel((BLOCKS,), (THREADS,), ())

    run()
    batch = timer.replayed(run, KERNELS)
    wake(batch)
    return lambda: min(batch.call_us() for _ in range(SAMPLES))


@cache
def _nothing() -> Any:
    return cupy.RawKernel('extern "C" __global__ void nothing() {}', "nothing")
