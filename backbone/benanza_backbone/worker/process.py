"""A worker process, as its parent sees it: started, asked, ended."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

import msgspec

from benanza_backbone.closing import Closing
from benanza_backbone.worker import frames
from benanza_backbone.worker.frames import FrameError
from benanza_schemas.one_line import one_line

_WORDS_BYTES = 2_000

END_SECONDS = 5.0
"""How long a process that has closed its socket may take to end."""


T = TypeVar("T")


class WorkerError(Exception):
    """The worker gave no answer, and has ended. The text says what became of it.

    `words` is the last line that it printed if it ended by itself, and may be anything.
    """

    def __init__(self, text: str, words: str = "") -> None:
        super().__init__(text)
        self.words = words


class LateWorkerError(WorkerError):
    """The worker took too long."""


class WorkerProcess(Closing):
    """A process that runs a module of Python, and ends when this one does.

    The module is run with one argument, the file descriptor of a socket to this process. Its
    standard input is a pipe that closes when this process ends, however it ends. It finds modules
    as this process does, and has no other variables of the environment than these. Its output goes
    to a file, of which the last line can be part of an error. Closed, it has `patience` seconds to
    end by itself, before it is ended. It inherits the file descriptors `files`.
    """

    def __init__(
        self,
        module: str,
        environment: Mapping[str, str],
        patience: float = 0.0,
        files: Sequence[int] = (),
    ) -> None:
        self._patience = patience
        self.socket, theirs = socket.socketpair()
        self.socket.setblocking(False)
        self._printed = tempfile.TemporaryFile("a+b")  # noqa: SIM115  # closed with the process
        with theirs:
            self._process = subprocess.Popen(
                # -P: a file in the working directory must not stand in for a library.
                [sys.executable, "-P", "-m", module, str(theirs.fileno())],
                stdin=subprocess.PIPE,
                stdout=self._printed,
                stderr=self._printed,
                pass_fds=(theirs.fileno(), *files),
                env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )

    def ask(
        self, request: bytes, replies: msgspec.msgpack.Decoder[T], seconds: float, most_bytes: int
    ) -> T:
        """The worker's answer, decoded from at most so many bytes.

        Raises `WorkerError` as `answering` does, and if the worker spoke before it was asked.
        """
        worker = self.socket.fileno()
        with self.answering(seconds) as deadline:
            if not frames.is_quiet(worker):
                frames.receive(worker, 0, deadline)  # It may have ended.
                raise FrameError("before it was asked")
            frames.send(worker, request, deadline)
            return decoded(frames.receive(worker, most_bytes, deadline), replies)

    @contextmanager
    def answering(self, seconds: float) -> Iterator[float]:
        """A block in which the worker is asked and answers, before the deadline that it is given.

        Where the block raises as `frames` and `decoded` do, the worker is closed, and a
        `WorkerError` says what became of it.
        """
        self._printed.truncate(0)
        try:
            yield monotonic() + seconds
        except TimeoutError:
            self.close()
            raise LateWorkerError(f"took longer than {seconds:g} seconds") from None
        except (EOFError, ConnectionError):
            error = self._ended()
            self.close()
            raise error from None
        except FrameError as error:
            self.close()
            raise WorkerError(f"answered what is no answer: {one_line(str(error))}") from None

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether it hasn't ended by itself, and wasn't closed."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Ends the process at once, even if another thread waits for its answer."""
        self._process.kill()

    def close(self) -> None:
        """Ends the process, even if it is busy. It may be called again."""
        self.socket.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(self._patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._printed.close()

    def _ended(self) -> WorkerError:
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return WorkerError("the process stopped answering")
        words = self._last_words()
        if status >= 0:
            return WorkerError(f"the process ended with status {status}", words)
        name = signal.Signals(-status).name
        hint = ", as the system does when memory runs out" if name == "SIGKILL" else ""
        return WorkerError(f"the process was ended by {name}{hint}", words)

    def _last_words(self) -> str:
        size = self._printed.seek(0, os.SEEK_END)
        self._printed.seek(max(0, size - _WORDS_BYTES))
        lines = self._printed.read().decode(errors="replace").strip().splitlines()
        return one_line(lines[-1]) if lines else ""


def decoded(reply: bytes | bytearray, replies: msgspec.msgpack.Decoder[T]) -> T:
    """The structure in an answer. Raises `FrameError` if there is none."""
    try:
        return replies.decode(reply)
    except (ValueError, RecursionError) as error:
        raise FrameError(str(error)) from None
