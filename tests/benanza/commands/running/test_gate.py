"""`benanza gate`: from a model to an exit status."""

import json
from pathlib import Path

import pytest
from junitparser import Error, Failure, JUnitXml
from onnx import parser

import benanza as api
from benanza.onnxruntime import framework
from benanza_runner.measuring.stopping import Rule
from tests.benanza.conftest import Benanza, without_progress

MODEL = "zoo:squeezenet"

NET = """
<ir_version: 10, opset_import: ["" : 20]>
net (float[2, 8] x) => (float[2, 8] y)
{
    y = Relu(x)
}
"""

QUICK = Rule(warm_up_us=1_000, least_us=10_000, cap_us=20_000)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times say nothing here."""
    monkeypatch.setattr(framework, "RULE", QUICK)


def test_what_it_says_is_its_exit_status(benanza: Benanza, data: Path, tmp_path: Path) -> None:
    # Other programs may run beside the tests, and then no limit fails.
    done = benanza("gate", MODEL, "--data", data, "--max-ratio", "0.001")
    verdict = {1: "fails", 3: "unknown"}[done.returncode]
    assert without_progress(done.stderr) == ""
    assert done.stdout.startswith(f"{verdict}: squeezenet, batch 1, fp32, on ")
    assert " times the bound (" in done.stdout
    assert done.stdout.count("\n") == 1

    report, document = tmp_path / "gate.xml", tmp_path / "gate.json"
    asked = ("gate", MODEL, "--data", data, "--max-ratio", "100000", "--junit", report)
    done = benanza(*asked, "--format", "json")
    assert done.returncode == 0
    document.write_text(done.stdout)
    (run,) = json.loads(done.stdout)["runs"]
    assert len(run["medians_us"]) == 5
    assert sorted(run["medians_us"])[2] == run["us"]
    assert [check["verdict"] for check in run["checks"]] == ["holds"]
    ((case,),) = JUnitXml.fromfile(str(report))
    assert (case.name, case.classname) == ("squeezenet, batch 1, fp32: max-ratio", "onnxruntime")
    assert case.result == []

    stored = ("gate", MODEL, "--data", data, "--stored")
    done = benanza(*stored, "--no-slower-than", document)
    assert (done.returncode, done.stderr) == (0, ""), "a run is as fast as itself"
    assert "1.00 times the earlier run" in done.stdout
    done = benanza(*stored, "--no-slower-than", "2026-01-01", "--junit", report)
    assert done.returncode == 3
    assert "no such run is stored as of 2026-01-01" in done.stdout
    ((case,),) = JUnitXml.fromfile(str(report))
    assert isinstance(case.result[0], Error)

    run["medians_us"] = [us / 1_000 for us in run["medians_us"]]
    document.write_text(json.dumps({"runs": [run], "errors": []}))
    found = api.gate("squeezenet", stored=True, no_slower_than=document, data=data)
    assert found.verdict in ("fails", "unknown")
    assert "times the earlier run" in found._repr_html_()
    document.write_text(json.dumps({"runs": [run | {"device": "another"}], "errors": []}))
    (checked,) = api.gate("squeezenet", stored=True, no_slower_than=document, data=data).runs
    assert checked.checks[0].reason == f"{document} is of another device: another"


def test_a_limit_without_a_bound_and_a_model_that_can_t_be_read(
    benanza: Benanza, tmp_path: Path
) -> None:
    report, net = tmp_path / "gate.xml", tmp_path / "net.onnx"
    net.write_bytes(parser.parse_model(NET).SerializeToString())
    models, new = (net, "missing.onnx"), tmp_path / "new"
    done = benanza("gate", *models, "--data", new, "--max-ratio", "2", "--junit", report)
    assert done.returncode == 3
    assert "no bound of it is known on this device; say: benanza run" in done.stdout
    assert "there is no file missing.onnx" in done.stderr
    (cases,) = JUnitXml.fromfile(str(report))
    assert [type(case.result[0]) for case in cases] == [Error, Error]
    assert not any(isinstance(case.result[0], Failure) for case in cases)


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        ((), 2, "give --max-ratio, --no-slower-than, or both"),
        (("--max-ratio", "0"), 2, "0.0 is not in the range"),
        (("--no-slower-than", "main.json"), 2, "no file that is there, and no time"),
        (("--no-slower-than", __file__), 1, "isn't what benanza gate --format json prints"),
    ],
)
def test_wrong_use(
    benanza: Benanza, tmp_path: Path, options: tuple[str, ...], status: int, said: str
) -> None:
    done = benanza("gate", MODEL, "--data", tmp_path, *options)
    assert done.returncode == status
    assert said in done.stderr
