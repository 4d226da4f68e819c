"""What a GPU did for the calls of a framework, over several executions of a model."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from benanza_runner.measuring.stopping import summary
from benanza_schemas.events import FrameworkCall, FrameworkKernel


class Kernel(NamedTuple):
    """A kernel or a copy: when it began within an execution, and how long it took, both in
    microseconds.
    """

    name: str
    start_us: float
    us: float


class Span(NamedTuple):
    """When a call began within an execution, how long it took, in microseconds, and what it started
    on the GPU, in the order in which that ran.
    """

    start_us: float
    us: float
    kernels: tuple[Kernel, ...] = ()


class Activity(NamedTuple):
    """A kernel, a copy or a fill. `launched_us` is when the host began to start it, `start_us` when
    the GPU did, both in microseconds of the clock of `time.time`; `us` is how long it took.
    """

    name: str
    launched_us: float
    start_us: float
    us: float


def span_of(kernels: Sequence[Kernel]) -> Span:
    """The call that started these, at least one: it takes as long as they do together."""
    ordered = tuple(sorted(kernels, key=lambda kernel: kernel.start_us))
    return Span(ordered[0].start_us, math.fsum(kernel.us for kernel in ordered), ordered)


def timed_call(
    name: str, op: str, layers: tuple[int, ...], spans: Sequence[Span], idle_us: float = 0.0
) -> FrameworkCall:
    """The call with its times in several executions. Without any it takes no time, at `idle_us`."""
    if not spans:
        return FrameworkCall(name, op, layers, idle_us, 0.0, 0.0)
    start_us = summary(sorted(span.start_us for span in spans)).median
    _, median_us, iqr_us = summary(sorted(span.us for span in spans))
    return FrameworkCall(name, op, layers, start_us, median_us, iqr_us, _usual_kernels(spans))


def _usual_kernels(spans: Sequence[Span]) -> tuple[FrameworkKernel, ...]:
    """The kernels that a call starts in most executions: while it searches for an algorithm, or
    when the profiler lost an event, it has others.
    """
    of_names: dict[tuple[str, ...], list[tuple[Kernel, ...]]] = defaultdict(list)
    for span in spans:
        of_names[tuple(kernel.name for kernel in span.kernels)].append(span.kernels)
    usual = max(of_names.values(), key=len)
    return tuple(
        FrameworkKernel(
            name=same[0].name,
            start_us=summary(sorted(kernel.start_us for kernel in same)).median,
            median_us=summary(sorted(kernel.us for kernel in same)).median,
        )
        for same in zip(*usual, strict=True)
    )
