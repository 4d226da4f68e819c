"""What ingest is made to do in the tests by the name of a model."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benanza_ingest.core import Ingested, ingest
from benanza_ingest.limits import Limits
from benanza_schemas.events import ModelPublished


def misbehave(published: ModelPublished, content: bytes, limits: Limits) -> list[Ingested]:
    match published.name:
        case "crash":
            ctypes.string_at(0)
        case "slow":
            time.sleep(2)
        case "hang":
            time.sleep(3600)
        case "hang in native code":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            time.sleep(3600)
        case "take all memory":
            held = [np.empty(1 << 27) for _ in range(100)]
            raise ValueError(f"{len(held)} GB were to be had")
    return ingest(published, content, limits)


def process_id(published: ModelPublished, content: bytes, limits: Limits) -> list[Ingested]:
    raise ValueError(str(os.getpid()))


def break_out(published: ModelPublished, content: bytes, limits: Limits) -> list[Ingested]:
    """Tries what a model that has taken over the process would: raises what came of it.

    The name of the model is a folder that everybody may write to, with a file `secret` in it.
    """
    folder = Path(published.name)
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
        "environment": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
        "signal": lambda: os.kill(os.getppid(), 0),
    }
    came = []
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError as error:
            came.append(f"{name}: {type(error).__name__}")
        else:
            came.append(f"{name}: DONE")
    raise ValueError(", ".join(came))
