"""What a machine has beside its processes: a disk, which may be full, and a clock."""

import mmap
import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from benanza_backbone.closing import Closing

SIZE = "2g"
"""Of a disk, unless it is full. Memory is taken only for what is on it."""

CLOCK_C = Path(__file__).with_name("clock.c")


class Disk(Closing):
    """A filesystem of its own, in memory, mounted on a folder. It goes with all that is on it.

    Raises `DiskError` where mounting isn't permitted.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)
        _mount("-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder))

    def fill(self) -> None:
        """From now on a write that needs space fails with ENOSPC."""
        while True:
            found = os.statvfs(self._folder)
            used = (found.f_blocks - found.f_bfree) * found.f_frsize
            # Refused if something was written in between.
            with suppress(DiskError):
                _mount("-o", f"remount,size={max(used, found.f_frsize)}", str(self._folder))
                return

    def free(self) -> None:
        """There is space again."""
        _mount("-o", f"remount,size={SIZE}", str(self._folder))

    def close(self) -> None:
        # Lazily: whoever was killed just now may still be ending.
        subprocess.run(["umount", "--lazy", str(self._folder)], check=True)


class DiskError(Exception):
    """What `mount` says."""


def disks_refused() -> str:
    """Why no disk can be made here; empty if one can."""
    try:
        with tempfile.TemporaryDirectory() as folder, Disk(Path(folder)):
            return ""
    except DiskError as error:
        return f"mounting isn't permitted ({error}): be root, or say unshare -rm before the command"


def _mount(*arguments: str) -> None:
    try:
        done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise DiskError(str(error)) from error
    if done.returncode:
        raise DiskError(done.stderr.strip())


class Clock(Closing):
    """How far the clock of some processes is ahead of the machine's.

    `environment` makes a process have it. Monotonic clocks are not touched.
    """

    def __init__(self, folder: Path) -> None:
        file, library = folder / "clock", folder / "clock.so"
        file.write_bytes(bytes(8))
        command = ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror"]
        subprocess.run([*command, "-o", str(library), str(CLOCK_C)], check=True)
        self.environment = {"LD_PRELOAD": str(library), "CHAOS_CLOCK": str(file)}
        with file.open("r+b") as opened:
            self._mapped = mmap.mmap(opened.fileno(), 8)

    def set_ahead(self, seconds: float) -> None:
        """Jumps."""
        # One store of eight bytes, so that nobody reads half of a number.
        memoryview(self._mapped).cast("q")[0] = round(seconds * 1e9)

    def close(self) -> None:
        self._mapped.close()
