"""Executions of a model as ONNX Runtime writes them, and what a GPU did for their nodes."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from benanza.onnxruntime.trace import Execution, Executions, executions_in, on_gpu
from benanza.profiling.spans import Activity, Kernel, Span

CPU, GPU = "CPUExecutionProvider", "CUDAExecutionProvider"


def event(name: str, ts: float, dur: float, op: str = "", provider: str = "") -> dict[str, Any]:
    arguments = {"op_name": op, "provider": provider} if op else {}
    return {"ph": "X", "cat": "Node", "name": name, "ts": ts, "dur": dur, "args": arguments}


WRITTEN = (
    {"ph": "M", "name": "process_name"},
    event("session_initialization", 0, 50),
    event("model_run", 100, 30),
    event("conv_fence_before", 101, 1, "Conv"),
    event("conv_kernel_time", 102, 10, "Conv"),
    event("relu_kernel_time", 115, 5, "Relu"),
    event("SequentialExecutor::Execute", 101, 25),
    event("model_run", 200, 40),
    event("relu_kernel_time", 220, 6, "Relu"),
    event("conv_kernel_time", 202, 12, "Conv"),
)


def test_each_execution_has_its_nodes_in_the_order_of_their_starts(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_bytes(msgspec.json.encode(WRITTEN))
    found = executions_in(path, began_us=1_000.0)
    assert found.ops == {"conv": "Conv", "relu": "Relu"}
    first, second = found.executions
    assert first == (1_100.0, 30, {"conv": Span(2, 10), "relu": Span(15, 5)})
    assert second.start_us == 1_200.0
    assert list(second.nodes.items()) == [("conv", Span(2, 12)), ("relu", Span(20, 6))]


NODES = {"conv": Span(10.0, 10.0), "view": Span(25.0, 1.0), "relu": Span(30.0, 5.0)}
HOST = Executions([Execution(1_000.0, 60.0, NODES)], {"conv": "Conv", "view": "Reshape"})

COPIED = Activity("Memcpy HtoD", 1_002.0, 1_003.0, 4.0)
GEMM = Activity("gemm", 1_012.0, 1_014.0, 20.0)
BIAS = Activity("bias", 1_015.0, 1_034.5, 2.0)
RELU = Activity("relu", 1_031.0, 1_037.0, 3.0)


def test_a_kernel_belongs_to_the_node_that_started_it_whenever_it_runs() -> None:
    (found,) = on_gpu(HOST, [COPIED, GEMM, BIAS, RELU]).executions
    assert found.nodes["conv"] == Span(
        11.0, 22.0, (Kernel("gemm", 11.0, 20.0), Kernel("bias", 31.5, 2.0))
    )
    assert found.nodes["relu"] == Span(34.0, 3.0, (Kernel("relu", 34.0, 3.0),))
    assert "view" not in found.nodes


def test_what_is_started_between_nodes_is_named_after_itself() -> None:
    back = Activity("Memcpy DtoH", 1_050.0, 1_052.0, 1.0)
    copies = [COPIED, COPIED._replace(launched_us=1_004.0, start_us=1_008.0), back]
    found = on_gpu(HOST, [*copies, GEMM])
    assert list(found.executions[0].nodes) == [
        "Memcpy HtoD 1",
        "Memcpy HtoD 2",
        "Memcpy DtoH 1",
        "conv",
    ]
    assert found.executions[0].nodes["Memcpy HtoD 2"].start_us == 5.0
    assert found.ops["Memcpy HtoD 2"] == "Memcpy HtoD"
    assert found.ops["conv"] == "Conv"


@pytest.mark.parametrize("launched_us", [990.0, 1_070.0])
def test_what_is_started_outside_an_execution_is_not_in_it(launched_us: float) -> None:
    stray = Activity("stray", launched_us, 1_100.0, 1.0)
    (found,) = on_gpu(HOST, [GEMM, BIAS, RELU, stray]).executions
    assert [k.name for span in found.nodes.values() for k in span.kernels] == [
        "gemm",
        "bias",
        "relu",
    ]


def test_clocks_differ_by_the_same_in_all_executions() -> None:
    """They follow each other closely: with the clocks as they are, the first would lose its last
    copy to the second.
    """
    second = Execution(1_061.0, 60.0, NODES)
    back = Activity("Memcpy DtoH", 1_057.0, 1_058.0, 1.0)
    late = [
        each._replace(launched_us=each.launched_us + after + 8.0)
        for after in (0.0, 61.0)
        for each in (GEMM, BIAS, RELU, back)
    ]
    found = on_gpu(HOST._replace(executions=[*HOST.executions, second]), late)
    assert [list(each.nodes) for each in found.executions] == 2 * [
        ["conv", "relu", "Memcpy DtoH 1"]
    ]


def test_a_node_on_the_cpu_keeps_its_time_there(tmp_path: Path) -> None:
    written = [
        event("model_run", 100, 30),
        event("conv_kernel_time", 102, 10, "Conv", GPU),
        event("size_kernel_time", 115, 5, "Shape", CPU),
    ]
    path = tmp_path / "profile.json"
    path.write_bytes(msgspec.json.encode(written))
    conv = GEMM._replace(launched_us=1_005.0, start_us=1_006.0, us=7.0)
    (only,) = on_gpu(executions_in(path, began_us=900.0), [conv]).executions
    assert only.nodes["size"].us == 5
    assert [kernel.name for kernel in only.nodes["conv"].kernels] == ["gemm"]


def test_nodes_on_both_start_by_one_clock() -> None:
    """The copy back to the GPU follows the node on the CPU, by which everything waits for it."""
    nodes = {"size": Span(1.0, 5.0), "conv": Span(7.0, 10.0), "host": Span(22.0, 9.0)}
    found = Executions([Execution(1_000.0, 60.0, nodes)], {}, frozenset({"size", "host"}))
    back = Activity("Memcpy HtoD", 1_033.0, 1_034.0, 1.0)
    (only,) = on_gpu(found, [GEMM._replace(us=6.0), back]).executions
    assert {name: span.start_us for name, span in only.nodes.items()} == {
        "size": 0.0,
        "conv": 13.0,
        "host": 21.0,
        "Memcpy HtoD 1": 33.0,
    }


@pytest.mark.parametrize("shift_us", [-2.0, 0.0, 3.0, 9.0])
def test_kernels_belong_to_the_nodes_that_started_them_by_another_clock(shift_us: float) -> None:
    """All but one set of launches that are moved together would be outside of nodes."""
    moved = [
        each._replace(launched_us=each.launched_us + shift_us)
        for each in (COPIED, GEMM, BIAS, RELU)
    ]
    (found,) = on_gpu(HOST, moved).executions
    assert [kernel.name for kernel in found.nodes["conv"].kernels] == ["gemm", "bias"]
    assert [kernel.name for kernel in found.nodes["relu"].kernels] == ["relu"]
    assert list(found.nodes) == ["Memcpy HtoD 1", "conv", "relu"]


def test_a_kernel_that_no_clock_puts_into_a_node_belongs_to_the_nearest() -> None:
    stray = Activity("stray", 1_023.0, 1_040.0, 1.0)
    (found,) = on_gpu(HOST, [GEMM, BIAS, stray, RELU]).executions
    assert [kernel.name for kernel in found.nodes["view"].kernels] == ["stray"]
