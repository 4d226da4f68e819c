"""What a GPU did for each node of a graph, of a trace that PyTorch's profiler wrote.

A trace is in Chrome's format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
The profiler marks each execution and each node in it. What started a kernel or a copy on the
processor has the same correlation as what ran on the GPU.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from benanza.profiling.spans import Kernel, Span, span_of

NODE = "benanza_node_"
EXECUTION = "benanza_execution_"
"""Begin the names of the marks around a node and around an execution."""

MARK = "user_annotation"
LAUNCHES = frozenset(("cuda_runtime", "cuda_driver"))
ON_GPU = frozenset(("kernel", "gpu_memcpy", "gpu_memset"))
"""The profiler's categories of events."""


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
    launched = {launch.args.correlation: launch.ts for launch in events if launch.cat in LAUNCHES}
    nodes = _marks(events, NODE)
    of_node: dict[int, list[_Event]] = defaultdict(list)
    for event in events:
        if event.cat in ON_GPU and event.args.correlation in launched:
            number = _around(nodes, launched[event.args.correlation])
            if number is not None:
                of_node[number].append(event)
    return [_within(run, nodes, of_node) for run in _marks(events, EXECUTION)]


def marked_nodes(trace: bytes) -> list[dict[str, Span]]:
    """For each execution its nodes as the host ran them, by name, from its start on."""
    events = msgspec.json.decode(trace, type=_Trace).trace_events
    nodes = _marks(events, NODE)
    return [
        {
            node.name.removeprefix(NODE): Span(node.ts - run.ts, node.dur)
            for node in nodes
            if run.ts <= node.ts <= run.ts + run.dur
        }
        for run in _marks(events, EXECUTION)
    ]


def _within(
    run: _Event, nodes: Sequence[_Event], of_node: dict[int, list[_Event]]
) -> dict[str, Span]:
    by_node = {
        node.name.removeprefix(NODE): of_node[number]
        for number, node in enumerate(nodes)
        if number in of_node and run.ts <= node.ts <= run.ts + run.dur
    }
    first = min((event.ts for events in by_node.values() for event in events), default=0.0)
    return {
        name: span_of([Kernel(event.name, event.ts - first, event.dur) for event in events])
        for name, events in by_node.items()
    }


def _marks(events: Iterable[_Event], prefix: str) -> list[_Event]:
    marks = (event for event in events if event.cat == MARK and event.name.startswith(prefix))
    return sorted(marks, key=lambda mark: mark.ts)


def _around(marks: Sequence[_Event], at_us: float) -> int | None:
    """The mark in which this moment is. Marks of nodes don't overlap."""
    number = bisect_right(marks, at_us, key=lambda mark: mark.ts) - 1
    if number < 0 or at_us > marks[number].ts + marks[number].dur:
        return None
    return number
