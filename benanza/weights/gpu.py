"""Copies of weights on GPUs, of what is held in memory."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import NamedTuple

import numpy as np

from benanza.weights.greedy_dual import GreedyDual
from benanza.weights.memory import SealedMemory
from benanza.weights.metrics import BYTES, EVICTIONS, HITS
from benanza_backbone.closing import Closing
from benanza_backbone.errors import BenanzaError
from benanza_backbone.weights.gpu_memory import exported

Export = Callable[[int, int, str], int]
"""Copies so many bytes at an address to the GPU of a UUID; the file descriptor of the copy."""


class GpuCopy(NamedTuple):
    """A file of memory on a GPU, and whether it was there before."""

    file: int
    was_there: bool


class _HeldCopy:
    def __init__(self, file: int, size: int, cost_s: float) -> None:
        self.file = file
        self.size = size
        self.cost_s = cost_s
        self.leases = 0


class GpuTier(Closing):
    """At most so many bytes on each GPU. One copy is made at a time."""

    def __init__(self, limit_bytes: int, export: Export = exported) -> None:
        self._limit_bytes = limit_bytes
        self._export = export
        self._guard = Lock()
        self._held: dict[tuple[str, str], _HeldCopy] = {}
        self._policy: GreedyDual[tuple[str, str]] = GreedyDual()

    @contextmanager
    def lease(self, gpu: str, memory: SealedMemory) -> Iterator[GpuCopy]:
        """A copy on the GPU of this UUID, at least until the block ends. Raises `BenanzaError`."""
        key = (gpu, memory.sha256)
        with self._guard:
            was_there = key in self._held
            if not was_there:
                self._make_room(gpu, memory.size)
                self._add(key, memory)
            else:
                HITS.labels("gpu").inc()
            held = self._held[key]
            held.leases += 1
            self._policy.use(key, held.cost_s, held.size)
        try:
            yield GpuCopy(held.file, was_there)
        finally:
            with self._guard:
                held.leases -= 1

    def close(self) -> None:
        """Gives up all copies; tenants keep what they have mapped."""
        with self._guard:
            for key in list(self._held):
                self._drop(key)

    def _make_room(self, gpu: str, size: int) -> None:
        def used() -> int:
            return sum(held.size for (there, _), held in self._held.items() if there == gpu)

        while used() + size > self._limit_bytes:
            free = [k for k, held in self._held.items() if k[0] == gpu and not held.leases]
            worst = self._policy.least(free)
            if worst is None:
                raise BenanzaError(
                    f"the weights don't fit into the {self._limit_bytes:,} bytes of the store on "
                    "this GPU beside those that are leased; start it with more --gpu-memory"
                )
            self._drop(worst)
            EVICTIONS.labels("gpu").inc()

    def _add(self, key: tuple[str, str], memory: SealedMemory) -> None:
        started = monotonic()
        with memory.mapped() as mapped:
            array = np.frombuffer(mapped, np.uint8)
            try:
                file = self._export(array.ctypes.data, memory.size, key[0])
            finally:
                del array  # a mapping with an array of it can't be closed
        self._held[key] = _HeldCopy(file, memory.size, monotonic() - started)
        self._count()

    def _drop(self, key: tuple[str, str]) -> None:
        os.close(self._held.pop(key).file)
        self._policy.give_up(key)
        self._count()

    def _count(self) -> None:
        BYTES.labels("gpu").set(sum(held.size for held in self._held.values()))
