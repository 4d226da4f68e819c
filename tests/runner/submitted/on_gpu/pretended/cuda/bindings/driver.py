"""The driver's graphs, of the pretended CuPy's work."""

from types import SimpleNamespace
from typing import Any

import cupy


class CUresult:
    CUDA_SUCCESS = 0


CUgraph = int
_OK = CUresult.CUDA_SUCCESS


def _of(graph: Any) -> list[Any]:
    return graph if isinstance(graph, list) else cupy.Graph.known[graph].work


def cuGraphCreate(flags: int) -> tuple[int, list[Any]]:  # noqa: N802
    return _OK, []


def cuGraphGetNodes(graph: Any, count: int = 0) -> tuple[int, list[Any], int]:  # noqa: N802
    return _OK, _of(graph)[:count], len(_of(graph))


def cuGraphNodeGetType(node: Any) -> tuple[int, Any]:  # noqa: N802
    kind = getattr(node, "kind", "KERNEL")
    return _OK, SimpleNamespace(name=f"CU_GRAPH_NODE_TYPE_{kind}")


def cuGraphAddChildGraphNode(  # noqa: N802
    graph: list[Any], before: Any, count: int, child: Any
) -> tuple[int, Any]:
    graph.extend(_of(child))
    return _OK, child


def cuGraphInstantiate(graph: Any, flags: int) -> tuple[int, Any]:  # noqa: N802
    return _OK, graph


def cuGraphLaunch(graph: list[Any], stream: Any) -> tuple[int]:  # noqa: N802
    for work in graph:
        work()
    return (_OK,)


def cuGraphExecDestroy(graph: Any) -> tuple[int]:  # noqa: N802
    return (_OK,)


def cuGraphDestroy(graph: Any) -> tuple[int]:  # noqa: N802
    return (_OK,)
