"""`benanza gate`: from a model to an exit status."""

import json
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from junitparser import Error, Failure, JUnitXml
from msgspec.structs import replace
from onnx import parser

import benanza as api
from benanza.gating import gate as gating
from benanza.onnxruntime import framework
from benanza.profiling.beside_bound import LowestBounds
from benanza_backbone.event_log.readable import events_of
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from benanza_runner.measuring.stopping import Rule
from benanza_schemas.events import ModelProfiled
from benanza_schemas.topics import PROFILES
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
    (run,) = json.loads(done.stdout)["runs"]
    # What else the machine did then isn't to be doubted here.
    document.write_text(json.dumps({"runs": [run | {"slowed_by": ""}], "errors": []}))
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
    slow = run | {"medians_us": [1e9] * 5, "slowed_by": "other programs"}
    document.write_text(json.dumps({"runs": [slow], "errors": []}))
    (checked,) = api.gate("squeezenet", stored=True, no_slower_than=document, data=data).runs
    assert checked.checks[0].verdict == "unknown"
    assert "the earlier run was slowed down by other programs" in checked.checks[0].reason
    document.write_text(json.dumps({"runs": [run | {"device": "another"}], "errors": []}))
    (checked,) = api.gate("squeezenet", stored=True, no_slower_than=document, data=data).runs
    assert checked.checks[0].reason == f"{document} is of another device: another"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gating, "LowestBounds", WithoutWork)
        done = benanza(*stored, "--max-ratio", "2")
    assert done.returncode == 3
    assert "its bound is 0, as it computes nothing that takes time" in done.stdout
    _fail_once_more(data)
    done = benanza(*stored, "--max-ratio", "100000")
    assert done.returncode == 3
    assert "out of memory" in done.stdout, "the success before it is an old one"


class WithoutWork(LowestBounds):
    """Of a model that computes nothing, such as one of views."""

    def of(self, event: ModelProfiled) -> Any:
        lowest, partial = super().of(event)
        assert lowest is not None
        return SimpleNamespace(bound=replace(lowest.bound, sequential_us=0.0)), partial


def _fail_once_more(data: Path) -> None:
    with SqliteEventLog(data / "events.sqlite") as log:
        *_, event = events_of(log, PROFILES, ModelProfiled)
        later = event.profiled_at + timedelta(seconds=1)
        failed = replace(
            event, event_id="f" * 32, profiled_at=later, times=None, failure="out of memory"
        )
        log.append([as_message(failed)])


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
        (("--no-slower-than", "main"), 2, "name a document in a Git revision as REV:FILE"),
        (
            ("--max-ratio", "2", "--junit", "/dev/null/gate.xml"),
            1,
            "can't write /dev/null/gate.xml",
        ),
        (("--no-slower-than", __file__), 1, "isn't what benanza gate --format json prints"),
    ],
)
def test_wrong_use(
    benanza: Benanza, tmp_path: Path, options: tuple[str, ...], status: int, said: str
) -> None:
    done = benanza("gate", MODEL, "--data", tmp_path, *options)
    assert done.returncode == status
    assert said in done.stderr
    assert not any(tmp_path.iterdir()), "nothing ran"
