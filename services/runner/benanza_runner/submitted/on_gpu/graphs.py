"""CUDA graphs: what a kernel does as a part that is repeated, without a line of its own running.

https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import cupy
from cuda.bindings import driver

from benanza_runner.submitted.working.sources import KernelError

_ALLOWED = frozenset({"KERNEL", "MEMCPY", "MEMSET", "EMPTY"})
"""What a call may consist of. Nodes on the host would run while it is timed."""

_KIND = "CU_GRAPH_NODE_TYPE_"


def captured(stream: Any, work: Callable[[], object]) -> Any:
    """What `work` starts on the stream, as a graph. Raises what it raises, and `KernelError` if it
    can't be captured.
    """
    with _without_collecting():
        stream.begin_capture()
        try:
            work()
        except BaseException:
            with suppress(cupy.cuda.runtime.CUDARuntimeError):
                stream.end_capture()
            raise
        try:
            return stream.end_capture()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise KernelError(
                "it can't be captured as a CUDA graph: all that it starts has to be on the current "
                f"stream, or joined with it, and it may wait for nothing ({error})"
            ) from error


def why_refused(graph: Any) -> str:
    """What of a graph no call may have; empty if there is nothing."""
    handle = driver.CUgraph(int(graph.graph))
    _, count = _done(driver.cuGraphGetNodes(handle, 0))
    if not count:
        return "it starts nothing on the current stream"
    nodes, _ = _done(driver.cuGraphGetNodes(handle, count))
    kinds = [_done(driver.cuGraphNodeGetType(node))[0].name.removeprefix(_KIND) for node in nodes]
    others = sorted({kind.lower() for kind in kinds} - {kind.lower() for kind in _ALLOWED})
    return f"its CUDA graph has nodes of the kind {', '.join(others)}" if others else ""


class RepeatedGraph:
    """Graphs, one after the other, so many times, as one that is launched."""

    def __init__(self, parts: Sequence[Any], times: int) -> None:
        self._graph = _done(driver.cuGraphCreate(0))[0]
        before: list[Any] = []
        for _ in range(times):
            for part in parts:
                child = driver.CUgraph(int(part.graph))
                node = _done(
                    driver.cuGraphAddChildGraphNode(self._graph, before, len(before), child)
                )[0]
                before = [node]
        self._launched = _done(driver.cuGraphInstantiate(self._graph, 0))[0]

    def launch(self, stream: Any) -> None:
        """Starts it on the stream."""
        _done(driver.cuGraphLaunch(self._launched, stream.ptr))

    def close(self) -> None:
        """Frees it. It must not be at work."""
        _done(driver.cuGraphExecDestroy(self._launched))
        _done(driver.cuGraphDestroy(self._graph))


def _done(result: tuple[Any, ...]) -> tuple[Any, ...]:
    """The other results of a call of the driver. Raises `RuntimeError` if it failed."""
    error, *others = result
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"CUDA's driver says {error.name}")
    return tuple(others)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """To free what lies on a device ends a capture."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
