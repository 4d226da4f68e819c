"""What is in the files of traces: PyTorch's of a CPU, and made-up ones of GPUs."""

import gzip
import tracemalloc
from pathlib import Path

import pytest

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


def test_files_may_be_compressed(tmp_path: Path) -> None:
    plain = steps(2).write(tmp_path / "trace.json")
    packed = tmp_path / "trace.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert recording(packed)._replace(file=plain) == recording(plain)


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
        (b"\x1f\x8b\x08\x00damaged", "can't be read"),
        (b"SQLite format 3\x00damaged", "is no report of Nsight Systems"),
        (b"no JSON", "is no whole trace"),
        (
            b"\x80\x81 no text",
            r"is no whole trace \(lexical error: invalid char in json text\. \ufffd",
        ),
        (b'{"traceEvents": [{"ph": "X", "cat": "cpu_op"}]}', "isn't as a profiler writes it"),
        (
            b'{"traceEvents": [{"ph": "X", "cat": "kernel", "name": 1, "ts": [], "args": {}}]}',
            "isn't as a profiler writes it",
        ),
        (
            b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 1,'
            b' "args": {"Input Dims": [["x"]]}}]}',
            "isn't as a profiler writes it",
        ),
        (b'[{"name": "a_kernel_time", "args": {"op_name": "Relu"}}]', "isn't as a profiler writes"),
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
