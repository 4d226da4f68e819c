"""The step from one kernel of a CUDA graph to the next.

It takes 0.56 to 0.60 µs on an H200 in a fresh process, and 0.74 to 0.79 once certain calls were
made outside a graph (docs/gpu.md); then every kernel takes longer.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import cupy

from benanza_runner.cuda.graph_timer import GraphTimer

STEPS = 100
SAMPLES = 5
BLOCKS = 64
THREADS = 256


def steps(timer: GraphTimer) -> Callable[[], float]:
    """What says in microseconds what a step takes now, with kernels that do nothing.

    The least of a few times, as only waiting comes on top.
    """
    kernel = _nothing()

    def run() -> None:
        kernel((BLOCKS,), (THREADS,), ())

    run()
    batch = timer.replayed(run, STEPS)
    timer.wake(batch)
    return lambda: min(batch.call_us() for _ in range(SAMPLES))


@cache
def _nothing() -> Any:
    return cupy.RawKernel('extern "C" __global__ void nothing() {}', "nothing")
