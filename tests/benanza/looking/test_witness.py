"""Models run as their bounds say, by a runtime that says what it was asked to run."""

import json
from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from benanza.cli import cli
from benanza.looking import witness
from benanza.running import pipeline
from benanza.settings import load
from benanza_backbone.clickhouse.store import Store
from benanza_runner.runtime import Outcome, RunResult
from benanza_schemas.events import MAX_INLINE_MODEL_BYTES, RunTimes
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.program import Choice, Program
from benanza_schemas.vocabulary import CacheState
from tests.benanza.publishing.test_asked_models import product
from tests.ingest.reading.model_server import model_server
from tests.runner.fake_runtime import FakeRuntime, variant

pytestmark = pytest.mark.integration

MODEL = "zoo:squeezenet"


class Whole(FakeRuntime):
    """Convolutions are faster channels last; whole models take a tenth more than their calls."""

    asked: Program | None = None

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        first = msgspec.structs.replace(variant(3.0, "slow"), layout="NCHW", layout_change_us=2.0)
        last = msgspec.structs.replace(variant(2.0, "fast"), layout="NHWC", layout_change_us=2.0)
        interleaved, cold = (
            msgspec.structs.replace(last, median_us=us, cache=cache)
            for us, cache in (
                (2.25, CacheState.INTERLEAVED),
                (6.0, CacheState.WEIGHTS_COLD),
            )
        )
        if layer.operators[0].op_type == "Conv":
            return Outcome(variants=(first, last, interleaved, cold))
        return Outcome(variants=(variant(1.0, "only"),))

    def witness(self, program: Program, precision: Precision) -> RunResult:
        type(self).asked = program
        calls = [step.choice for step in program.steps if step.choice]
        us = 1.1 * sum({"slow": 3.0, "fast": 2.0, "only": 1.0}[call.algorithm] for call in calls)
        return RunResult(
            sequential=RunTimes(us, 0.5, (us, us)),
            read_ahead=RunTimes(us - 1.0, 0.25, (us - 1.0,)),
            parallel=RunTimes(us / 2, 0.5, (us / 2,)),
            calls=len(calls) + 1,
            layout_changes=1,
            error=0.001,
            allowed_error=0.01,
        )


class Partial(Whole):
    """Cannot measure poolings."""

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        if any(operator.op_type == "MaxPool" for operator in layer.operators):
            return Outcome(failure="no library here runs it")
        return super().measure(layer, precision)


@pytest.fixture(params=[Whole])
def runtime(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pipeline, witness):
        monkeypatch.setattr(module, "open_runtime", lambda *_: nullcontext(request.param()))
    monkeypatch.setattr(witness, "why_unavailable", lambda: None)


@pytest.mark.usefixtures("runtime")
def test_a_model_is_run_as_its_bound_says(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["witness", MODEL, "--data", str(tmp_path), "--format", "json"])
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["witnesses"]
    program = Whole.asked
    assert program is not None
    choices = [step.choice for step in program.steps if step.choice]
    assert {choice.algorithm: choice for choice in choices} == {
        "fast": Choice("fake", "fast", "NHWC", us=2.25, waits_us=3.75),
        "only": Choice("fake", "only", "", us=1.0, waits_us=0.0),
    }
    written = {step.names[i] for step in program.steps for i in step.layer.outputs}
    assert set(program.outputs) <= written
    assert found["sequential_us"] == pytest.approx(1.1 * found["sequential_bound_us"])
    assert (found["calls"], found["layout_changes"]) == (len(choices) + 1, 1)
    with Store.open(load(tmp_path).clickhouse) as store:
        (row,) = store.query("SELECT * FROM witnesses FINAL", {})
        bounds = store.query("SELECT event_id, sequential_us FROM bounds FINAL", {})
    assert row["sequential_us"] == found["sequential_us"]
    assert row["read_ahead_us"] == found["read_ahead_us"] == found["sequential_us"] - 1.0
    assert row["read_ahead_samples_us"] == [found["read_ahead_us"]]
    assert (row["error"], row["allowed_error"]) == (found["error"], found["allowed_error"])
    assert (row["error"], row["unchecked"]) == (0.001, "")
    assert row["parallel_samples_us"] == [found["parallel_us"]]
    assert {b["event_id"]: b["sequential_us"] for b in bounds}[row["bound_id"]] == (
        found["sequential_bound_us"]
    )


@pytest.mark.usefixtures("runtime")
def test_what_ifs_are_run_as_they_are_predicted(tmp_path: Path) -> None:
    """Channels first, each of squeezenet's convolutions takes 3.0 instead of 2.0."""
    command = ["witness", MODEL, "--what-ifs", "--data", str(tmp_path), "--format", "json"]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, done.output
    as_bound, *what_ifs = json.loads(done.stdout)["witnesses"]
    assert (as_bound["policy"], as_bound["predicted_us"]) == ("", None)
    found = {each["policy"]: each for each in what_ifs}
    bound_us = as_bound["sequential_bound_us"]
    assert found["channels first wherever possible"]["predicted_us"] == bound_us + 26
    assert found["without fusion"]["predicted_us"] > bound_us
    assert found["without fusion"]["calls"] > as_bound["calls"]
    assert "channels last wherever possible" not in found, "it is the bound itself"
    for each in what_ifs:
        assert each["sequential_us"] == pytest.approx(1.1 * each["predicted_us"])
        assert each["sequential_bound_us"] == bound_us
    with Store.open(load(tmp_path).clickhouse) as store:
        beside = store.query("SELECT run_us FROM witnesses_beside_bounds", {})
        runs = store.query("SELECT * FROM what_if_runs ORDER BY policy", {})
    assert [row["run_us"] for row in beside] == [as_bound["sequential_us"]]
    assert [row["policy"] for row in runs] == sorted(found)
    for row in runs:
        run = found[row["policy"]]
        assert (row["predicted_us"], row["run_us"]) == (run["predicted_us"], run["sequential_us"])
        assert row["of_the_predicted"] == 1.1


@pytest.mark.usefixtures("runtime")
def test_it_is_shown_beside_the_bound(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["witness", MODEL, "--data", str(tmp_path)])
    title, row, system, *more = done.stdout.splitlines()
    assert title.split("  ")[0] == "model"
    assert row.startswith("squeezenet")
    assert "1.10" in row
    assert system.startswith("measured on")
    assert more == []


@pytest.mark.usefixtures("runtime")
def test_a_model_is_fetched_once(tmp_path: Path) -> None:
    """Also where it is too large to travel in an event, and is asked for at several batch sizes."""
    content = product(tmp_path / "product.onnx", 5000, random_weights=True).read_bytes()
    assert len(content) > MAX_INLINE_MODEL_BYTES
    command = ["--dim", "length=5", "--batch", "1,2", "--data", str(tmp_path), "--format", "json"]
    with model_server({"/product.onnx": content}) as (address, paths):
        done = CliRunner().invoke(cli, ["witness", f"{address}/product.onnx", *command])
    assert done.exit_code == 0, done.output
    assert [found["batch"] for found in json.loads(done.stdout)["witnesses"]] == [1, 2]
    assert paths == ["/product.onnx"]


@pytest.mark.parametrize("runtime", [Partial], indirect=True)
@pytest.mark.usefixtures("runtime")
def test_what_lacks_layers_is_not_run_and_says_so(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        cli, ["witness", MODEL, "zoo:nowhere", "--data", str(tmp_path), "--format", "json"]
    )
    assert done.exit_code == 1
    document = json.loads(done.stdout)
    assert "lacks 3 layers" in document["witnesses"][0]["failure"]
    assert document["witnesses"][0]["sequential_us"] is None
    assert "nowhere" in document["errors"][0]["reason"]


@pytest.mark.parametrize(
    "lacking",
    ["needs an NVIDIA GPU and its driver, and there is none here", "lacks cupy; say: pip install"],
)
def test_without_a_gpu_it_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    """It is `run` that has an option for the runtime."""
    monkeypatch.setattr(witness, "why_unavailable", lambda: lacking)
    done = CliRunner().invoke(cli, ["witness", MODEL, "--data", str(tmp_path / "data")])
    assert done.exit_code == 1
    assert done.stderr == f"error: witness {lacking} (benanza bounds has the estimates)\n"
    assert not (tmp_path / "data").exists()
