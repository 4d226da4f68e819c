"""A runner for each GPU of this machine: processes that are started again when they end."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from benanza_backbone.errors import BenanzaError
from benanza_runner.nvidia import visible_gpus

ALL = "all"
"""Every GPU that CUDA sees here."""

PROGRAM: tuple[str, ...] = (sys.executable, "-c", "from benanza.cli import main; main()")

AGAIN_S = 10.0
"""After so many seconds a runner that has ended is started again."""

TURN_S = 0.2

log = logging.getLogger(__name__)


def named_gpus(text: str) -> tuple[str, ...]:
    """The GPUs in `all`, or in numbers and UUIDs as `CUDA_VISIBLE_DEVICES` has them.

    Raises `BenanzaError` if there are none.
    """
    named = (gpu.strip() for gpu in text.split(","))
    gpus = visible_gpus() if text == ALL else tuple(dict.fromkeys(filter(None, named)))
    if not gpus:
        raise BenanzaError(
            "no GPU is seen here: look at nvidia-smi and CUDA_VISIBLE_DEVICES, or name GPUs, as "
            "--gpus 0,1"
        )
    return gpus


def serve_each(gpus: Sequence[str], arguments: Sequence[str], metrics_port: int) -> int:
    """Keeps `benanza` with these arguments running once for each GPU, until a signal ends it.

    The first has its status pages on `metrics_port`, each other on the next port; 0 is any free
    port for all. Each signal is passed on, so that they do with it what one by itself does. The
    exit status is 0 if all of them then end with 0. To be called in the process's main thread.
    """
    environments = environments_of(gpus, metrics_port, os.environ)
    with _noted_signals() as signals:
        runners = [_Runner(gpu, (*PROGRAM, *arguments), environments[gpu]) for gpu in gpus]
        passed_on = 0
        while not signals or any(runner.lives() for runner in runners):
            for number in signals[passed_on:]:
                passed_on += 1
                for runner in runners:
                    runner.tell(number)
            if not signals:
                for runner in runners:
                    runner.keep()
            time.sleep(TURN_S)
        return max(runner.status() for runner in runners)


def environments_of(
    gpus: Sequence[str], metrics_port: int, environ: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """The environment of each GPU's runner: it sees this GPU alone, and shares the machine."""
    return {
        gpu: {
            **environ,
            "CUDA_VISIBLE_DEVICES": gpu,
            "BENANZA_METRICS_PORT": str(metrics_port + number if metrics_port else 0),
            "BENANZA_RUNNERS": str(len(gpus)),
        }
        for number, gpu in enumerate(gpus)
    }


class _Runner:
    """A runner's process, in a process group of its own: a terminal's Ctrl-C comes once."""

    def __init__(self, gpu: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._gpu = gpu
        self._command = command
        self._environment = environment
        self._ended_s = 0.0
        self._process = self._started()

    def lives(self) -> bool:
        return self._process.poll() is None

    def status(self) -> int:
        """Its exit status; 1 for any that isn't 0."""
        return int(self._process.wait() != 0)

    def tell(self, number: int) -> None:
        """Passes a signal on; SIGTERM and SIGINT mean the same to a service."""
        if self.lives():
            self._process.send_signal(number)

    def keep(self) -> None:
        """Starts it again some seconds after it has ended."""
        if self.lives():
            return
        now_s = time.monotonic()
        if not self._ended_s:
            self._ended_s = now_s
            log.error(
                "the runner on GPU %s has ended with %d; it is started again in %g s",
                self._gpu,
                self._process.returncode,
                AGAIN_S,
            )
        elif now_s - self._ended_s > AGAIN_S:
            self._ended_s = 0.0
            self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(self._command, env=self._environment, process_group=0)
        log.info("the runner on GPU %s is process %d", self._gpu, process.pid)
        return process


@contextmanager
def _noted_signals() -> Iterator[list[int]]:
    """The signals that came to end this process, in order."""
    noted: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        noted.append(number)

    former = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield noted
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
