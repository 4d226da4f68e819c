"""How long PyTorch takes for a whole model at its best, on the device.

`benchmarks.pytorch.compare` starts it. Each model at each precision has a process of its own. A few
compile at the same time, without running anything. They run in turns, so that nothing else runs on
the GPU while a model is timed, or while cuDNN and Triton time algorithms to choose one. While one
has its turn, the next ones compile: a graph is timed by the GPU, which that doesn't delay.
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection

import torch

from benanza.pytorch.models import case
from benanza.pytorch.prepared import DTYPES, set_precision
from benanza_runner.reasons import short_reason
from benanza_schemas.layer import Precision
from benchmarks.pytorch.arguments import MOST_AT_ONCE, parsed
from benchmarks.pytorch.attempts import AUTOTUNED, attempted, configurations, prepared
from benchmarks.pytorch.rows import Key, Software, Timed, TorchAttempt, append

READY = "ready"
COMPILE_SECONDS = 900.0
TURN_SECONDS = 180.0
AUTOTUNED_SECONDS = 1_800.0


def work(
    name: str, precision: Precision, batch: int, max_autotune: bool, connection: Connection
) -> None:
    """What a process does: it compiles and sends `READY`; when told to, it times its model and
    sends a `Timed`. If it can't, it sends why.
    """
    try:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        set_precision(precision)
        torch.backends.cudnn.benchmark = True
        model, inputs = case(name, batch)
        with torch.no_grad():
            expected = model(*inputs)
        ready = {
            configuration: prepared(configuration, model, inputs, device, DTYPES[precision])
            for configuration in configurations(inputs)
        }
        connection.send(READY)
        connection.recv()
        if max_autotune:  # It compiles by timing.
            ready[AUTOTUNED] = prepared(AUTOTUNED, model, inputs, device, DTYPES[precision])
        attempts = tuple(
            made
            if isinstance(made, TorchAttempt)
            else attempted(made, configuration.title(), precision, expected, device)
            for configuration, made in ready.items()
        )
        connection.send(Timed(model=name, precision=precision, batch=batch, attempts=attempts))
    except Exception as error:  # noqa: BLE001  # whatever it is, it has to be told
        connection.send(short_reason(f"{type(error).__name__}: {error}"))


class Worker:
    """A process for a model at a precision."""

    def __init__(self, key: Key, max_autotune: bool) -> None:
        spawning = get_context("spawn")
        self._key = key
        self._connection, there = spawning.Pipe()
        arguments = (*key, max_autotune, there)
        self._process = spawning.Process(target=work, args=arguments, daemon=True)
        self._process.start()
        there.close()
        self._failure = ""

    def compiled(self, seconds: float) -> None:
        """Waits until it has compiled. After so many seconds, it is ended."""
        self._answer(seconds, "it was not compiled in time")

    def turn(self, seconds: float) -> Timed:
        """Lets it time its model, then ends it. Returns its result, or a failure without one."""
        with suppress(OSError):  # It may have ended meanwhile, or have been ended.
            self._connection.send("go")
        timed = self._answer(seconds, f"it was not timed in {seconds:.0f} s")
        self.end()
        model, precision, batch = self._key
        return timed or Timed(model=model, precision=precision, batch=batch, failure=self._failure)

    def end(self) -> None:
        """Ends its process, whatever it is doing."""
        self._process.kill()
        self._process.join()

    def _answer(self, seconds: float, too_late: str) -> Timed | None:
        """The result, if it sends one. Unless it sends `READY`, `_failure` then says why not."""
        if self._failure:
            return None
        try:
            answer = (
                self._connection.recv() if self._connection.poll(max(0.0, seconds)) else too_late
            )
        except (EOFError, OSError):
            self._process.join()
            answer = f"its process ended with code {self._process.exitcode}"
        if isinstance(answer, Timed):
            return answer
        if answer != READY:
            self._failure = answer
            self.end()
        return None


def main() -> None:
    """Times what the file lacks, and adds a row for each model and precision."""
    asked = parsed(__doc__ or "")
    append(asked.file, Software("PyTorch", software()))
    for row in results(asked.lacking(Timed), asked.max_autotune, asked.seconds):
        append(asked.file, row)
        best = row.best()
        shown = f"{best.median_us:.1f} µs, {best.configuration}" if best else row.failure
        print(f"{row.model} {row.precision}: {shown}", flush=True)


def results(keys: Sequence[Key], max_autotune: bool, seconds: float) -> Iterator[Timed]:
    """Each model at each precision. No turn begins after so many seconds; then the rest is missing.

    What didn't compile because that time was over is no failure, and missing, too.
    """
    until = time.monotonic() + seconds
    turn_seconds = AUTOTUNED_SECONDS if max_autotune else TURN_SECONDS
    waiting = iter(keys)
    with ExitStack() as stack:

        def begun(count: int) -> Iterator[Worker]:
            for key in islice(waiting, count):
                worker = Worker(key, max_autotune)
                stack.callback(worker.end)
                yield worker

        compiling = deque(begun(MOST_AT_ONCE))
        while compiling:
            worker = compiling.popleft()
            worker.compiled(min(COMPILE_SECONDS, until - time.monotonic()))
            if time.monotonic() >= until:
                return
            yield worker.turn(turn_seconds)
            compiling.extend(begun(1))


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
