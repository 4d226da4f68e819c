"""Memory that processes share, and that the last of them gives back, however it ends.

A memfd has no name: nothing has to be removed. Sealed, it can't be written, grown or shrunk by
anybody, so a reader's mapping never changes and never faults.
"""

import fcntl
import hashlib
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Self

from benanza_backbone.closing import Closing
from benanza_backbone.weights.packed import Write

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


class SealedMemory(Closing):
    """Bytes that were written once. `sha256` is theirs, in hexadecimal."""

    def __init__(self, file: int, sha256: str) -> None:
        self._file = file
        self.size = os.fstat(file).st_size
        self.sha256 = sha256

    @classmethod
    def filled(cls, fill: Callable[[Write], object]) -> Self:
        """What `fill` writes with the function that it is given."""
        file = os.memfd_create("benanza-weights", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            with os.fdopen(file, "wb", buffering=0, closefd=False) as opened:

                def write(part: bytes | bytearray | memoryview) -> None:
                    left = memoryview(part)
                    while left:
                        left = left[opened.write(left) :]

                fill(write)
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
            return cls(file, _sha256(file))
        except BaseException:
            os.close(file)
            raise

    def opened(self) -> int:
        """A file descriptor of its own, for reading, which the caller has to close."""
        return os.open(f"/proc/self/fd/{self._file}", os.O_RDONLY | os.O_CLOEXEC)

    def mapped(self) -> mmap.mmap:
        """The bytes in this process."""
        return mmap.mmap(self._file, self.size, mmap.MAP_SHARED, mmap.PROT_READ)

    def copy_to(self, path: Path) -> None:
        """Writes the bytes into a new file, for this user alone: they may be of a file that others
        can't read. Raises `OSError`.
        """
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(made, "wb", buffering=0) as file:
            sent = 0
            while sent < self.size:
                sent += os.sendfile(file.fileno(), self._file, sent, self.size - sent)

    def close(self) -> None:
        """Gives this process's share of it back."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _sha256(file: int) -> str:
    digest = hashlib.sha256()
    if size := os.fstat(file).st_size:
        with mmap.mmap(file, size, mmap.MAP_SHARED, mmap.PROT_READ) as mapped:
            digest.update(mapped)
    return digest.hexdigest()
