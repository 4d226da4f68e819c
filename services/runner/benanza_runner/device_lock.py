"""One process at a time on a device: the others prepare their work meanwhile."""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir
from types import TracebackType


def lock_path(device: str) -> Path:
    """The file by which all programs of this machine take turns on the device of this name."""
    return Path(gettempdir()) / f"benanza-{device}.lock"


class DeviceLock:
    """A context manager in which no other process that uses the same file is.

    It may be entered again within itself, by the same thread. A process that ends, however it
    does, leaves it. `held_s` is for how many seconds this process was in it so far. The file may be
    removed, as by what clears folders for temporary files: whoever enters then makes it anew.
    Raises `OSError` if it can't be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _opened(path)
        self._depth = 0
        self._entered_s = 0.0
        self.held_s = 0.0

    def __enter__(self) -> None:
        if not self._depth:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            while not leads_to(self._path, self._file):  # others lock another one by now
                os.close(self._file)
                self._file = _opened(self._path)
                fcntl.flock(self._file, fcntl.LOCK_EX)
            self._entered_s = time.perf_counter()
        self._depth += 1

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if not self._depth:
            self.held_s += time.perf_counter() - self._entered_s
            fcntl.flock(self._file, fcntl.LOCK_UN)


def leads_to(path: Path, file: int) -> bool:
    """Whether others that open the path now get the same file."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


def _opened(path: Path) -> int:
    with suppress(FileExistsError):  # It may be another user's: then it is only read.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o644))
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
