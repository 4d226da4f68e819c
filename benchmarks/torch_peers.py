"""How long PyTorch takes for a whole model at its best, on the device; `benchmarks.gpu_torch`
starts it.

Each model at each precision has a process of its own. All compile at the same time, without
running anything; then they run in turns, so that nothing runs on the device beside what is timed,
or beside what cuDNN and Triton time to choose an algorithm.
"""

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import isfinite
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import torch
from torch._inductor import config as inductor_config
from torch._inductor.compile_fx import compile_fx

from benanza_runner.measuring.batch import calls_for
from benanza_runner.measuring.search import Batch
from benanza_runner.reasons import one_line
from benanza_runner.sampling import Timing, collect
from benanza_runner.stopping import Rule, summary
from benanza_schemas.layer import Precision
from benchmarks.gpu_torch import parsed
from benchmarks.torch_models import architecture, images
from benchmarks.torch_report import Attempt, Software, Timed, append

MOST_ERROR: dict[Precision, float] = {"fp32": 1e-4, "tf32": 0.02, "fp16": 0.02, "bf16": 0.1}
"""Of the norm of the result, against float32 on the CPU. That of fp32 shuts TF32 out."""

DTYPES = {
    "fp32": torch.float32,
    "tf32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
}
FIRST_CALLS = 3
"""In these algorithms are searched for."""

RULE = Rule(warm_up_us=25_000)
"""The device may have been idle before."""

REPLAY_US = 2_000.0
MOST_CALLS = 20
"""A graph holds a model a few times, as that of a bound's witness does."""

READY = "ready"
TURN_SECONDS = 180.0
AUTOTUNED_SECONDS = 1_800.0


class Configuration(NamedTuple):
    """A way of running a model. `compiled` is by `torch.compile` with the weights frozen."""

    nhwc: bool
    compiled: bool
    max_autotune: bool = False

    def title(self) -> str:
        """For people: `compiled, NHWC`."""
        way = "compiled" if self.compiled else "eager"
        return f"{way}{', max-autotune' * self.max_autotune}, {'NHWC' if self.nhwc else 'NCHW'}"

    def options(self) -> dict[str, Any]:
        """What the compiler is told beyond its defaults: it keeps images as they are given."""
        options: dict[str, Any] = {"layout_optimization": self.nhwc}
        if self.max_autotune:
            options |= torch._inductor.list_mode_options("max-autotune-no-cudagraphs")
        return options


CONFIGURATIONS = tuple(
    Configuration(nhwc, compiled) for compiled in (False, True) for nhwc in (False, True)
)
AUTOTUNED = Configuration(nhwc=True, compiled=True, max_autotune=True)


class NotYetError(Exception):
    """What was compiled is not to run now."""


class Prepared:
    """A model as one configuration runs it, on the device. Raises what PyTorch does.

    The first call of what is compiled compiles it. `compile` does that and stops before
    anything of it runs.
    """

    def __init__(
        self, configuration: Configuration, model: Any, x: Any, device: str, dtype: Any
    ) -> None:
        layout = torch.channels_last if configuration.nhwc else torch.contiguous_format
        self._configuration = configuration
        self._model = copy.deepcopy(model).to(device, dtype, memory_format=layout)
        self._x = x.to(device, dtype, memory_format=layout)
        self._may_run = True
        if configuration.compiled:
            self._model = torch.compile(self._model, backend=self._backend, dynamic=False)

    def compile(self) -> None:
        """Compiles, if that is to be done."""
        if self._configuration.compiled:
            self._may_run = False
            with suppress(NotYetError):
                self.run()
            self._may_run = True

    def run(self) -> Any:
        """Runs the model once; what it returns is the result, maybe not computed yet."""
        with torch.no_grad():
            return self._model(self._x)

    def _backend(self, graph: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        compiled = compile_fx(graph, inputs, config_patches=self._configuration.options())

        def run(*arguments: Any) -> Any:
            if not self._may_run:
                raise NotYetError
            return compiled(*arguments)

        return run


def replayed(run: Callable[[], Any], calls: int) -> tuple[Batch, Any]:
    """One CUDA graph of so many calls, and where the last of them leaves its result."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            result = run()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def replay() -> Timing:
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        return Timing(start.elapsed_time(end) * 1_000, disturbed=False)

    return Batch(replay, calls), result


def called(run: Callable[[], Any]) -> tuple[Batch, Any]:
    """Calls on the CPU by its clock, and the result of one."""

    def call() -> Timing:
        started = time.perf_counter_ns()
        run()
        return Timing((time.perf_counter_ns() - started) / 1_000, disturbed=False)

    return Batch(call), run()


def batched(run: Callable[[], Any], device: str) -> tuple[Batch, Any]:
    """What is timed of a model that has run before, and its result once that is done."""
    if device == "cpu":
        return called(run)
    once, _ = replayed(run, 1)
    once.call_us()
    return replayed(run, calls_for(once.call_us(), REPLAY_US, MOST_CALLS))


def attempted(
    prepared: Prepared, title: str, precision: Precision, expected: Any, device: str
) -> Attempt:
    """Times a model. Whatever goes wrong is part of the attempt."""
    try:
        _first_calls(prepared.run, device)
        batch, result = batched(prepared.run, device)
        samples = collect(batch.run, RULE)
        times = summary(sorted(us / batch.calls for us in samples.calls_us))
        error = relative_error(result, expected)
        right = error <= MOST_ERROR[precision]
        return Attempt(
            configuration=title,
            median_us=times.median,
            iqr_us=times.iqr,
            samples=len(samples.calls_us),
            error=error if isfinite(error) else None,
            failure="" if right else f"wrong result: it is off by {error:.2g} of its norm",
        )
    except Exception as error:  # noqa: BLE001  # PyTorch's errors share no narrower base
        return _failed(title, error)


def _first_calls(run: Callable[[], Any], device: str) -> None:
    """Calls on a stream of their own, as what is captured afterwards."""
    if device == "cpu":
        run()
        return
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(FIRST_CALLS):
            run()
    torch.cuda.synchronize()


def relative_error(result: Any, expected: Any) -> float:
    """‖result − expected‖ / ‖expected‖ in float64."""
    there = expected.double()
    return float(torch.linalg.vector_norm(result.cpu().double() - there) / there.norm())


def _failed(title: str, error: Exception) -> Attempt:
    reason = one_line(f"{type(error).__name__}: {error}")
    return Attempt(configuration=title, failure=reason)


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
            configuration: _prepared(configuration, model, x, device, DTYPES[precision])
            for configuration in CONFIGURATIONS
        }
        connection.send(READY)
        connection.recv()
        if max_autotune:  # It compiles by timing.
            ready[AUTOTUNED] = _prepared(AUTOTUNED, model, x, device, DTYPES[precision])
        attempts = tuple(
            made
            if isinstance(made, Attempt)
            else attempted(made, configuration.title(), precision, expected, device)
            for configuration, made in ready.items()
        )
        connection.send(Timed(model=name, precision=precision, batch=batch, attempts=attempts))
    except Exception as error:  # noqa: BLE001  # whatever it is, it has to be told
        connection.send(one_line(f"{type(error).__name__}: {error}"))


def _prepared(
    configuration: Configuration, model: Any, x: Any, device: str, dtype: Any
) -> Prepared | Attempt:
    """A model that is compiled, if it is to be, or why it isn't."""
    try:
        prepared = Prepared(configuration, model, x, device, dtype)
        prepared.compile()
        return prepared
    except Exception as error:  # noqa: BLE001  # PyTorch's errors share no narrower base
        return _failed(configuration.title(), error)


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
