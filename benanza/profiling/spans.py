"""What a GPU did for the calls of a framework, over several executions of a model."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from benanza_runner.measuring.stopping import summary
from benanza_schemas.events import FrameworkKernel


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


class CallTimes(NamedTuple):
    """When a call begins within an execution, and how long it takes, in microseconds, with the
    interquartile range, and its kernels: medians of several executions.
    """

    start_us: float
    median_us: float
    iqr_us: float
    kernels: tuple[FrameworkKernel, ...] = ()


def span_of(kernels: Sequence[Kernel]) -> Span:
    """The call that started these, at least one: it takes as long as they do together."""
    ordered = tuple(sorted(kernels, key=lambda each: each.start_us))
    return Span(ordered[0].start_us, math.fsum(each.us for each in ordered), ordered)


def call_times(spans: Sequence[Span]) -> CallTimes:
    """The times of a call in several executions, at least one."""
    start_us = summary(sorted(span.start_us for span in spans)).median
    _, median_us, iqr_us = summary(sorted(span.us for span in spans))
    return CallTimes(start_us, median_us, iqr_us, _usual_kernels(spans))


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
