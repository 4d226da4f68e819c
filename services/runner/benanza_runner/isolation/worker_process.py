"""A worker process, as the runner sees it: started, asked, ended."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection

from benanza_runner.isolation.messages import MAX_MESSAGE_BYTES, Reply, Request, encoder, replies
from benanza_runner.reasons import one_line

WORKER_MODULE = "benanza_runner.isolation.worker"
MAX_WORDS_BYTES = 2_000
END_SECONDS = 5.0


class WorkerError(Exception):
    """The worker gave no answer, and has ended. The text says what became of it."""


class WorkerProcess:
    """A process that runs `WORKER_MODULE`, and ends when this one does.

    Its output goes to a file, so that the last line can be part of a failure's reason.
    """

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._printed = tempfile.TemporaryFile("a+b")  # noqa: SIM115  # closed with the process
        with theirs:
            self._process = subprocess.Popen(
                # -P: a file in the working directory must not stand in for a library.
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "benanza_runner.isolation.worker",
                    str(theirs.fileno()),
                ],
                stdin=subprocess.PIPE,
                stdout=self._printed,
                stderr=self._printed,
                pass_fds=(theirs.fileno(),),
                env=os.environ
                | {
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                    # As the driver's library counts GPUs, which says what they are called.
                    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
                },
            )
        self._connection = Connection(ours.detach())

    def ask(self, request: Request, seconds: float) -> Reply:
        """The worker's answer. Raises `WorkerError` if it ends, or takes longer than `seconds`."""
        self._printed.truncate(0)
        try:
            self._connection.send_bytes(encoder.encode(request))
            if not self._connection.poll(seconds):
                self.close()
                raise WorkerError(f"took longer than {seconds:g} seconds")
            reply: Reply = replies.decode(self._connection.recv_bytes(MAX_MESSAGE_BYTES))
        except (EOFError, ConnectionError) as error:
            raise WorkerError(self._how_it_ended()) from error
        return reply

    def _how_it_ended(self) -> str:
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.close()
            return "the process stopped answering"
        words = self._last_words()
        self.close()
        if status >= 0:
            return f"the process ended with status {status}{words}"
        name = signal.Signals(-status).name
        hint = ", as the system does when memory runs out" if name == "SIGKILL" else ""
        return f"the process was ended by {name}{hint}{words}"

    def _last_words(self) -> str:
        size = self._printed.seek(0, os.SEEK_END)
        self._printed.seek(max(0, size - MAX_WORDS_BYTES))
        lines = self._printed.read().decode(errors="replace").strip().splitlines()
        return f": {one_line(lines[-1])}" if lines else ""

    def kill(self) -> None:
        """Ends the process at once, even if another thread waits for its answer."""
        self._process.kill()

    def close(self) -> None:
        """Ends the process at once, even if it is busy. It may be called again."""
        self._connection.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._printed.close()
