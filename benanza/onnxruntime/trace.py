"""What ONNX Runtime writes of the executions of a model while it profiles a session.

The format is Chrome's, as for https://onnxruntime.ai/docs/performance/tune-performance/profiling-tools.html.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benanza.profiling.spans import Activity, Kernel, Span, span_of

NODE = "_kernel_time"
"""Ends the names of events of nodes."""


class Execution(NamedTuple):
    """An execution of the model, when it began in microseconds of the clock of `time.time`, and how
    long it took, with its nodes by name, in the order of their starts.
    """

    start_us: float
    us: float
    nodes: Mapping[str, Span]


class Executions(NamedTuple):
    """Executions of a model, and the operators of the nodes, by name."""

    executions: list[Execution]
    ops: dict[str, str]


class _Event(NamedTuple):
    """What ONNX Runtime wrote of one thing that it timed, in microseconds since the session began.

    `op` is empty for what isn't a node.
    """

    name: str
    start_us: float
    us: float
    op: str


def executions_in(path: Path, began_us: float) -> Executions:
    """The executions in a file that profiling wrote. `began_us` is when it began, in microseconds
    of the clock of `time.time` (`InferenceSession.get_profiling_start_time_ns`).

    The start of a node counts from that of its execution.
    """
    events = _events(path)
    runs = sorted((each for each in events if each.name == "model_run"), key=_start_us)
    nodes = sorted((each for each in events if each.op and each.name.endswith(NODE)), key=_start_us)
    starts = [run.start_us for run in runs]
    of_run: dict[int, dict[str, Span]] = defaultdict(dict)
    for node in nodes:
        number = bisect_right(starts, node.start_us) - 1
        name = node.name.removesuffix(NODE)
        of_run[number][name] = Span(node.start_us - starts[number], node.us)
    return Executions(
        [Execution(began_us + run.start_us, run.us, of_run[at]) for at, run in enumerate(runs)],
        {node.name.removesuffix(NODE): node.op for node in nodes},
    )


def on_gpu(executions: Executions, activities: Sequence[Activity]) -> Executions:
    """The executions with what the GPU did for each node in place of what the processor did.

    What was started between nodes, as inputs and outputs are copied, is named after itself, as its
    operator is. A node's start counts from the first thing that the GPU does in the execution.
    """
    ops = dict(executions.ops)
    found = []
    for execution in executions.executions:
        begin, end = execution.start_us, execution.start_us + execution.us
        own = [each for each in activities if begin <= each.launched_us <= end]
        first = min((each.start_us for each in own), default=begin)
        names = list(execution.nodes)
        starts = [begin + span.start_us for span in execution.nodes.values()]
        started: dict[str, list[Kernel]] = defaultdict(list)
        for each in own:
            at = bisect_right(starts, each.launched_us) - 1
            within = at >= 0 and each.launched_us <= starts[at] + execution.nodes[names[at]].us
            if within:
                name = names[at]
            else:
                same = sum(key.rpartition(" ")[0] == each.name for key in started)
                name = f"{each.name} {same + 1}"
                ops[name] = each.name
            started[name].append(Kernel(each.name, each.start_us - first, each.us))
        nodes = {name: span_of(kernels) for name, kernels in started.items()}
        found.append(execution._replace(nodes=nodes))
    return Executions(found, ops)


def _events(path: Path) -> list[_Event]:
    found: list[dict[str, Any]] = msgspec.json.decode(path.read_bytes())
    return [
        _Event(event["name"], event["ts"], event["dur"], event.get("args", {}).get("op_name", ""))
        for event in found
        if event.get("ph") == "X"
    ]


def _start_us(event: _Event) -> float:
    return event.start_us
