"""Packed weights on disk, from where they are back sooner than from where they were published.

A file is named by the key that it is asked for by and by the SHA-256 of what is in it, which is
checked whenever it is read. So a damaged or exchanged file is never lent. Only the store's user can
read it: a tenant may have passed a file that others can't read.
"""

import fcntl
import logging
import os
import stat
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from benanza.weights.greedy_dual import GreedyDual
from benanza.weights.memory import SealedMemory
from benanza.weights.metrics import BYTES, EVICTIONS
from benanza_backbone.closing import Closing
from benanza_backbone.errors import BenanzaError
from benanza_backbone.weights.packed import Write

SUFFIX = ".weights"
PART = ".part"
_READ_BYTES = 1 << 22

_UNKNOWN_S_PER_BYTE = 2.0**-30
"""What it is taken to cost to bring something back that an earlier store has loaded. By the byte it
is exactly the same for all sizes, so that the oldest goes first.
"""

log = logging.getLogger(__name__)


class DiskTier(Closing):
    """A folder of packed weights of at most so many bytes, for one store.

    Threads may load at once; one saves. Raises `BenanzaError` if the folder can't be used.
    """

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._policy: GreedyDual[str] = GreedyDual()
        self._held: dict[str, _HeldFile] = {}
        self._guard = Lock()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for part in folder.glob(f"*{PART}"):  # of a store that was killed
                part.unlink()
            for path in sorted(folder.glob(f"*-*{SUFFIX}"), key=lambda path: path.stat().st_mtime):
                key, _, sha256 = path.stem.partition("-")
                size = path.stat().st_size
                _close_to_others(path)
                self._add(key, _HeldFile(path, sha256, size, cost_s=size * _UNKNOWN_S_PER_BYTE))
            self._make_room(0)
        except BlockingIOError as error:
            raise BenanzaError(f"another store uses {folder}; name another folder") from error
        except OSError as error:
            raise BenanzaError(f"{folder} can't be used: {error.strerror or error}") from error

    @property
    def used_bytes(self) -> int:
        """Of all that is held."""
        with self._guard:
            return self._used_bytes()

    def load(self, key: str, write: Write) -> str | None:
        """Writes what is held under this key, and returns the SHA-256 that it must have; None if
        nothing is held. Raises `OSError`.
        """
        with self._guard:
            held = self._held.get(key)
            if held is None:
                return None
            file = held.path.open("rb", buffering=0)  # may be removed while it is read
        buffer = memoryview(bytearray(_READ_BYTES))
        with file:
            while size := file.readinto(buffer):
                write(buffer[:size])
        return held.sha256

    def used(self, key: str) -> None:
        """It was used."""
        with self._guard:
            if held := self._held.get(key):
                self._policy.use(key, held.cost_s, held.size)

    def save(self, key: str, memory: SealedMemory, cost_s: float) -> None:
        """Holds a copy, if there is room for it once others are given up. To bring it back from
        where it was published takes so many seconds.
        """
        with self._guard:
            if key in self._held or memory.size > self._limit_bytes:
                return
            self._make_room(memory.size)
        path = self._folder / f"{key}-{memory.sha256}{SUFFIX}"
        part = path.with_suffix(PART)
        try:
            memory.copy_to(part)
            part.rename(path)
        except OSError as error:
            log.warning("weights can't be kept on disk: %s", error)
            part.unlink(missing_ok=True)
            return
        with self._guard:
            self._add(key, _HeldFile(path, memory.sha256, memory.size, cost_s))

    def drop(self, key: str) -> None:
        """Removes what is held under this key."""
        with self._guard:
            if key in self._held:
                self._drop(key)

    def close(self) -> None:
        """Lets another store have the folder."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _used_bytes(self) -> int:
        return sum(held.size for held in self._held.values())

    def _make_room(self, size: int) -> None:
        """Gives others up until so many bytes fit, which are no more than the limit."""
        while self._used_bytes() + size > self._limit_bytes:
            worst = self._policy.least(self._held)
            assert worst is not None
            self._drop(worst)
            EVICTIONS.labels("disk").inc()

    def _add(self, key: str, held: "_HeldFile") -> None:
        self._held[key] = held
        self._policy.use(key, held.cost_s, held.size)
        BYTES.labels("disk").set(self._used_bytes())

    def _drop(self, key: str) -> None:
        self._held.pop(key).path.unlink(missing_ok=True)
        self._policy.give_up(key)
        BYTES.labels("disk").set(self._used_bytes())


def _close_to_others(path: Path) -> None:
    """Earlier versions let all users read what they wrote."""
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        with suppress(PermissionError):  # not every file system has modes
            path.chmod(0o600)


class _HeldFile(NamedTuple):
    path: Path
    sha256: str
    size: int
    cost_s: float
