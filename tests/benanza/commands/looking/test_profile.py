"""`benanza profile`: a framework's run beside the bound."""

import json
from pathlib import Path

import pytest

from tests.benanza.conftest import Benanza, without_progress


@pytest.mark.usefixtures("short_profiles")
def test_its_document_adds_up_to_the_run_and_to_the_bound(benanza: Benanza, data: Path) -> None:
    done = benanza("profile", "zoo:squeezenet", "--data", data, "--format", "json")
    assert (done.returncode, without_progress(done.stderr)) == (0, "")
    (found,) = json.loads(done.stdout)["profiles"]
    assert (found["model"], found["framework"]) == ("squeezenet", "onnxruntime")
    assert found["configuration"] == "default options"
    assert found["us"] > 0
    assert {at for call in found["calls"] for at in call["positions"]} == set(range(66))
    parts = found["parts"]
    assert sum(part["us"] for part in parts) <= found["looked_at_us"] * 1.05
    by_kind = {part["kind"] for part in parts}
    assert by_kind & {"between calls", "timing each call"}
    layers = [name for part in parts for name in part["layers"]]
    assert len(layers) == len(set(layers))
    explained = benanza("explain", "squeezenet", "--data", data, "--format", "json")
    (bound,) = json.loads(explained.stdout)["explanations"]
    assert found["bound_us"] == pytest.approx(bound["bound"]["sequential_us"])


@pytest.mark.usefixtures("short_profiles")
def test_it_prints_where_the_bound_saves_time(benanza: Benanza, data: Path) -> None:
    trace = data / "trace.json"
    options = ("--limit", "3", "--all-configurations", "--trace", trace)
    done = benanza("profile", "zoo:squeezenet", "--data", data, *options)
    assert (done.returncode, without_progress(done.stderr)) == (0, "")
    lines = done.stdout.splitlines()
    titles = [line for line in lines if line.startswith("squeezenet, batch 1, fp32, on ")]
    assert all("; the bound is " in title for title in titles)
    assert [", default options" in title for title in titles] == [True, False, False, False]
    assert any(line.startswith("more calls") for line in lines)
    slices = [each for each in json.loads(trace.read_text())["traceEvents"] if each["ph"] == "X"]
    assert len({each["pid"] for each in slices}) == 4


@pytest.mark.usefixtures("short_profiles")
def test_without_a_bound_there_is_still_a_time(benanza: Benanza, tmp_path: Path) -> None:
    done = benanza("profile", "zoo:squeezenet", "--data", tmp_path / "new")
    assert done.returncode == 0
    assert "no full bound of it is known on this device; say: benanza run" in done.stdout


def test_a_framework_or_precision_that_is_none(benanza: Benanza, tmp_path: Path) -> None:
    done = benanza("profile", "zoo:squeezenet", "--framework", "mxnet", "--data", tmp_path)
    assert done.returncode == 1
    assert "no framework 'mxnet'; installed are onnxruntime" in done.stderr
    done = benanza("profile", "zoo:squeezenet", "--precision", "fp16", "--data", tmp_path)
    assert done.returncode == 1
    assert "export it at fp16" in done.stdout


def test_a_model_that_can_t_be_read(benanza: Benanza, tmp_path: Path) -> None:
    done = benanza("profile", tmp_path / "nothing.onnx", "--data", tmp_path / "data")
    assert done.returncode == 1
    assert "nothing.onnx" in done.stderr
