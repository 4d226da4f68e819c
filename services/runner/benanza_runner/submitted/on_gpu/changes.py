"""Changes the inputs of a kernel on the device between any two calls, as `Disturbance` does.

The referee makes the same changes on the host, from the same seed.
"""

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.submitted.disturbance import (
    BLOCK,
    PATTERNS,
    PLACES,
    BlockChanges,
    block_changes,
)

_THREADS, _MOST_BLOCKS = 256, 1056

_SOURCE = f"""
extern "C" __global__ void change(
    Element *to, const Element *pool, const int *starts, const Element *patterns,
    unsigned *turn, unsigned *finished, long long size
) {{
    // The last block to finish makes it the next turn: by then all others have read this one.
    const unsigned now = *(volatile unsigned *)turn + 1;
    const unsigned place = now % {PLACES}, pattern = now % {PATTERNS};
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step) {{
        const long long block = i / {BLOCK};
        const long long from = starts[block * {PLACES} + place] + i % {BLOCK};
        to[i] = pool[from] ^ patterns[block * {PATTERNS} + pattern];
    }}
    __syncthreads();
    if (threadIdx.x == 0) {{
        __threadfence();
        if (atomicInc(finished, gridDim.x - 1) == gridDim.x - 1) *turn = now;
    }}
}}
"""

_WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long"}


class DeviceChanges:
    """Changes all these arrays of the device at a time. With None in the place of a pool an array
    stays as it is. Arrays may not move; pools are copied anew at each `begin`.
    """

    def __init__(self, arrays: Sequence[Any], pools: Sequence[Array | None]) -> None:
        self._pairs = [
            (array, pool) for array, pool in zip(arrays, pools, strict=True) if pool is not None
        ]
        self._changed = [_ChangedArray(array, pool) for array, pool in self._pairs]

    def begin(self, seed: int) -> None:
        """Makes the changes of a seed the next ones, from the first on."""
        random = np.random.default_rng(seed)
        for changed, (_, pool) in zip(self._changed, self._pairs, strict=True):
            changed.begin(pool, random)

    def step(self) -> None:
        """Starts the next change on the current stream."""
        for changed in self._changed:
            changed.step()


class _ChangedArray:
    def __init__(self, array: Any, pool: Array) -> None:
        self._word = np.dtype(f"uint{8 * array.itemsize}")
        self._to = array.reshape(-1).view(self._word)
        self._dtype = pool.dtype
        self._pool = cupy.empty(pool.size, self._word)
        blocks = -(-array.size // BLOCK)
        self._starts = cupy.empty((blocks, PLACES), np.int32)
        self._patterns = cupy.zeros((blocks, PATTERNS), self._word)
        self._turn = cupy.zeros(2, np.uint32)
        source = _SOURCE.replace("Element", _WORDS[array.itemsize])
        self._kernel = cupy.RawKernel(source, "change")
        self._kernel.compile()

    def begin(self, pool: Array, random: np.random.Generator) -> None:
        self._pool.set(pool.view(self._word))
        changes = list(block_changes(self._to.size, self._dtype, random))
        self._starts.set(np.array([block.starts for block in changes], np.int32))
        self._patterns.set(np.stack([self._bits(block) for block in changes]))
        self._turn.fill(0)

    def step(self) -> None:
        blocks = min(-(-self._to.size // _THREADS), _MOST_BLOCKS)
        arguments = (self._to, self._pool, self._starts, self._patterns, self._turn)
        more = (self._turn[1:], np.int64(self._to.size))
        self._kernel((blocks,), (_THREADS,), (*arguments, *more))

    def _bits(self, block: BlockChanges) -> Array:
        none = np.zeros(PATTERNS, self._word)
        return none if block.patterns is None else block.patterns.astype(self._word)
