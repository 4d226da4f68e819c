"""What a GPU did for each node, of traces as PyTorch's profiler writes them."""

from typing import Any

import msgspec
import pytest

from benanza.profiling.spans import Kernel, Span
from benanza.pytorch.trace import EXECUTION, NODE, executed_nodes


def event(
    cat: str, name: str, ts: float, dur: float = 1.0, correlation: int | None = None
) -> dict[str, Any]:
    arguments = {"External id": 7} | ({} if correlation is None else {"correlation": correlation})
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "args": arguments}


def nodes_of(*events: dict[str, Any]) -> list[dict[str, Span]]:
    header = {"ph": "M", "name": "process_name", "args": {"name": "python"}}
    return executed_nodes(msgspec.json.encode({"traceEvents": [header, *events]}))


FIRST = (
    event("user_annotation", f"{EXECUTION}0", 100, 50),
    event("user_annotation", f"{NODE}conv2d", 101, 5),
    event("gpu_user_annotation", f"{NODE}conv2d", 110, 9),
    event("cuda_runtime", "cudaLaunchKernel", 102, correlation=1),
    event("cuda_driver", "cuLaunchKernel", 104, correlation=2),
    event("user_annotation", f"{NODE}view", 107, 2),
    event("user_annotation", f"{NODE}to", 110, 5),
    event("cuda_runtime", "cudaMemcpyAsync", 111, correlation=3),
    event("kernel", "implicit_gemm", 120.5, 2.0, 1),
    event("kernel", "bias", 123.5, 1.5, 2),
    event("gpu_memcpy", "Memcpy DtoH", 130.0, 4.0, 3),
)


def test_a_node_takes_as_long_as_all_that_it_started() -> None:
    (found,) = nodes_of(*FIRST)
    assert {name: (span.start_us, span.us) for name, span in found.items()} == {
        "conv2d": (0.0, 3.5),
        "to": (9.5, 4.0),
    }


def test_kernels_belong_to_the_node_that_started_them_in_the_order_in_which_they_ran() -> None:
    (found,) = nodes_of(*FIRST[:-3], FIRST[-2], FIRST[-3], FIRST[-1])
    assert found["conv2d"].kernels == (Kernel("implicit_gemm", 0.0, 2.0), Kernel("bias", 3.0, 1.5))
    assert found["to"].kernels == (Kernel("Memcpy DtoH", 9.5, 4.0),)


def test_each_execution_has_its_own() -> None:
    second = (
        event("user_annotation", f"{EXECUTION}1", 200, 50),
        event("user_annotation", f"{NODE}conv2d", 201, 5),
        event("cuda_runtime", "cudaLaunchKernel", 202, correlation=4),
        event("kernel", "implicit_gemm", 230.0, 2.5, 4),
    )
    (_, found) = nodes_of(*FIRST, *second)
    assert found == {"conv2d": Span(0.0, 2.5, (Kernel("implicit_gemm", 0.0, 2.5),))}


@pytest.mark.parametrize(
    "stray",
    [
        event("kernel", "elsewhere", 125, 1, 99),
        event("kernel", "unmarked", 125, 1),
        event("cuda_runtime", "cudaDeviceSynchronize", 140, 9, 5),
    ],
)
def test_what_no_node_started_is_left_out(stray: dict[str, Any]) -> None:
    assert nodes_of(*FIRST, stray) == nodes_of(*FIRST)


def test_a_kernel_started_between_nodes_is_left_out() -> None:
    outside = event("cuda_runtime", "cudaLaunchKernel", 109.5, correlation=8)
    assert nodes_of(*FIRST, outside, event("kernel", "k", 126, 1, 8)) == nodes_of(*FIRST)


def test_an_execution_in_which_nothing_ran() -> None:
    assert nodes_of(event("user_annotation", f"{EXECUTION}0", 100, 50)) == [{}]
