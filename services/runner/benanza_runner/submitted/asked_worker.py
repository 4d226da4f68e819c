"""The worker of a submitted kernel, as the referee asks it: whatever becomes of it is a refusal."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from benanza_backbone.worker import frames
from benanza_backbone.worker.process import WorkerError, WorkerProcess, decoded
from benanza_runner.reasons import short_reason
from benanza_runner.submitted.messages import (
    MOST_BYTES,
    CallsMade,
    KernelRefused,
    Reply,
    Request,
    encoder,
    replies,
)
from benanza_runner.submitted.outcome import KernelLimits, RefusedError
from benanza_runner.submitted.windows import cpu_clock
from benanza_schemas.one_line import one_line

NOT_ASKED = "its process answered what it wasn't asked"


class AskedWorker:
    """A worker process that is asked within limits. What it may raise is `RefusedError`."""

    def __init__(self, worker: WorkerProcess, limits: KernelLimits) -> None:
        self._worker = worker
        self._limits = limits

    @property
    def socket(self) -> int:
        """The file descriptor over which it is asked."""
        return self._worker.socket.fileno()

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._worker.pid

    def ask(self, request: Request, seconds: float | None = None) -> Reply:
        """What it answers to anything but `Run`, within so many seconds, or those of the limits."""
        with self.answering(seconds) as deadline:
            frames.send(self.socket, encoder.encode(request), deadline)
            reply = decoded(frames.receive(self.socket, MOST_BYTES, deadline), replies)
        if isinstance(accepted(reply), CallsMade):
            raise RefusedError(NOT_ASKED)
        return reply

    @contextmanager
    def answering(self, seconds: float | None = None) -> Iterator[float]:
        """A block in which the worker is asked and answers, which it may not do before, until the
        deadline that it is given.
        """
        try:
            with self._worker.answering(seconds or self._limits.seconds) as deadline:
                if not frames.is_quiet(self.socket):
                    frames.receive(self.socket, 0, deadline)  # It may have ended.
                    raise frames.FrameError("before it was asked")
                yield deadline
        except WorkerError as error:
            words = f": {short_reason(error.words)}" if error.words else ""
            raise RefusedError(f"{error}{words}") from error

    def is_waited_for(self, deadline: float) -> bool:
        """Whether it may still begin: it hasn't answered or ended, and there is time."""
        return frames.is_quiet(self.socket) and time.monotonic() < deadline

    def cpu_s(self) -> float:
        """For how long all its threads worked so far."""
        try:
            return time.clock_gettime(cpu_clock(self.pid))
        except OSError as error:  # It has ended.
            raise WorkerError(str(error)) from error


def accepted(reply: Reply) -> Reply:
    """The same reply. Raises `RefusedError` with its reason if the kernel is refused by it."""
    if isinstance(reply, KernelRefused):
        raise RefusedError(one_line(short_reason(reply.reason)))
    return reply
