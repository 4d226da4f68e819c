"""The store of weights: which are held, who holds leases of them, and what goes when room lacks.

Threads ask at once. What several ask for is loaded once; who loads holds no lock, so nobody waits
for a slow load but those who want the same.
"""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition
from time import monotonic
from typing import NamedTuple

from benanza.weights.disk import DiskTier
from benanza.weights.greedy_dual import GreedyDual
from benanza.weights.memory import SealedMemory
from benanza.weights.metrics import (
    BYTES,
    EVICTIONS,
    HITS,
    LEASES,
    MISSES,
)
from benanza.weights.sources import WeightSource
from benanza_backbone.closing import Closing
from benanza_backbone.errors import BenanzaError
from benanza_backbone.weights.packed import PackedError, Write, index_of

MAX_KNOWN_KEYS = 10_000
"""Of which it is kept what they stand for. What is forgotten is loaded once more."""

log = logging.getLogger(__name__)


class NoRoomError(BenanzaError):
    """What is asked for doesn't fit beside what is leased."""


class LeasedMemory(NamedTuple):
    """Weights that aren't given up while they are leased. `tier` is where they were found: memory,
    disk, or source. `model_sha256` is that of the model's file.
    """

    memory: SealedMemory
    tier: str
    model_sha256: str


class _Held:
    """Weights in memory, with how many hold leases of them, and what their last load took."""

    def __init__(self, memory: SealedMemory, cost_s: float) -> None:
        self.memory = memory
        with memory.mapped() as mapped:
            self.model_sha256 = index_of(mapped).model_sha256
        self.cost_s = cost_s
        self.leases = 0


class WeightStore(Closing):
    """Weights in at most `memory_bytes` of shared memory, by their SHA-256, and copies on disk."""

    def __init__(self, memory_bytes: int, disk: DiskTier | None = None) -> None:
        self._limit_bytes = memory_bytes
        self._disk = disk
        self._changed = Condition()
        self._held: dict[str, _Held] = {}
        self._known: dict[str, str] = {}
        self._loading: set[str] = set()
        self._policy: GreedyDual[str] = GreedyDual()
        self._used_bytes = 0
        self._saving = 0
        self._saver = ThreadPoolExecutor(1, thread_name_prefix="save")

    @contextmanager
    def lease(self, source: WeightSource) -> Iterator[LeasedMemory]:
        """The weights, which are held at least until the block ends.

        Raises `NoRoomError`, and `ModelError` if they can't be had.
        """
        held, tier = self._leased(source)
        LEASES.inc()
        try:
            yield LeasedMemory(held.memory, tier, held.model_sha256)
        finally:
            LEASES.dec()
            self._end(held)

    def state(self) -> str:
        """What is held, in words."""
        with self._changed:
            leases = sum(held.leases for held in self._held.values())
            words = (
                f"{self._used_bytes:,} of {self._limit_bytes:,} bytes in memory, "
                f"{len(self._held)} models, {leases} leases"
            )
        return words if self._disk is None else f"{words}; {self._disk.used_bytes:,} bytes on disk"

    def close(self) -> None:
        """Gives up all that is held; tenants keep what they have mapped."""
        self._saver.shutdown(cancel_futures=True)
        with self._changed:
            for held in self._held.values():
                held.memory.close()
            self._held.clear()
            self._use(-self._used_bytes)
        if self._disk is not None:
            self._disk.close()

    def _leased(self, source: WeightSource) -> tuple[_Held, str]:
        key = source.key
        if key is None:
            return self._loaded(source)
        with self._changed:
            while True:
                held = self._held.get(self._known.get(key, ""))
                if held is not None:
                    self._lend(held)
                    HITS.labels("memory").inc()
                    return held, "memory"
                if key not in self._loading:
                    self._loading.add(key)
                    break
                self._changed.wait()
        try:
            return self._loaded(source)
        finally:
            with self._changed:
                self._loading.discard(key)
                self._changed.notify_all()

    def _lend(self, held: _Held) -> None:
        held.leases += 1
        self._policy.use(held.memory.sha256, held.cost_s, held.memory.size)

    def _loaded(self, source: WeightSource) -> tuple[_Held, str]:
        started = monotonic()
        key = source.key
        memory, tier = self._from_disk(key), "disk"
        if memory is None:
            MISSES.inc()
            memory, tier = self._filled(source.fill), "source"
        else:
            HITS.labels("disk").inc()
        cost_s = monotonic() - started
        with self._changed:
            held = self._held.get(memory.sha256)
            if held is None:
                held = self._held[memory.sha256] = self._made(memory, cost_s, key)
            else:  # the same weights in another file
                self._give_back(memory)
            self._lend(held)
            if key is not None:
                if len(self._known) >= MAX_KNOWN_KEYS:
                    self._known.clear()
                self._known[key] = held.memory.sha256
        if tier == "source" and key is not None and self._disk is not None:
            self._save(self._disk, key, held, cost_s)
        return held, tier

    def _made(self, memory: SealedMemory, cost_s: float, key: str | None) -> _Held:
        """What holds this memory, which is given back if that can't be."""
        try:
            return _Held(memory, cost_s)
        except (MemoryError, OSError, ValueError, PackedError) as error:
            self._give_back(memory)
            if key is not None and self._disk is not None:
                self._disk.drop(key)  # it may be why, and would be so again
            raise BenanzaError(
                "the store has loaded the weights and can't read them "
                f"({str(error) or type(error).__name__}); ask again"
            ) from error

    def _from_disk(self, key: str | None) -> SealedMemory | None:
        disk = self._disk
        if disk is None or key is None:
            return None
        wanted: list[str | None] = []
        try:
            memory = self._filled(lambda write: wanted.append(disk.load(key, write)))
        except OSError as error:
            log.warning("weights on disk can't be read: %s", error)
            disk.drop(key)
            return None
        if wanted == [memory.sha256]:
            disk.used(key)
            return memory
        self._give_back(memory)
        if wanted != [None]:
            log.warning("weights on disk are damaged, and are loaded anew: %s", key)
            disk.drop(key)
        return None

    def _filled(self, fill: Callable[[Write], object]) -> SealedMemory:
        """Memory with what `fill` writes, for which room is made as it is written."""
        taken = 0

        def checked(write: Write) -> None:
            def within(part: bytes | bytearray | memoryview) -> None:
                nonlocal taken
                self._make_room(len(part))
                taken += len(part)
                write(part)

            fill(within)

        try:
            return SealedMemory.filled(checked)
        except BaseException:
            self._use(-taken)
            raise

    def _make_room(self, size: int) -> None:
        with self._changed:
            while self._used_bytes + size > self._limit_bytes:
                free = [sha256 for sha256, held in self._held.items() if not held.leases]
                worst = self._policy.least(free)
                if worst is None and self._saving:
                    self._changed.wait()
                    continue
                if worst is None:
                    raise NoRoomError(
                        f"the weights don't fit into the {self._limit_bytes:,} bytes of the store "
                        "beside those that are leased or being loaded; end other tenants, or "
                        "start the store with more --memory"
                    )
                self._policy.give_up(worst)
                gone = self._held.pop(worst).memory
                self._known = {k: sha256 for k, sha256 in self._known.items() if sha256 != worst}
                self._use(-gone.size)
                gone.close()
                EVICTIONS.labels("memory").inc()
            self._use(size)

    def _save(self, disk: DiskTier, key: str, held: _Held, cost_s: float) -> None:
        """Copies the weights to disk in the background. They are leased until that is done."""

        def save() -> None:
            try:
                disk.save(key, held.memory, cost_s)
            finally:
                with self._changed:
                    self._saving -= 1
                    held.leases -= 1
                    self._changed.notify_all()

        with self._changed:
            self._saving += 1
            held.leases += 1
        self._saver.submit(save)

    def _end(self, held: _Held) -> None:
        with self._changed:
            held.leases -= 1

    def _give_back(self, memory: SealedMemory) -> None:
        self._use(-memory.size)
        memory.close()

    def _use(self, size: int) -> None:
        with self._changed:
            self._used_bytes += size
            BYTES.labels("memory").set(self._used_bytes)
