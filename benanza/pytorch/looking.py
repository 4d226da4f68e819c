"""How long each node of an FX graph takes, within executions of the whole graph.

The nodes run one by one. On the CPU each is timed by the clock. On a GPU its time is that of the
kernels and copies that it starts there, which PyTorch's profiler records.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
from torch.profiler import ProfilerActivity, record_function

from benanza.profiling.spans import Span, timed_call
from benanza.pytorch.trace import EXECUTION, NODE, executed_nodes
from benanza_runner.measuring.stopping import summary
from benanza_schemas.events import FrameworkCall, RunTimes

WARM_UP_EXECUTIONS = 3


class Looked(NamedTuple):
    """The times of the executions in which each node was timed, and those of the nodes in order."""

    times: RunTimes
    nodes: tuple[FrameworkCall, ...]


class _Execution(NamedTuple):
    """How long an execution took, and those of its nodes that took time, by name."""

    us: float
    nodes: Mapping[str, Span]


def looked_at(module: Any, inputs: Sequence[Any], executions: int) -> Looked:
    """Runs a `torch.fx.GraphModule` so many times, after a few that don't count.

    Its parameters and inputs are on one device, which is where it is timed. Raises what PyTorch
    does.
    """
    on_gpu = any(tensor.is_cuda for tensor in inputs)
    runs = WARM_UP_EXECUTIONS + executions
    with torch.no_grad():
        timed = (_on_gpu if on_gpu else _on_cpu)(module, inputs, runs)[WARM_UP_EXECUTIONS:]
    samples = tuple(execution.us for execution in timed)
    times = summary(sorted(samples))
    nodes = timed_nodes(module.graph.nodes, [execution.nodes for execution in timed])
    return Looked(RunTimes(times.median, times.iqr, samples), tuple(nodes))


def timed_nodes(
    nodes: Iterable[Any], executions: Sequence[Mapping[str, Span]]
) -> Iterator[FrameworkCall]:
    """The operators among a graph's nodes, with their times over executions, of which each has
    nodes that took time, by name. One that takes none is where the one before it ends.
    """
    end_us = 0.0
    for node in nodes:
        if node.op != "call_function":
            continue
        spans = [found[node.name] for found in executions if node.name in found]
        call = timed_call(node.name, _operator(node.target), (), spans, end_us)
        yield call
        end_us = call.start_us + call.median_us


def _operator(target: Any) -> str:
    """The name of an operator without that of its overload: `aten.add` of `aten.add.Tensor`."""
    packet = getattr(target, "overloadpacket", None)
    return str(packet) if packet is not None else str(getattr(target, "__name__", target))


class NodesCalledBy(torch.fx.Interpreter):  # type: ignore[misc]  # types are checked without torch
    """Has each operator called by `run`, which is given the name of its node.

    What isn't PyTorch's own is called directly: it takes a result out of several.
    """

    def __init__(self, module: Any, run: Callable[[str, Callable[[], Any]], Any]) -> None:
        super().__init__(module)
        self._called_by = run
        self._name = ""

    def run_node(self, n: Any) -> Any:
        self._name = n.name
        return super().run_node(n)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if not isinstance(target, torch._ops.OperatorBase):
            return target(*args, **kwargs)
        return self._called_by(self._name, lambda: target(*args, **kwargs))


def _on_cpu(module: Any, inputs: Sequence[Any], runs: int) -> list[_Execution]:
    nodes: dict[str, Span] = {}
    started = 0

    def timed(name: str, call: Callable[[], Any]) -> Any:
        before = time.perf_counter_ns()
        result = call()
        after = time.perf_counter_ns()
        nodes[name] = Span((before - started) / 1_000, (after - before) / 1_000)
        return result

    interpreter = NodesCalledBy(module, timed)
    executions = []
    for _ in range(runs):
        nodes = {}
        started = time.perf_counter_ns()
        interpreter.run(*inputs)
        executions.append(_Execution((time.perf_counter_ns() - started) / 1_000, nodes))
    return executions


def marked(name: str, call: Callable[[], Any]) -> Any:
    """Calls a node within a mark that the profiler records."""
    with record_function(NODE + name):
        return call()


def _on_gpu(module: Any, inputs: Sequence[Any], runs: int) -> list[_Execution]:
    interpreter = NodesCalledBy(module, marked)
    times = []
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        for number in range(runs):
            started = time.perf_counter_ns()
            with record_function(f"{EXECUTION}{number}"):
                interpreter.run(*inputs)
                torch.cuda.synchronize()
            times.append((time.perf_counter_ns() - started) / 1_000)
    nodes = executed_nodes(written_trace(profiler))
    return [_Execution(*execution) for execution in zip(times, nodes, strict=True)]


def written_trace(profiler: Any) -> bytes:
    """What a profiler that has ended wrote, in Chrome's format."""
    with TemporaryDirectory(prefix="benanza-profile-") as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return path.read_bytes()
