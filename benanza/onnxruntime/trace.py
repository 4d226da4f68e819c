"""What ONNX Runtime writes of the executions of a model while it profiles a session.

The format is Chrome's, as for https://onnxruntime.ai/docs/performance/tune-performance/profiling-tools.html.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto

from benanza.profiling.spans import Activity, Kernel, Span, span_of
from benanza_runner.onnxruntime.session import CPU

NODE = "_kernel_time"
"""Ends the names of events of nodes."""

COPY = "Memcpy"
"""Begins the names of copies among what a GPU does."""

MOST_SHIFT_US = 30.0
SHIFT_STEP_US = 0.5
"""ONNX Runtime writes whole microseconds, and CUPTI has a clock of its own. Without a shift,
kernels of 381 of densenet121's 2,047 µs on an H200 seemed to be started between nodes.
"""

Times = NDArray[np.float64]


class Execution(NamedTuple):
    """An execution of the model, when it began in microseconds of the clock of `time.time`, and how
    long it took, with its nodes by name, in the order of their starts.
    """

    start_us: float
    us: float
    nodes: Mapping[str, Span]


class Executions(NamedTuple):
    """Executions of a model, the operators of the nodes, by name, and the nodes that run on the
    CPU though the others run on a GPU.
    """

    executions: list[Execution]
    ops: dict[str, str]
    on_host: frozenset[str] = frozenset()


class _Event(NamedTuple):
    """What ONNX Runtime wrote of one thing that it timed, in microseconds since the session began.

    `op` and `provider` are empty for what isn't a node.
    """

    name: str
    start_us: float
    us: float
    op: str
    provider: str


def executions_in(path: Path, began_us: float) -> Executions:
    """The executions in a file that profiling wrote. `began_us` is when it began, in microseconds
    of the clock of `time.time` (`InferenceSession.get_profiling_start_time_ns`).

    The start of a node counts from that of its execution.
    """
    events = _events(path)
    runs = sorted((event for event in events if event.name == "model_run"), key=_start_us)
    nodes = sorted(
        (event for event in events if event.op and event.name.endswith(NODE)), key=_start_us
    )
    starts = [run.start_us for run in runs]
    of_run: dict[int, dict[str, Span]] = defaultdict(dict)
    for node in nodes:
        number = bisect_right(starts, node.start_us) - 1
        name = node.name.removesuffix(NODE)
        of_run[number][name] = Span(node.start_us - starts[number], node.us)
    return Executions(
        [
            Execution(began_us + run.start_us, run.us, of_run[index])
            for index, run in enumerate(runs)
        ],
        {node.name.removesuffix(NODE): node.op for node in nodes},
        frozenset(n.name.removesuffix(NODE) for n in nodes if n.provider == CPU.name),
    )


def without(traced: Executions, names: Set[str]) -> Executions:
    """The executions without nodes of these names: those in a body are part of the node around."""
    return Executions(
        [
            execution._replace(
                nodes={n: span for n, span in execution.nodes.items() if n not in names}
            )
            for execution in traced.executions
        ],
        {name: op for name, op in traced.ops.items() if name not in names},
        traced.on_host - names,
    )


def names_in(traced: Executions, nodes: Sequence[NodeProto]) -> list[str]:
    """What the nodes of the graph that ran are called in its executions. One without a name is
    called after its operator and a number; those of one operator run in the order of the graph.
    """
    named = {node.name for node in nodes}
    numbered: dict[str, list[str]] = defaultdict(list)
    for name, op in traced.ops.items():
        if name not in named:
            numbered[op].append(name)
    left = {op: iter(names) for op, names in numbered.items()}
    return [node.name or next(left.get(node.op_type, iter(())), "") for node in nodes]


def on_gpu(traced: Executions, activities: Sequence[Activity]) -> Executions:
    """The executions with what the GPU did for each node in place of what the processor did, but
    for the nodes that run on the CPU.

    A copy that was started between nodes, of an input or an output, is named after itself, as its
    operator is. A node's start counts from the first thing that the GPU, or the CPU in such a
    node, does in the execution.
    """
    ops = dict(traced.ops)
    shift_us = _shift_us(traced.executions, activities)
    moved = [_later(activity, shift_us) for activity in activities]
    executions = [_on_gpu(execution, moved, traced.on_host, ops) for execution in traced.executions]
    return Executions(executions, ops, traced.on_host)


def _on_gpu(
    execution: Execution,
    activities: Sequence[Activity],
    on_host: Set[str],
    ops: dict[str, str],
) -> Execution:
    begin = execution.start_us
    names = list(execution.nodes)
    starts, ends = _spans(execution)
    own = [
        activity for activity in activities if begin <= activity.launched_us <= begin + execution.us
    ]
    kept = {name: span for name, span in execution.nodes.items() if name in on_host}
    began = [begin + span.start_us for span in kept.values()]
    first = min([*began, *(activity.start_us for activity in own)], default=begin)
    started: dict[str, list[Kernel]] = defaultdict(list)
    for activity in own:
        nearest = _nearest(activity.launched_us, starts, ends)
        if nearest is None or (
            _is_copy(activity) and not starts[nearest] <= activity.launched_us <= ends[nearest]
        ):
            same = sum(key.rpartition(" ")[0] == activity.name for key in started)
            name = f"{activity.name} {same + 1}"
            ops[name] = activity.name
        else:
            name = names[nearest]
        started[name].append(Kernel(activity.name, activity.start_us - first, activity.us))
    nodes = {
        name: span._replace(start_us=begin + span.start_us - first) for name, span in kept.items()
    }
    nodes |= {name: span_of(kernels) for name, kernels in started.items()}
    return execution._replace(nodes=nodes)


def _later(activity: Activity, shift_us: float) -> Activity:
    return activity._replace(
        launched_us=activity.launched_us + shift_us, start_us=activity.start_us + shift_us
    )


def _spans(execution: Execution) -> tuple[Times, Times]:
    """When the nodes of an execution began and ended, by the clock of `time.time`."""
    spans = execution.nodes.values()
    starts = np.array([execution.start_us + span.start_us for span in spans])
    return starts, starts + np.array([span.us for span in spans])


def _shift_us(executions: Sequence[Execution], activities: Sequence[Activity]) -> float:
    """How much earlier the clock of the launches is than that of the nodes. The nodes start all
    kernels, so it is a shift with which most kernels are started within nodes: the middle of the
    longest range of such.
    """
    launched = np.array([activity.launched_us for activity in activities if not _is_copy(activity)])
    spans = [_spans(execution) for execution in executions if execution.nodes]
    if not launched.size or not spans:
        return 0.0
    starts, ends = (np.concatenate(side) for side in zip(*spans, strict=True))
    shifts = np.arange(-MOST_SHIFT_US, MOST_SHIFT_US + SHIFT_STEP_US, SHIFT_STEP_US)
    inside = np.array([_inside(launched + shift, starts, ends) for shift in shifts])
    best = np.flatnonzero(inside == inside.max())
    ranges = np.split(best, np.flatnonzero(np.diff(best) > 1) + 1)
    longest = max(ranges, key=len)
    return float(shifts[longest[len(longest) // 2]])


def _inside(moments: Times, starts: Times, ends: Times) -> int:
    """How many of the moments are within a node. Nodes don't overlap."""
    indices = np.searchsorted(starts, moments, side="right") - 1
    return int(np.count_nonzero((indices >= 0) & (moments <= ends[indices])))


def _nearest(moment_us: float, starts: Times, ends: Times) -> int | None:
    """The node in which this moment is, or which is nearest to it; `None` if there is no node."""
    if not starts.size:
        return None
    return int(np.argmin(np.maximum(starts - moment_us, moment_us - ends)))


def _is_copy(activity: Activity) -> bool:
    return activity.name.startswith(COPY)


def _events(path: Path) -> list[_Event]:
    events: list[dict[str, Any]] = msgspec.json.decode(path.read_bytes())
    return [
        _Event(
            event["name"],
            event["ts"],
            event["dur"],
            event.get("args", {}).get("op_name", ""),
            event.get("args", {}).get("provider", ""),
        )
        for event in events
        if event.get("ph") == "X"
    ]


def _start_us(event: _Event) -> float:
    return event.start_us
