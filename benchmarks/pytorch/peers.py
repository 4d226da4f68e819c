"""How long PyTorch takes for a whole model at its best, on the device; `benchmarks.pytorch.compare`
starts it.

Each model at each precision has a process of its own. All compile at the same time, without
running anything; then they run in turns, so that nothing runs on the device beside what is timed,
or beside what cuDNN and Triton time to choose an algorithm.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection

import torch
from torch._inductor import config as inductor_config

from benanza_runner.reasons import one_line
from benanza_schemas.layer import Precision
from benchmarks.pytorch.attempts import AUTOTUNED, CONFIGURATIONS, DTYPES, attempted, prepared
from benchmarks.pytorch.compare import parsed
from benchmarks.pytorch.models import architecture, images
from benchmarks.pytorch.report import Software, Timed, TorchAttempt, append

READY = "ready"
TURN_SECONDS = 180.0
AUTOTUNED_SECONDS = 1_800.0


def work(
    name: str, precision: Precision, batch: int, max_autotune: bool, connection: Connection
) -> None:
    """A process: compiles and says `READY`, and when it is told to, times and sends a `Timed`;
    or it sends why it can't.
    """
    try:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.benchmark = True
        inductor_config.freezing = True
        model, x = architecture(name), images(batch)
        with torch.no_grad():
            expected = model(x)
        ready = {
            configuration: prepared(configuration, model, x, device, DTYPES[precision])
            for configuration in CONFIGURATIONS
        }
        connection.send(READY)
        connection.recv()
        if max_autotune:  # It compiles by timing.
            ready[AUTOTUNED] = prepared(AUTOTUNED, model, x, device, DTYPES[precision])
        attempts = tuple(
            made
            if isinstance(made, TorchAttempt)
            else attempted(made, configuration.title(), precision, expected, device)
            for configuration, made in ready.items()
        )
        connection.send(Timed(model=name, precision=precision, batch=batch, attempts=attempts))
    except Exception as error:  # noqa: BLE001  # whatever it is, it has to be told
        connection.send(one_line(f"{type(error).__name__}: {error}"))


class Worker:
    """A process for a model at a precision."""

    def __init__(self, name: str, precision: Precision, batch: int, max_autotune: bool) -> None:
        spawning = get_context("spawn")
        self._name, self._precision, self._batch = name, precision, batch
        self._connection, there = spawning.Pipe()
        arguments = (name, precision, batch, max_autotune, there)
        self._process = spawning.Process(target=work, args=arguments, daemon=True)
        self._process.start()
        there.close()
        self._failure = ""

    def compiled(self, seconds: float) -> None:
        """Waits until it has compiled, at most so long; then it is ended."""
        self._answer(seconds, "it was not compiled in time")

    def turn(self, seconds: float) -> Timed:
        """Lets it time its model, ends it, and gives its result, a failure if there is none."""
        with suppress(OSError):  # It may have ended meanwhile, or have been ended.
            self._connection.send("go")
        found = self._answer(seconds, f"it was not timed in {seconds:.0f} s")
        self._end()
        return found or Timed(
            model=self._name,
            precision=self._precision,
            batch=self._batch,
            failure=self._failure,
        )

    def skip(self, reason: str) -> Timed:
        """Ends it without a turn."""
        self._failure = self._failure or reason
        return self.turn(0)

    def _answer(self, seconds: float, too_late: str) -> Timed | None:
        """What it sends if that is a result; else `_failure` says why not, if it should be one."""
        if self._failure:
            return None
        try:
            found = (
                self._connection.recv() if self._connection.poll(max(0.0, seconds)) else too_late
            )
        except (EOFError, OSError):
            self._process.join()
            found = f"its process ended with code {self._process.exitcode}"
        if isinstance(found, Timed):
            return found
        if found != READY:
            self._failure = found
            self._end()
        return None

    def _end(self) -> None:
        self._process.kill()
        self._process.join()


def main() -> None:
    """Times all that is asked for, and writes a row for each model and precision."""
    asked = parsed()
    append(asked.file, Software("PyTorch", software()))
    arguments = asked.models, asked.precisions, asked.batch, asked.max_autotune, asked.seconds
    for row in results(*arguments):
        append(asked.file, row)
        best = row.best()
        shown = f"{best.median_us:.1f} µs, {best.configuration}" if best else row.failure
        print(f"{row.model} {row.precision}: {shown}", flush=True)


def results(
    models: Sequence[str],
    precisions: Sequence[Precision],
    batch: int,
    max_autotune: bool,
    seconds: float,
) -> Iterator[Timed]:
    """Each model at each precision, one model after the other. No turn begins after so many
    seconds.
    """
    until = time.monotonic() + seconds
    workers = [
        Worker(name, precision, batch, max_autotune) for name in models for precision in precisions
    ]
    for worker in workers:
        worker.compiled(until - time.monotonic())
    for worker in workers:
        if time.monotonic() < until:
            yield worker.turn(AUTOTUNED_SECONDS if max_autotune else TURN_SECONDS)
        else:
            yield worker.skip("no time was left")


def software() -> dict[str, str]:
    """The device, and versions of what PyTorch runs with."""
    if not torch.cuda.is_available():
        return {"torch": str(torch.__version__)}
    return {
        "device": torch.cuda.get_device_name(),
        "torch": str(torch.__version__),
        "cuda": str(torch.version.cuda),
        "cudnn": str(torch.backends.cudnn.version()),
    }


if __name__ == "__main__":
    main()
