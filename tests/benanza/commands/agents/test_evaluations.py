"""`benanza agents` and `benanza evaluations`, over a real broker on which agents are announced."""

import json

import pytest
from click.testing import CliRunner, Result

from benanza.agents.core import EvaluationOutcome, evaluated_on
from benanza.cli import cli
from benanza_backbone.clock import now
from benanza_backbone.event_log.readable import events_of
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.service.processor import as_message
from benanza_schemas.events import EvaluationRequested
from benanza_schemas.topics import EVALUATIONS
from tests.benanza.agents.samples import agent, announced, system

CPU, GPU = system(), system(version="1.30.0", gpu="NVIDIA H200")


def said(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


@pytest.fixture
def over_kafka(kafka: KafkaConnection, monkeypatch: pytest.MonkeyPatch) -> KafkaConnection:
    monkeypatch.setenv("BENANZA_KAFKA", ",".join(kafka.bootstrap))
    monkeypatch.setenv("BENANZA_KAFKA_PREFIX", kafka.prefix)
    return kafka


def test_what_is_asked_of_whom_and_what_came_of_it(over_kafka: KafkaConnection) -> None:
    model = "zoo:squeezenet"
    nobody = said("evaluations", "request", model)
    assert (nobody.exit_code, nobody.stderr) == (
        1,
        "error: no agent is at work; start one where the model is to run: benanza serve agent\n",
    )
    with KafkaEventLog(over_kafka) as log:
        log.append([as_message(announced("cpu:1", CPU)), as_message(announced("gpu:2", GPU))])
        assert [line.split()[0] for line in said("agents").stdout.splitlines()[1:]] == [
            "cpu:1",
            "gpu:2",
        ]
        refused = said("evaluations", "request", model, "--device", "V100", "--versions", ">=1.31")
        assert refused.exit_code == 1
        assert refused.stderr.count("\n") == 1
        assert "cpu:1 (Some CPU): device: V100 is wanted, and it has Some CPU | " in refused.stderr
        assert "version: onnxruntime >=1.31 is wanted, and it has 1.30.0" in refused.stderr
        assert not list(events_of(log, EVALUATIONS, EvaluationRequested))

        asked = said("evaluations", "request", model, "--versions", ">=1.31")
        assert asked.exit_code == 0, asked.stderr
        assert asked.stdout.startswith("not on gpu:2 (NVIDIA H200): version: onnxruntime >=1.31")
        (event,) = events_of(log, EVALUATIONS, EvaluationRequested)
        assert (event.systems, event.published.name) == ((CPU.system_id,), "squeezenet")
        late = said("evaluations", "wait", event.event_id[:8], "--timeout", "0.1")
        assert (late.exit_code, late.stderr) == (3, "Some CPU, threads: 2: waits for cpu:1\n")

        result = evaluated_on(
            event, agent("cpu:1", CPU), EvaluationOutcome({"p99_us": 812.0}), now()
        )
        log.append([as_message(result)])
    done = said("evaluations", "wait", event.event_id[:8], "--format", "json")
    assert done.exit_code == 0
    (on,) = json.loads(done.stdout)["systems"]
    assert (on["state"], on["agent"], on["figures"]) == ("done", "cpu:1", {"p99_us": 812.0})
    assert "done" in said("evaluations", "list").stdout


@pytest.mark.parametrize("arguments", [("agents",), ("evaluations", "list")])
def test_without_kafka_there_are_none(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BENANZA_KAFKA", raising=False)
    without = said(*arguments)
    assert without.exit_code == 1
    assert "set BENANZA_KAFKA" in without.stderr
