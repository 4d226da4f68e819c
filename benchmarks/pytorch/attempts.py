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

MOST_ERROR: dict[Precision, float] = {"fp32": 1e-4, "tf32": 0.02, "fp16": 0.05, "bf16": 0.1}
"""Of the norm of the result, against float32 on the CPU. That of fp32 shuts TF32 out. A resnet50
with random weights is off by 0.034 in fp16 at batch 32, and by 0.030 in eager mode.
"""

DTYPES = {
    "fp32": torch.float32,
    "tf32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
}
FIRST_CALLS = 3
"""In these calls, PyTorch searches for algorithms."""

RULE = Rule(warm_up_us=25_000)
"""The device may have been idle before."""

REPLAY_US = 2_000.0
MOST_CALLS = 20
"""A graph holds a model a few times, as a witness's does."""


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
        """Options of the compiler beyond its defaults: it keeps the layout of feature maps."""
        options: dict[str, Any] = {"layout_optimization": self.nhwc}
        if self.max_autotune:
            options |= torch._inductor.list_mode_options("max-autotune-no-cudagraphs")
        return options


CONFIGURATIONS = tuple(
    TorchConfiguration(nhwc, compiled) for compiled in (False, True) for nhwc in (False, True)
)
AUTOTUNED = TorchConfiguration(nhwc=True, compiled=True, max_autotune=True)

MAPS_NDIM = 4
"""Inputs of so many axes are feature maps, whose layout can be chosen."""


def configurations(inputs: Sequence[Any]) -> list[TorchConfiguration]:
    """The ways to run a model with these inputs. Without feature maps there is but one layout."""
    maps = any(each.ndim == MAPS_NDIM for each in inputs)
    return [each for each in CONFIGURATIONS if maps or not each.nhwc]


class NotYetError(Exception):
    """Something compiled was to run, and may not yet."""


class Prepared:
    """A model as one configuration runs it, on the device. Raises what PyTorch does.

    The first call of what is compiled compiles it. `compile` does that and stops before
    anything of it runs.
    """

    def __init__(
        self,
        configuration: TorchConfiguration,
        model: Any,
        inputs: Sequence[Any],
        device: str,
        dtype: Any,
    ) -> None:
        layout = torch.channels_last if configuration.nhwc else torch.contiguous_format
        self._configuration = configuration
        self._model = copy.deepcopy(model).to(device, dtype, memory_format=layout)
        self._inputs = [
            each.to(
                device,
                dtype if each.is_floating_point() else each.dtype,
                memory_format=layout if each.ndim == MAPS_NDIM else torch.preserve_format,
            )
            for each in inputs
        ]
        self._may_run = True
        if configuration.compiled:
            self._model = torch.compile(self._model, backend=self._backend, dynamic=False)

    def compile(self) -> None:
        """Compiles the model if the configuration says so."""
        if self._configuration.compiled:
            self._may_run = False
            with suppress(NotYetError):
                self.run()
            self._may_run = True

    def run(self) -> Any:
        """Runs the model once. The result may not be computed yet when this returns."""
        with torch.no_grad():
            return self._model(*self._inputs)

    def _backend(self, graph: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        compiled = compile_fx(graph, inputs, config_patches=self._configuration.options())

        def run(*arguments: Any) -> Any:
            if not self._may_run:
                raise NotYetError
            return compiled(*arguments)

        return run


def captured(run: Callable[[], Any], calls: int) -> tuple[Any, Any]:
    """One CUDA graph of so many calls, and the tensor in which the last one leaves its result."""
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        for _ in range(calls):
            result = run()
    return graph, result


def replayed(graph: Any, calls: int) -> Batch:
    """A batch that replays a graph of so many calls."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def replay() -> Timing:
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        return Timing(start.elapsed_time(end) * 1_000, disturbed=False)

    return Batch(replay, calls)


def called(run: Callable[[], Any]) -> tuple[Batch, Any]:
    """Calls on the CPU by its clock, and the result of one."""

    def call() -> Timing:
        started = time.perf_counter_ns()
        run()
        return Timing((time.perf_counter_ns() - started) / 1_000, disturbed=False)

    return Batch(call), run()


def batched(run: Callable[[], Any], device: str) -> tuple[Batch, Any, int | None]:
    """The batch that is timed of a model that has run before, its result after that, and how many
    kernels one call is on a GPU.
    """
    if device == "cpu":
        return *called(run), None
    graph, _ = captured(run, 1)
    once = replayed(graph, 1)
    once.call_us()
    calls = calls_for(once.call_us(), REPLAY_US, MOST_CALLS)
    many, result = captured(run, calls)
    return replayed(many, calls), result, _kernels(graph)


def _kernels(graph: Any) -> int | None:
    try:
        from benchmarks.pytorch.graph_nodes import kernels  # A CPU needs no CUDA.

        return kernels(graph)
    except Exception as error:  # noqa: BLE001  # the times are worth having all the same
        print(f"kernels can't be counted: {type(error).__name__}: {error}", flush=True)
        return None


def attempted(
    model: Prepared, title: str, precision: Precision, expected: Any, device: str
) -> TorchAttempt:
    """Times a model. Whatever goes wrong is part of the attempt."""
    try:
        _first_calls(model.run, device)
        batch, result, count = batched(model.run, device)
        samples = collect(batch.run, RULE)
        times = summary(sorted(us / batch.calls for us in samples.calls_us))
        error = relative_error(result, expected)
        right = error <= MOST_ERROR[precision]
        return TorchAttempt(
            configuration=title,
            median_us=times.median,
            iqr_us=times.iqr,
            samples=len(samples.calls_us),
            kernels=count,
            error=error if isfinite(error) else None,
            failure="" if right else f"wrong result: it is off by {error:.2g} of its norm",
        )
    except Exception as error:  # noqa: BLE001  # PyTorch's errors share no narrower base
        return _failed(title, error)


def _first_calls(run: Callable[[], Any], device: str) -> None:
    """Calls on a stream of their own, as captured calls are."""
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
    configuration: TorchConfiguration,
    model: Any,
    inputs: Sequence[Any],
    device: str,
    dtype: Any,
) -> Prepared | TorchAttempt:
    """A model, compiled if the configuration says so, or why that failed."""
    try:
        made = Prepared(configuration, model, inputs, device, dtype)
        made.compile()
        return made
    except Exception as error:  # noqa: BLE001  # PyTorch's errors share no narrower base
        return _failed(configuration.title(), error)
