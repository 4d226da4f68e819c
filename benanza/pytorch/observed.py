"""A PyTorch model that its profiler, Kineto, looks into while it answers requests."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch.profiler import ProfilerActivity, record_function

from benanza.profiling.framework import Observed, ObservedRun
from benanza.profiling.whole_model import Arrays, WholeModel
from benanza.pytorch.calls import framework_calls
from benanza.pytorch.looking import (
    WARM_UP_EXECUTIONS,
    NodesCalledBy,
    marked,
    timed_nodes,
    written_trace,
)
from benanza.pytorch.prepared import Prepared, on_host
from benanza.pytorch.trace import EXECUTION, executed_nodes, marked_nodes
from benanza_runner.arrays import Array


class ObservedGraph(Observed):
    """Runs the nodes of `module`, which was exported of `prepared`, one by one, each within a mark.

    With `gpu` nodes take as long as the kernels that they start. Without it they take as long as
    the host needs for them. `opened` ends the profiler.
    """

    def __init__(
        self, model: WholeModel, prepared: Prepared, module: Any, opened: ExitStack, *, gpu: bool
    ) -> None:
        self._model = model
        self._prepared = prepared
        self._nodes = module.graph.nodes
        self._interpreter = NodesCalledBy(module, marked)
        self._gpu = gpu
        self._times: list[tuple[float, float]] = []
        for _ in range(WARM_UP_EXECUTIONS):
            self._executed(prepared.inputs)
        self._opened = opened
        activities = [ProfilerActivity.CPU, *[ProfilerActivity.CUDA] * gpu]
        self._profiler = opened.enter_context(torch.profiler.profile(activities=activities))

    def run(self, inputs: Arrays) -> Sequence[Array]:
        arrays = [inputs[name] for name in self._model.inputs]
        tensors = [self._prepared.placed(torch.from_numpy(array)) for array in arrays]
        began_us = time.time_ns() / 1_000
        started = time.perf_counter_ns()
        with record_function(f"{EXECUTION}{len(self._times)}"):
            found = self._executed(tensors)
        self._times.append((began_us, (time.perf_counter_ns() - started) / 1_000))
        return on_host(found)

    def runs(self) -> list[ObservedRun]:
        self._opened.close()
        trace = written_trace(self._profiler)
        found = executed_nodes(trace) if self._gpu else marked_nodes(trace)
        return [
            ObservedRun(began_us, us, self._calls(nodes))
            for (began_us, us), nodes in zip(self._times, found, strict=True)
        ]

    def _executed(self, tensors: Sequence[Any]) -> Any:
        with torch.no_grad():
            found = self._interpreter.run(*tensors)
        if any(tensor.is_cuda for tensor in tensors):
            torch.cuda.synchronize()
        return found

    def _calls(self, nodes: Any) -> Any:
        timed = tuple(timed_nodes(self._nodes, [nodes]))
        return framework_calls(timed, self._model.layers, self._model.origins)
