"""What a GPU did for each node of a graph, of a trace that PyTorch's profiler wrote.

A trace is in Chrome's format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
The profiler marks each execution and each node in it. What started a kernel or a copy on the
processor has the same correlation as what ran on the GPU.
"""

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

NODE = "benanza_node_"
EXECUTION = "benanza_execution_"
"""Begin the names of the marks around a node and around an execution."""

MARK = "user_annotation"
LAUNCHES = frozenset(("cuda_runtime", "cuda_driver"))
ON_GPU = frozenset(("kernel", "gpu_memcpy", "gpu_memset"))
"""The profiler's categories of events."""


class Kernel(NamedTuple):
    """A kernel or a copy: when it began within an execution, and how long it took, both in
    microseconds.
    """

    name: str
    start_us: float
    us: float


class Span(NamedTuple):
    """When a node began within an execution, how long it took, in microseconds, and what it started
    on the GPU, in the order in which that ran.
    """

    start_us: float
    us: float
    kernels: tuple[Kernel, ...] = ()


class _Arguments(msgspec.Struct):
    correlation: int | None = None


class _Event(msgspec.Struct):
    """An event of a trace. `ts` and `dur` are in microseconds."""

    name: str = ""
    cat: str = ""
    ts: float = 0.0
    dur: float = 0.0
    args: _Arguments = msgspec.field(default_factory=_Arguments)


class _Trace(msgspec.Struct, rename="camel"):
    trace_events: list[_Event]


def executed_nodes(trace: bytes) -> list[dict[str, Span]]:
    """For each execution the nodes that the GPU did something for, by name.

    A node takes as long as all that it started together. Its start counts from that of the first
    one in the execution.
    """
    events = msgspec.json.decode(trace, type=_Trace).trace_events
    launched = {each.args.correlation: each.ts for each in events if each.cat in LAUNCHES}
    nodes = _marks(events, NODE)
    of_node: dict[int, list[_Event]] = defaultdict(list)
    for event in events:
        if event.cat in ON_GPU and event.args.correlation in launched:
            number = _around(nodes, launched[event.args.correlation])
            if number is not None:
                of_node[number].append(event)
    return [_within(run, nodes, of_node) for run in _marks(events, EXECUTION)]


def _within(
    run: _Event, nodes: Sequence[_Event], of_node: dict[int, list[_Event]]
) -> dict[str, Span]:
    found = {
        node.name.removeprefix(NODE): of_node[number]
        for number, node in enumerate(nodes)
        if number in of_node and run.ts <= node.ts <= run.ts + run.dur
    }
    first = min((event.ts for events in found.values() for event in events), default=0.0)
    return {name: _span(events, first) for name, events in found.items()}


def _span(events: Iterable[_Event], first: float) -> Span:
    kernels = tuple(
        Kernel(each.name, each.ts - first, each.dur) for each in sorted(events, key=lambda e: e.ts)
    )
    return Span(kernels[0].start_us, math.fsum(each.us for each in kernels), kernels)


def _marks(events: Iterable[_Event], prefix: str) -> list[_Event]:
    found = (each for each in events if each.cat == MARK and each.name.startswith(prefix))
    return sorted(found, key=lambda each: each.ts)


def _around(marks: Sequence[_Event], at_us: float) -> int | None:
    """The mark in which this moment is. Marks of nodes don't overlap."""
    number = bisect_right(marks, at_us, key=lambda each: each.ts) - 1
    if number < 0 or at_us > marks[number].ts + marks[number].dur:
        return None
    return number
