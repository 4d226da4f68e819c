"""How many kernels a CUDA graph holds."""

from typing import Any

from cuda.bindings import runtime as cudart

COUNTED = (
    cudart.cudaGraphNodeType.cudaGraphNodeTypeKernel,
    cudart.cudaGraphNodeType.cudaGraphNodeTypeMemcpy,
    cudart.cudaGraphNodeType.cudaGraphNodeTypeMemset,
)
"""Whatever works on the device: a copy takes its turn as a kernel does."""


def kernels(graph: Any) -> int:
    """Kernels, copies and fills in a `torch.cuda.CUDAGraph` that was kept.

    The graph says it itself. A profiler may lose events, and its first use slows down what is timed
    after it. Raises `RuntimeError`.
    """
    raw = cudart.cudaGraph_t(init_value=graph.raw_cuda_graph())
    _, count = _checked(cudart.cudaGraphGetNodes(raw))
    nodes, _ = _checked(cudart.cudaGraphGetNodes(raw, count))
    types = [_checked(cudart.cudaGraphNodeGetType(node))[0] for node in nodes]
    return sum(node_type in COUNTED for node_type in types)


def _checked(returned: tuple[Any, ...]) -> tuple[Any, ...]:
    error, *values = returned
    if error != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(f"CUDA graph: {error}")
    return tuple(values)
