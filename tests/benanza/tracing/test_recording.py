"""What is in the files of traces: PyTorch's of a CPU, and made-up ones of GPUs."""

import gzip
import json
import tracemalloc
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path

import pytest

from benanza.tracing.formats.kineto import KinetoReader
from benanza.tracing.formats.recorded import DeviceActivity
from benanza.tracing.recording import Recording, recording
from benanza_backbone.errors import BenanzaError
from tests.benanza.tracing.kineto_file import GPU, KinetoFile, steps, written_steps

TRACES = Path(__file__).parents[2] / "data" / "traces"


def by_name(found: Recording) -> dict[str, int]:
    counts: dict[str, int] = {}
    for operator in found.operators:
        counts[operator.name] = counts.get(operator.name, 0) + operator.calls
    return counts


def test_a_run_of_resnet50_has_its_layers() -> None:
    found = recording(TRACES / "resnet50.json.gz")
    assert (found.format, found.device, found.on_gpu) == ("PyTorch", "", False)
    counts = by_name(found)
    assert counts["aten::convolution"] == counts["aten::batch_norm"] == 53
    assert counts["aten::linear"] == counts["aten::max_pool2d"] == 1
    assert "aten::addmm" not in counts, "it is within aten::linear"


def test_a_run_on_an_h200_has_all_its_kernels() -> None:
    found = recording(TRACES / "h200-resnet50-eager.json.gz")
    assert (found.device, found.times.devices) == (GPU, 1)
    assert not found.unattributed
    assert by_name(found) == {
        "aten::convolution": 53,
        "aten::batch_norm": 53,
        "aten::relu_": 49,
        "aten::add_": 16,
        "aten::max_pool2d": 1,
        "aten::mean": 1,
        "aten::linear": 1,
    }
    kernels_us = sum(operator.gpu_us for operator in found.operators)
    assert kernels_us == pytest.approx(found.times.busy_us), "one stream runs one kernel at a time"
    assert found.times.busy_us + found.times.idle_us < found.span_us


def test_a_compiled_run_has_kernels_of_its_own() -> None:
    found = recording(TRACES / "h200-resnet50-compiled.json.gz")
    counts = by_name(found)
    assert counts["aten::convolution"] == 53
    assert sum(count for name, count in counts.items() if name.startswith("triton_")) > 50
    assert not found.unattributed


def test_times_of_operators_add_up_to_those_that_nothing_is_around() -> None:
    found = recording(TRACES / "bert.json.gz")
    assert sum(operator.host_us for operator in found.operators) <= found.span_us
    assert found.operators[0].host_us == max(each.host_us for each in found.operators)


def test_kernels_count_for_the_outermost_operator_that_is_a_layer(tmp_path: Path) -> None:
    found = recording(steps(3).write(tmp_path / "trace.json"))
    assert found.device == GPU
    linear, copying = found.operators
    assert (linear.name, linear.calls) == ("aten::linear", 3)
    assert linear.gpu_us == pytest.approx(3 * 80.0)
    assert linear.host_us == pytest.approx(3 * 400.0)
    assert [(each.name, each.count, each.us) for each in linear.kernels] == [
        ("gemm", 3, 180.0),
        ("epilogue", 3, 60.0),
    ]
    assert (copying.name, copying.gpu_us) == ("aten::copy_", 30.0)
    assert [(each.name, each.count) for each in found.host_calls] == [("cudaLaunchKernel", 9)]


def test_equal_calls_are_one_operator_and_others_are_not(tmp_path: Path) -> None:
    trace = KinetoFile()
    for number, rows in enumerate((8, 8, 9)):
        shapes, types = [[rows, 64]], ["float"]
        operator = trace.operator("aten::relu", 100.0 * number, 50.0, shapes, types)
        trace.kernel("relu", 100.0 * number + 60, 10.0, operator)
    found = recording(trace.write(tmp_path / "trace.json"))
    assert [(o.calls, o.inputs and o.inputs.shapes) for o in found.operators] == [
        (2, ((8, 64),)),
        (1, ((9, 64),)),
    ]


def test_what_no_operator_started_is_named(tmp_path: Path) -> None:
    trace = steps(1)
    trace.kernel("in_a_graph", 5_000.0, 40.0)
    found = recording(trace.write(tmp_path / "trace.json"))
    assert [(each.kind, each.name, each.us) for each in found.unattributed] == [
        ("kernel", "in_a_graph", 40.0)
    ]
    kinds = {each.name: each.kind for each in found.on_gpus}
    assert kinds["Memcpy DtoH (Device -> Pageable)"] == "copy"


def test_files_may_be_compressed_and_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    plain = steps(2).write(tmp_path / "trace.json")
    for content in (plain.read_bytes(), BOM_UTF8 + plain.read_bytes()):
        packed = tmp_path / "trace.json.gz"
        packed.write_bytes(gzip.compress(content))
        marked = tmp_path / "marked.json"
        marked.write_bytes(content)
        for path in (packed, marked):
            assert recording(path)._replace(file=plain) == recording(plain)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_gpu_may_be_named_behind_the_events(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = steps(2).write(tmp_path / "trace.json")
    document = json.loads(path.read_bytes())
    document["deviceProperties"] = document.pop("deviceProperties")
    path.write_bytes(pack(json.dumps(document).encode()))
    assert recording(path).device == GPU


def test_events_may_begin_and_end_apart(tmp_path: Path) -> None:
    """What doesn't end is counted."""
    trace = steps(2)
    plain = recording(trace.write(tmp_path / "trace.json"))
    apart = []
    for event in trace.events:
        if event["ph"] == "X":
            begin = {name: value for name, value in event.items() if name != "dur"} | {"ph": "B"}
            end = {name: event[name] for name in ("pid", "tid")} | {"ph": "E"}
            apart.append((event["ts"], -event["dur"], begin))
            ends = event["ts"] + event["dur"]
            apart.append((ends, event["dur"] - 1e9, end | {"ts": ends}))
    ordered = sorted(apart, key=lambda each: each[:2])
    trace.events = [event for *_, event in ordered]
    found = recording(trace.write(tmp_path / "trace.json"))
    assert found.operators == plain.operators
    assert not found.left_out
    trace.events[-1] = dict(trace.events[0])
    assert recording(trace.write(tmp_path / "trace.json")).left_out


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for count in (500, 4_000):
        path = written_steps(tmp_path / f"{count}.json", count)
        tracemalloc.start()
        found = recording(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert found.operators[0].calls == count
        assert found.operators[0].gpu_us == pytest.approx(80.0 * count)
    assert peaks[1] < 1.2 * max(peaks[0], 5_000_000)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is no whole trace"),
        (b"{}", "has no traceEvents"),
        (b'{"traceEvents": [{"ph": "X"', "is no whole trace"),
        (b'{"traceEvents": []}', "has no operator and no kernel"),
        (b"\x1f\x8b\x08\x00damaged", "is cut off or damaged"),
        (gzip.compress(b'{"traceEvents": []}', mtime=0)[:-9], "is cut off or damaged"),
        (b"SQLite format 3\x00damaged", "is no report of Nsight Systems"),
        (b"no JSON", "is no whole trace"),
        (
            b"\x80\x81 no text",
            r"is no whole trace \(lexical error: invalid char in json text\. \ufffd",
        ),
        (
            b'{"traceEvents": [{"ph": "X", "cat": "cpu_op"}]}',
            "1 event not as a profiler writes them",
        ),
        (
            b'{"traceEvents": [{"ph": "X", "cat": "kernel", "name": 1, "ts": [], "args": {}}]}',
            "1 event not as a profiler writes them",
        ),
        (
            b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 1,'
            b' "args": {"Input Dims": [["x"]]}}]}',
            "1 event not as a profiler writes them",
        ),
        (b'[{"name": "a_kernel_time", "args": {"op_name": "Relu"}}]', "event not as a profiler"),
        (b'{"traceEvents": ' + b"[" * 16_000, "it is nested in more than 100 levels"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    with pytest.raises(BenanzaError, match=reason):
        recording(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BenanzaError, match="can't be read: No such file"):
        recording(tmp_path / "missing.json")


def test_what_can_t_be_is_left_out_and_counted(tmp_path: Path) -> None:
    trace = steps(2)
    trace.operator("aten::relu", 3_000.0, -50.0, [[2, 8]], ["float"])
    trace.operator("aten::tanh", 3_000.0, 50.0, [["x"]], ["float"])
    trace.kernel("backwards", 3_100.0, -5.0)
    trace.operator("aten::sin", 3_200.0, 50.0, [[2**70]], ["float"])
    trace.operator("aten::cos", 1e300, 50.0, [[2, 8]], ["float"])
    found = recording(trace.write(tmp_path / "trace.json"))
    assert found.left_out == {"with a negative duration": 2, "not as a profiler writes them": 2}
    assert [each.name for each in found.operators] == ["aten::linear", "aten::copy_"]
    assert "aten::sin" in {each.name for each in found.host_operators}
    assert not found.unattributed


def test_kernels_of_a_graph_belong_to_nobody(tmp_path: Path) -> None:
    trace = steps(1)
    replay = trace.operator("Torch-Compiled Region: 0/0", 2_000.0, 300.0)
    for number in range(2):
        trace.kernel("triton_poi_fused_add_0", 2_200.0 + 50 * number, 40.0, replay)
        trace.events[-1]["args"]["correlation"] = 999
    launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 1}
    trace.events.append(launch | {"ts": 2_100.0, "dur": 9.0, "args": {"correlation": 999}})
    found = recording(trace.write(tmp_path / "trace.json"))
    assert found.in_graphs_us == 80.0
    assert [(each.name, each.count) for each in found.unattributed] == [
        ("triton_poi_fused_add_0", 2)
    ]
    assert "Torch-Compiled Region: 0/0" not in {each.name for each in found.operators}


def test_kernels_without_a_correlation_are_in_no_graph(tmp_path: Path) -> None:
    trace = steps(1)
    del trace.events[-1]["args"]["correlation"]
    launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 1}
    trace.events.append(launch | {"ts": 2_100.0, "dur": 9.0, "args": {}})
    assert recording(trace.write(tmp_path / "trace.json")).in_graphs_us == 0.0


def test_ids_of_more_ranks_than_there_can_be_are_none() -> None:
    reader = KinetoReader()
    event = {"ph": "X", "cat": "kernel", "name": "k", "ts": 0, "args": {"External id": 2**48 - 1}}
    read = [reader.read(event | {"pid": f"[{rank}] 1"}) for rank in range(2**15 + 1)]
    last, beyond = (each.operator for each in read[-2:] if isinstance(each, DeviceActivity))
    assert (last, beyond) == (2**63 - 1, None)


def test_ids_are_those_of_a_rank(tmp_path: Path) -> None:
    """As SGLang merges traces: the processes' names begin with the rank, and ids are the same."""
    merged = KinetoFile()
    for rank, name in enumerate(("aten::relu", "aten::tanh")):
        of_rank = KinetoFile()
        operator = of_rank.operator(name, 0.0, 50.0, [[2, 8]], ["float"])
        of_rank.kernel(f"{name} kernel", 60.0, 10.0 + rank, operator, 20.0)
        merged.events += [event | {"pid": f"[TP{rank:02}] 1"} for event in of_rank.events]
    found = recording(merged.write(tmp_path / "merged.json"))
    assert {(each.name, each.gpu_us) for each in found.operators} == {
        ("aten::relu", 10.0),
        ("aten::tanh", 11.0),
    }
    assert found.times.devices == 2
