"""Whole models in PyTorch, prepared in several configurations and timed as CUDA graphs."""

import time
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import torch

from benanza.pytorch.prepared import (
    MAPS_NDIM,
    Prepared,
    TorchConfiguration,
    captured,
    first_calls,
)
from benanza_runner.measuring.batch import calls_for
from benanza_runner.measuring.sampling import Timing, collect
from benanza_runner.measuring.search import Batch
from benanza_runner.measuring.stopping import Rule, summary
from benanza_runner.reasons import short_reason
from benanza_schemas.layer import Precision
from benchmarks.pytorch.rows import TorchAttempt

MOST_ERROR: dict[Precision, float] = {"fp32": 1e-4, "tf32": 0.02, "fp16": 0.05, "bf16": 0.1}
"""Of the norm of the result, against float32 on the CPU. That of fp32 shuts TF32 out. A resnet50
with random weights is off by 0.034 in fp16 at batch 32, and by 0.030 in eager mode.
"""

RULE = Rule(warm_up_us=25_000)
"""The device may have been idle before."""

REPLAY_US = 2_000.0
MOST_CALLS = 20
"""A graph holds a model a few times, as a witness's does."""


CONFIGURATIONS = tuple(
    TorchConfiguration(nhwc, compiled) for compiled in (False, True) for nhwc in (False, True)
)
AUTOTUNED = TorchConfiguration(nhwc=True, compiled=True, max_autotune=True)


def configurations(inputs: Sequence[Any]) -> list[TorchConfiguration]:
    """The ways to run a model with these inputs. Without feature maps there is but one layout."""
    maps = any(tensor.ndim == MAPS_NDIM for tensor in inputs)
    return [configuration for configuration in CONFIGURATIONS if maps or not configuration.nhwc]


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
        first_calls(model.run, device)
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


def relative_error(result: Any, expected: Any) -> float:
    """‖result − expected‖ / ‖expected‖ in float64."""
    there = expected.double()
    return float(torch.linalg.vector_norm(result.cpu().double() - there) / there.norm())


def _failed(title: str, error: Exception) -> TorchAttempt:
    reason = short_reason(f"{type(error).__name__}: {error}")
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
