"""How long a call takes that is interleaved with other kernels, as it is within a model.

The same call over and over finds its code and its constants in the caches of the multiprocessors,
and its weights in the last cache. Within a model, other kernels have run in between. So a call is
timed in turns with a kernel of much code that runs on all multiprocessors, the spacer. The spacer's
own time, taken in turns with another of its kind, is subtracted.

Weights are cold after a kernel that reads more than the last cache holds. What the call reads of
other calls is then read again, because within a model it would just have been written; and so is
its scratch memory, which a model's calls share.
"""

from collections.abc import Sequence
from functools import cache
from statistics import median
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.candidate import Run, in_turn
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.search.instruments import NoiseError, Timer
from benanza_runner.measuring.batch import calls_for

SAMPLES = 7
REPLAY_US = 700.0
MOST_CALLS = 100
MOST_COLD_CALLS = 16
INSTRUCTIONS = 2_000
"""Of 16 bytes each: as much code as a convolution has."""

THREADS = 128
TOUCH_THREADS = 256
FLUSH_CACHES = 1.5
"""How much is read to empty the last cache, in sizes of that cache."""


class CudaInterleavedTimer:
    """Times calls with spacers between them, on the timer's stream."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        attributes = cupy.cuda.Device().attributes
        self.cache_bytes = int(attributes["L2CacheSize"])
        self._blocks = int(attributes["MultiProcessorCount"])
        self._sink = cupy.zeros(1024, cupy.float32)
        self._flushed = cupy.zeros(int(self.cache_bytes * FLUSH_CACHES) // 16 * 4, cupy.float32)
        self._spacers = [self._spacer(seed) for seed in (1, 2)]
        self._spacer_us: float | None = None
        self._without_us: dict[tuple[int, ...], float] = {}

    def forget(self) -> None:
        """Drops the times that are subtracted, so that they are taken again."""
        self._spacer_us = None
        self._without_us.clear()

    def interleaved_us(self, run: Run, alone_us: float) -> tuple[float, ...]:
        """Samples of a call after a spacer, in microseconds.

        `alone_us` is about what the call takes by itself. Raises `NoiseError`.
        """
        if self._spacer_us is None:
            both = self._samples(in_turn(*self._spacers), 20.0, MOST_CALLS)
            self._spacer_us = median(both) / 2
        about_us = alone_us + self._spacer_us
        together = self._samples(in_turn(self._spacers[0], run), about_us, MOST_CALLS)
        return _differences(together, self._spacer_us)

    def weights_cold_us(
        self,
        run: Run,
        alone_us: float,
        read: Sequence[DeviceTensor],
        written: DeviceTensor,
        scratch: Any | None,
    ) -> tuple[float, ...]:
        """Samples of a call whose weights are in memory, in microseconds.

        What it reads of other calls, `read`, and its scratch memory are in the last cache.
        Emptying the cache writes back what the call has written; within a model the result would be
        overwritten before that. So the time that is subtracted is that of kernels in the call's
        stead that only write as much. It is the same for all calls that read and write as much. A
        call that writes less scratch memory than it asks for thereby seems to take less. Raises
        `NoiseError`.
        """
        own = [] if scratch is None else [scratch[: self.cache_bytes]]
        inputs = [*own, *(tensor.array for tensor in read)]
        outputs = [*own, written.array]
        before = [self._touch(array) for array in (self._flushed, *inputs)]
        sizes = len(own), *(array.nbytes for array in (*outputs, *inputs))
        if sizes not in self._without_us:
            write = in_turn(*(self._write(array) for array in outputs))
            write_us = median(self.interleaved_us(write, alone_us))
            without = self._samples(in_turn(*before, write), 40.0 + alone_us, MOST_COLD_CALLS)
            self._without_us[sizes] = median(without) - write_us
        together = self._samples(in_turn(*before, run), 40.0 + alone_us, MOST_COLD_CALLS)
        return _differences(together, self._without_us[sizes])

    def _samples(self, run: Run, about_us: float, most: int) -> list[float]:
        batch = self._timer.replayed(run, calls_for(about_us, REPLAY_US, most))
        batch.call_us()
        return [batch.call_us() for _ in range(SAMPLES)]

    def _spacer(self, seed: int) -> Run:
        kernel = _much_code(seed)
        arguments = (self._sink, np.float32(0.5))
        return lambda: kernel((self._blocks,), (THREADS,), arguments)

    def _touch(self, array: Any) -> Run:
        """Reads an array into the last cache."""
        kernel = _reading()
        words = np.int64(array.nbytes // 16)
        blocks = max(1, min(self._blocks * 8, -(-int(words) // TOUCH_THREADS)))
        arguments = (array, words, self._sink)
        return lambda: kernel((blocks,), (TOUCH_THREADS,), arguments)

    def _write(self, array: Any) -> Run:
        """Writes an array, that is its whole words."""
        kernel = _writing()
        words = np.int64(array.nbytes // 4)
        blocks = max(1, min(self._blocks * 8, -(-int(words) // TOUCH_THREADS)))
        arguments = (array, words)
        return lambda: kernel((blocks,), (TOUCH_THREADS,), arguments)


def _differences(together: Sequence[float], without_us: float) -> tuple[float, ...]:
    """Raises `NoiseError` where none is more than nothing."""
    differences = tuple(us - without_us for us in together if us > without_us)
    if not differences:
        raise NoiseError("interleaved it takes no longer than the other kernels alone")
    return differences


@cache
def _much_code(seed: int) -> Any:
    """The spacer: `INSTRUCTIONS` instructions in a row, each with a constant of its own."""
    random = np.random.default_rng(seed)
    lines = "\n".join(
        f"  v = fmaf(v, {factor:.6f}f, {term:.6f}f);"
        for factor, term in random.uniform(0.1, 0.9, (INSTRUCTIONS, 2))
    )
    return cupy.RawKernel(
        f"""
extern "C" __global__ void much_code(float* sink, float v) {{
{lines}
  if (v == 1e30f) sink[threadIdx.x] = v;
}}
""",
        "much_code",
    )


@cache
def _reading() -> Any:
    return cupy.RawKernel(
        """
extern "C" __global__ void reading(const uint4* __restrict__ p, long long words, float* sink) {
  unsigned v = 0;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < words;
       i += gridDim.x * (long long)blockDim.x) {
    const uint4 word = p[i];
    v ^= word.x ^ word.y ^ word.z ^ word.w;
  }
  if (v == 0x9e3779b9u) sink[0] = 1.0f;
}
""",
        "reading",
    )


@cache
def _writing() -> Any:
    return cupy.RawKernel(
        """
extern "C" __global__ void writing(unsigned* __restrict__ p, long long words) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < words;
       i += gridDim.x * (long long)blockDim.x)
    p[i] = 0x3c003c00u + (unsigned)i % 1000u;
}
""",
        "writing",
    )
