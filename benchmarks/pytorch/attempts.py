"""Whole models in PyTorch, prepared in several configurations and timed as CUDA graphs."""

import copy
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any, NamedTuple

import torch
from torch._inductor.compile_fx import compile_fx

from benanza_runner.measuring.batch import calls_for
from benanza_runner.measuring.sampling import Timing, collect
from benanza_runner.measuring.search import Batch
from benanza_runner.measuring.stopping import Rule, summary
from benanza_runner.reasons import one_line
from benanza_schemas.layer import Precision
from benchmarks.pytorch.report import TorchAttempt

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


class TorchConfiguration(NamedTuple):
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
    TorchConfiguration(nhwc, compiled) for compiled in (False, True) for nhwc in (False, True)
)
AUTOTUNED = TorchConfiguration(nhwc=True, compiled=True, max_autotune=True)


class NotYetError(Exception):
    """What was compiled is not to run now."""


class Prepared:
    """A model as one configuration runs it, on the device. Raises what PyTorch does.

    The first call of what is compiled compiles it. `compile` does that and stops before
    anything of it runs.
    """

    def __init__(
        self, configuration: TorchConfiguration, model: Any, x: Any, device: str, dtype: Any
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
    model: Prepared, title: str, precision: Precision, expected: Any, device: str
) -> TorchAttempt:
    """Times a model. Whatever goes wrong is part of the attempt."""
    try:
        _first_calls(model.run, device)
        batch, result = batched(model.run, device)
        samples = collect(batch.run, RULE)
        times = summary(sorted(us / batch.calls for us in samples.calls_us))
        error = relative_error(result, expected)
        right = error <= MOST_ERROR[precision]
        return TorchAttempt(
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


def _failed(title: str, error: Exception) -> TorchAttempt:
    reason = one_line(f"{type(error).__name__}: {error}")
    return TorchAttempt(configuration=title, failure=reason)


def prepared(
    configuration: TorchConfiguration, model: Any, x: Any, device: str, dtype: Any
) -> Prepared | TorchAttempt:
    """A model that is compiled, if it is to be, or why it isn't."""
    try:
        made = Prepared(configuration, model, x, device, dtype)
        made.compile()
        return made
    except Exception as error:  # noqa: BLE001  # PyTorch's errors share no narrower base
        return _failed(configuration.title(), error)
