"""The store and its tenants as processes, and what they take of memory."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benanza_backbone.closing import Closing

_PROGRAM = "from benanza.cli import main; main()"


class StoreProcess(Closing):
    """`benanza serve weights`, in a folder of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.socket = folder / "weights.sock"
        environment = {**os.environ, "BENANZA_METRICS_PORT": "0", "BENANZA_DATA": str(folder)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, "serve", "weights", *options],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self._process.stdout
        self.first_line = self._process.stdout.readline().strip()
        self.page = self.first_line.rpartition(", ")[2]
        self.pid = self._process.pid

    def kill(self) -> None:
        """As `kill -9`."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """As people end it; the exit status."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(30)

    def close(self) -> None:
        """Ends it, if it runs."""
        self.kill()
        if self._process.stdout:
            self._process.stdout.close()


class TenantProcess(Closing):
    """A tenant. `started` is when its process was, in seconds of `time.monotonic`."""

    def __init__(self, how: str, model: Path, socket: Path | str = "") -> None:
        self.started = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.weights.tenant", how, str(model), str(socket)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid

    def ran(self) -> dict[str, Any]:
        """What it says once it has run the model, with the seconds since its process was started.

        Raises `RuntimeError` with its last words if it has ended.
        """
        assert self._process.stdout
        assert self._process.stderr
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(self._process.stderr.read().strip().splitlines()[-1:])
        return {**json.loads(line), "all_seconds": time.monotonic() - self.started}

    def asks(self) -> None:
        """Waits until a tenant that only reads is about to ask."""
        assert self._process.stdout
        self._process.stdout.readline()

    def read_again(self) -> dict[str, Any]:
        """What it reads now."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self.ran()

    def kill(self) -> None:
        """As `kill -9`."""
        self._process.kill()

    def close(self) -> None:
        """Lets it end."""
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream:
                stream.close()
        self._process.wait(30)


def pss_bytes(pids: Sequence[int]) -> int:
    """Memory of these processes; what several have mapped counts in parts (PSS)."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def holding(pids: Iterable[int]) -> list[int]:
    """Those of these processes that have weights of a store open or mapped."""
    found = []
    for pid in pids:
        process = Path(f"/proc/{pid}")
        try:
            opened = [str(file.readlink()) for file in (process / "fd").iterdir()]
            mapped = (process / "maps").read_text("utf-8", errors="replace")
        except OSError:
            continue
        if "benanza-weights" in mapped or any("benanza-weights" in name for name in opened):
            found.append(pid)
    return found


def shared_bytes() -> int:
    """Shared memory of the whole machine, among it all memfds."""
    (line,) = [x for x in Path("/proc/meminfo").read_text("ascii").splitlines() if "Shmem:" in x]
    return int(line.split()[1]) * 1024


def forget_cached(*files: Path) -> None:
    """Takes files out of the page cache, once they are on disk."""
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
