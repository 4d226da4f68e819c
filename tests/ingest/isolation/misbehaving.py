"""A process of ingest that does what the name of a model says, once it has the model."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from benanza_ingest import core
from benanza_ingest.errors import ModelError
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.isolation import worker
from benanza_ingest.limits import Limits
from benanza_ingest.reading.allowed import Allowed
from benanza_schemas.events import ModelPublished


def misbehave(
    published: ModelPublished, content: bytes, limits: Limits
) -> Iterable[ExtractedModel]:
    match published.name:
        case "crash":
            ctypes.string_at(0)
        case "exit":
            os._exit(7)
        case "slow":
            time.sleep(2)
        case "hang":
            time.sleep(3600)
        case "hang in native code":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            time.sleep(3600)
        case "take all memory":
            held = [np.empty(1 << 27) for _ in range(100)]
            raise ModelError(f"{len(held)} GB were to be had")
        case "print":
            sys.stderr.write("\x1b[31mforged\nERROR forged\x1b[0m\n")
            os._exit(7)
        case "print much":
            with suppress(OSError):
                os.write(2, b"x" * 1_000_000)
                os.write(2, b"and more")
            os._exit(7)
        case "a defect":
            raise KeyError("what isn't\nthere")
        case "process id":
            raise ModelError(str(os.getpid()))
        case "environment":
            raise ModelError(" ".join(os.environ))
    if published.name.startswith("break out of "):
        break_out(Path(published.name.removeprefix("break out of ")))
    return core.extracted(published, content, limits)


def break_out(folder: Path) -> None:
    """Tries what a model that has taken over the process would: raises what came of it.

    Everybody may write to the folder, in which there is a file `secret`.
    """
    parent = os.getppid()
    libc = ctypes.CDLL(None, use_errno=True)
    attempts: dict[str, Callable[[], object]] = {
        "read": lambda: (folder / "secret").read_text(),
        "list": lambda: list(folder.iterdir()),
        "write": lambda: (folder / "new").write_text("x"),
        "change": lambda: (folder / "secret").chmod(0o777),
        "remove": lambda: (folder / "secret").unlink(),
        "connect": lambda: socket.create_connection(("127.0.0.1", 9), timeout=1),
        "send": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "listen": lambda: socket.create_server(("127.0.0.1", 0)),
        "talk": lambda: socket.socket(socket.AF_UNIX),
        "start": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
        "fork": os.fork,
        "environment": lambda: Path(f"/proc/{parent}/environ").read_bytes(),
        "signal": lambda: os.kill(parent, 0),
        "outlive": lambda: _checked(libc.prctl(1, 0, 0, 0, 0)),
        "lower limits": lambda: _checked(libc.prlimit(parent, 7, bytes(16), None)),
        "filter": lambda: _checked(libc.prctl(22, 2, None, 0, 0)),
        "execute": lambda: _checked(libc.mprotect(_page(), 4096, 7)),
        "own signals": lambda: _checked(libc.fcntl(1, 8, parent)),
        "leave its group": os.setsid,
    }
    came = []
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError as error:
            came.append(f"{name}: {type(error).__name__}")
        else:
            came.append(f"{name}: DONE")
    raise ModelError(", ".join(came))


_MEMORY = ctypes.create_string_buffer(8192)


def _page() -> ctypes.c_void_p:
    """A page of the memory."""
    return ctypes.c_void_p((ctypes.addressof(_MEMORY) + 4095) & ~4095)


def _checked(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), "")


def anywhere(allowed: Allowed, path: Path) -> Path:
    """What a fetching process that was taken over makes of a path that isn't allowed."""
    return path


if __name__ == "__main__":
    Allowed.file = anywhere  # type: ignore[assignment, method-assign]
    worker.main(int(sys.argv[1]), partial(worker.answer, taking_apart=misbehave))
