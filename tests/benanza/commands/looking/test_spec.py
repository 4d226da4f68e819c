"""`benanza spec`, and `benanza run --spec`, which finds the bound again."""

import json
from pathlib import Path

import pytest

from tests.benanza.conftest import Benanza, FirstRun


@pytest.fixture
def spec(benanza: Benanza, first_run: FirstRun, data: Path, tmp_path: Path) -> Path:
    done = benanza("spec", "zoo:squeezenet", "--data", data)
    assert (done.returncode, done.stderr) == (0, "")
    path = tmp_path / "spec.json"
    path.write_text(done.stdout, encoding="utf-8")
    return path


def test_a_bound_is_found_again(
    benanza: Benanza, first_run: FirstRun, data: Path, spec: Path
) -> None:
    (bound,) = json.loads(first_run[1].stdout)["bounds"]
    document = json.loads(spec.read_text(encoding="utf-8"))
    assert document["bound"]["sequential_us"] == bound["sequential_us"]
    done = benanza("run", "--spec", spec, "--data", data)
    assert done.returncode == 0, done.stderr
    assert "squeezenet, batch 1, fp32, full: " in done.stdout
    assert "the same within their spread" in done.stdout


def test_what_differs_fails_and_is_named(
    benanza: Benanza, first_run: FirstRun, data: Path, spec: Path
) -> None:
    document = json.loads(spec.read_text(encoding="utf-8"))
    # By more than the spread, which may be several times the bound on a busy machine.
    document["bound"]["sequential_us"] *= 100
    document["software"]["onnxruntime"] = "0.1"
    spec.write_text(json.dumps(document), encoding="utf-8")
    done = benanza("run", "--spec", spec, "--data", data, "--format", "json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["same"] is False
    assert [each["what"] for each in found["differences"]] == ["onnxruntime"]


@pytest.mark.parametrize("more", [("--batch", "2"), ("--again",), ("a.onnx", "b.onnx")])
def test_a_spec_leaves_nothing_else_to_say(
    benanza: Benanza, spec: Path, more: tuple[str, ...]
) -> None:
    done = benanza("run", "--spec", spec, *more)
    assert done.returncode == 2
    assert "--spec says what to run; beside it name no more than its MODEL" in done.stderr


def test_without_a_spec_a_model_has_to_be_named(benanza: Benanza) -> None:
    done = benanza("run")
    assert done.returncode == 2
    assert "Missing argument 'MODEL...'" in done.stderr
