"""`benanza evaluate`: from a model to a figure beside its bound."""

import json
from pathlib import Path

import onnx
import pytest

pytest.importorskip("mlperf_loadgen")

import benanza as api
from benanza.evaluating import evaluate as module
from benanza.installation.configured import known_store
from benanza.settings import load
from tests.benanza.conftest import Benanza, without_progress

MODEL = "zoo:squeezenet"

TIME_FIRST = """
<ir_version: 10, opset_import: ["" : 21]>
g (float[3, 4] x) => (float[4, 2] y) {
    t = Transpose(x)
    w = Constant <value = float[3, 2] {1, 2, 3, 4, 5, 6}> ()
    y = MatMul(t, w)
}
"""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times say nothing here."""
    monkeypatch.setattr(module, "SERVICE_S", 0.01)


def test_a_stream_stands_beside_the_bound(benanza: Benanza, data: Path) -> None:
    trace = data / "trace.json"
    asked = ("evaluate", MODEL, "--data", data, "--duration", "0.1", "--trace", trace)
    done = benanza(*asked, "--format", "json")
    assert done.returncode == 0
    said, looking = without_progress(done.stderr).splitlines()
    assert looking.startswith("looked at layers: a call takes ")
    written = json.loads(trace.read_text("utf-8"))
    slices = [event for event in written["traceEvents"] if event["ph"] == "X"]
    assert said.startswith(f"the trace {written['otherData']['traces'][0]['trace_id']} has ")
    assert {"request", "call", "Conv", "MaxPool"} <= {event["name"] for event in slices}
    found = json.loads(done.stdout)  # LoadGen adds nothing of its own
    latency_us = found["evaluation"]["measured"]["latency"]["mean_us"]
    assert sum(part["us"] for part in found["parts"]) == pytest.approx(latency_us)
    assert found["parts"][0] == {"kind": "the bound", "us": found["bound_us"]}
    assert found["bound_per_s"] == pytest.approx(1e6 / found["bound_us"])
    with known_store(load(data)) as store:
        (row,) = store.query("SELECT model, scenario, figures['mean_us'] AS us FROM evaluations")
    assert row == {"model": "squeezenet", "scenario": "single-stream", "us": latency_us}


def test_what_has_no_batch_of_one_stands_beside_the_bound_of_its_file(
    benanza: Benanza, data: Path, tmp_path: Path
) -> None:
    path = tmp_path / "time.onnx"
    path.write_bytes(onnx.parser.parse_model(TIME_FIRST).SerializeToString())
    asked = ("evaluate", path, "--data", data, "--duration", "0.05", "--format", "json")
    found = json.loads(benanza(*asked).stdout)
    say = f"say: benanza run {path} --precision fp32"
    assert found["without_bound"] == f"no full bound of it is known on this device; {say}"
    assert benanza(*say.split()[2:], "--data", data).returncode == 0
    found = json.loads(benanza(*asked).stdout)
    assert found["bound_us"] > 0
    (bound,) = json.loads(benanza("bounds", path, "--data", data, "--format", "json").stdout)[
        "bounds"
    ]
    assert found["evaluation"]["model_id"] == bound["model_id"]
    assert found["bound_per_s"] == pytest.approx(1e6 / found["bound_us"])
    found = json.loads(benanza(*asked, "--scenario", "multi-stream", "--streams", "4").stdout)
    assert found["without_bound"].endswith("at batch size 4, which the model can't be had at")


def test_bad_input_is_one_line_that_says_what_to_do(benanza: Benanza, data: Path) -> None:
    for arguments, expected in (
        (("missing.onnx",), "there is no file missing.onnx"),
        ((MODEL, "--framework", "none"), "there is no framework 'none'"),
    ):
        done = benanza("evaluate", *arguments, "--data", data)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.count("\n") == 1
        assert expected in done.stderr
    for option, of in (
        ("--rate", "server"),
        ("--max-wait-ms", "server"),
        ("--streams", "multi-stream"),
    ):
        done = benanza("evaluate", MODEL, option, "4", "--data", data)
        assert (done.returncode, f"{option} needs --scenario {of}" in done.stderr) == (2, True)
    done = benanza("evaluate", MODEL, "--precision", "fp16", "--data", data)
    assert done.returncode == 1
    assert "export it at fp16" in done.stdout
    with pytest.raises(api.BenanzaError, match="scenario can't be 'batch'; give 'single-stream'"):
        api.evaluate(MODEL, scenario="batch", data=data)  # type: ignore[arg-type]
    with pytest.raises(api.BenanzaError, match="streams can't be 2000; give a whole number up to"):
        api.evaluate(MODEL, scenario="multi-stream", streams=2_000, data=data)
