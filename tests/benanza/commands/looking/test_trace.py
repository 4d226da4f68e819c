"""`benanza trace`: from a trace to its bounds, and back."""

import json
from pathlib import Path

import pytest

from tests.benanza.conftest import Benanza
from tests.benanza.tracing.kineto_file import KinetoFile, steps

TRACES = Path(__file__).parents[3] / "data" / "traces"


@pytest.fixture
def relus(tmp_path: Path) -> Path:
    """On a CPU."""
    trace = KinetoFile()
    for start_us in (0.0, 1_000.0):
        trace.operator("aten::relu", start_us, 500.0, [[2, 8]], ["float"])
    return trace.write(tmp_path / "relus.json")


def test_its_document_has_all_operators(benanza: Benanza, tmp_path: Path) -> None:
    options = ("--data", tmp_path / "new", "--format", "json")
    done = benanza("trace", TRACES / "llama.json.gz", *options)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert (said["format"], said["on_gpu"], said["published"]) == ("PyTorch", False, "")
    matches = {call["match"] for call in said["calls"]}
    assert matches == {"waits", "no layer"}
    attention = [call for call in said["calls"] if "scaled_dot_product" in call["name"]]
    assert {call["op"].split("+")[-1] for call in attention} <= {"Attention", "Transpose"}
    assert sum(call["share"] for call in said["calls"]) == pytest.approx(1.0)
    assert not (tmp_path / "new").exists(), "nothing is known, and nothing is written"


def test_it_prints_where_the_time_went(benanza: Benanza, tmp_path: Path) -> None:
    trace = steps(3).write(tmp_path / "steps.json")
    done = benanza("trace", trace, "--data", tmp_path / "new", "--limit", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "PyTorch, on NVIDIA H200" in done.stdout
    assert "of 89% they wait: none of its layers was measured on such a device" in done.stdout
    for said in ("aten::linear", "MatMul+Add", "Memcpy DtoH", "cudaLaunchKernel", ".item()"):
        assert said in done.stdout


def test_two_traces(benanza: Benanza, relus: Path, tmp_path: Path) -> None:
    other = steps(1).write(tmp_path / "steps.json")
    done = benanza("trace", relus, "--compare", other, "--data", tmp_path / "new")
    assert done.returncode == 0
    assert "aten::relu" in done.stdout
    assert "aten::linear" in done.stdout
    told = benanza("trace", relus, "--compare", other, "--format", "json")
    assert len(json.loads(told.stdout)["differences"]) == 3


@pytest.mark.usefixtures("thorough_runtime")
def test_what_a_run_measured_bounds_the_trace(
    benanza: Benanza, relus: Path, tmp_path: Path
) -> None:
    data, model = tmp_path / "data", tmp_path / "model.onnx"
    published = benanza("trace", relus, "--data", data, "--publish", "-o", model)
    assert "published as trace:relus" in published.stdout
    assert benanza("run", model, "--data", data).returncode == 0
    (call,) = json.loads(benanza("trace", relus, "--data", data, "--format", "json").stdout)[
        "calls"
    ]
    assert call["match"] == "measured"
    assert 0 < call["bound_us"] < call["us"] == pytest.approx(1_000.0)
    # Ceilings of a machine that is at other work may be too low.
    assert 0 < call["light_us"] <= 2 * call["bound_us"]
    beside = benanza("trace", relus, "--data", data, "--model", model)
    assert "1 of its 1 layers are in the trace, which runs it 2 times; its bound" in beside.stdout
    assert "why no bound" not in beside.stdout, "all have one"
    history = benanza("history", "trace:relus", "--data", data)
    assert "measurement moved it" in history.stdout, "of the model that was published"


def test_what_is_no_trace(benanza: Benanza, tmp_path: Path) -> None:
    (tmp_path / "no.json").write_text("{}")
    done = benanza("trace", tmp_path / "no.json", "--data", tmp_path)
    assert done.returncode == 1
    assert "is no trace" in done.stderr
