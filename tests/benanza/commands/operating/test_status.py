"""`benanza status`: what is ingested, measured and waiting, over both logs."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from filelock import FileLock

from benanza.cli import cli
from benanza.installation.embedded import LOCK_FILE
from benanza.operating.progress_in_log import progress_in_log
from benanza.operating.progress_in_store import progress_in_store
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clock import now
from benanza_backbone.event_log.event_log import Message
from benanza_backbone.event_log.readable import events_of
from benanza_backbone.settings import load
from benanza_runner.step import runner_step
from benanza_schemas.events import LayerMeasured
from benanza_schemas.topics import JOBS, MODELS, RESULTS
from tests.benanza.commands.conftest import Kind, opened_log
from tests.benanza.commands.turns import analyze, ingest, measure, store
from tests.benanza.hashed_runtime import HashedRuntime

pytestmark = pytest.mark.integration

MODEL, OTHER = "zoo:squeezenet", "zoo:shufflenet"
MEASURED = 40
SYSTEM = HashedRuntime().system().system_id


def said(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(cli, ["status", *arguments, "--format", "json"])
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def publish(*models: str) -> None:
    assert CliRunner().invoke(cli, ["publish", *models]).exit_code == 0


def waiting(found: dict[str, Any]) -> dict[str, int]:
    return {each["group"]: each["waiting"] for each in found["services"]}


@pytest.fixture
def half_measured(with_engine: Kind) -> Kind:
    """Two models, of which some layers are measured."""
    publish(MODEL, OTHER)
    ingest()
    measure(MEASURED)
    analyze()
    store()
    return with_engine


def test_models_wait_until_they_are_ingested(with_engine: Kind) -> None:
    store()  # Over Kafka, the sink makes the tables.
    publish(MODEL, OTHER)
    found = said()
    assert (found["ingested"], found["layers"], found["runners"]) == (0, 0, [])
    assert waiting(found)["ingest"] == 2
    ingest()
    found = said()
    assert waiting(found)["ingest"] == 0
    assert waiting(found)["store"] > 0
    if with_engine == "embedded":
        assert found["ingested"] == 2
        assert found["layers"] > 0


def test_it_counts_what_is_done_failed_and_waiting(half_measured: Kind) -> None:
    found = said()
    with opened_log() as log:
        layers = {record.key for record in log.records(JOBS)}
        # Which layers come first, the partitions decide.
        failed = sum(event.failure != "" for event in events_of(log, RESULTS, LayerMeasured))
    assert (found["ingested"], found["layers"]) == (2, len(layers))
    (runner,) = found["runners"]
    assert runner["done"] + runner["failed"] == MEASURED
    assert runner["failed"] == failed
    assert runner["waiting"] == len(layers) - MEASURED
    assert (runner["system_id"], runner["precision"]) == (SYSTEM, "fp32")
    assert runner["system"]
    assert runner["last_layer"]
    assert found["dead_letters"] == []
    idle = ("ingest", "dedupe", "analyzer", "store")
    assert {group: waiting(found)[group] for group in idle} == dict.fromkeys(idle, 0)


def test_a_model_has_the_part_of_it_that_is_its_own(half_measured: Kind, tmp_path: Path) -> None:
    both = said()
    trace = tmp_path / "trace.json"
    done = CliRunner().invoke(cli, ["status", MODEL, "--trace", str(trace)])
    assert "services: squeezenet" in done.stderr
    names = {event["name"] for event in json.loads(trace.read_text())["traceEvents"]}
    assert {"ingest", "dedupe", "runner, fp32", "analyzer, fp32, full"} <= names
    parts = [said(model) for model in (MODEL, OTHER)]
    assert [part["ingested"] for part in parts] == [1, 1]
    assert said("squeezenet")["runners"] == parts[0]["runners"]
    for part in parts:
        assert 0 < part["layers"] < both["layers"]
        done = sum(each["done"] + each["failed"] for each in part["runners"])
        left = sum(each["waiting"] for each in part["runners"])
        assert done + left == part["layers"]
    assert sum(part["layers"] for part in parts) >= both["layers"]


def test_the_log_and_the_store_say_the_same(half_measured: Kind) -> None:
    settings = load(os.environ)
    with opened_log() as log, Store.open(settings.clickhouse) as store:
        for model in ("", "squeezenet", "shufflenet", "unknown"):
            assert progress_in_log(log, model) == progress_in_store(store, model)


def test_a_model_that_is_not_ingested_is_told_from_a_misspelt_one(half_measured: Kind) -> None:
    assert said("zoo:alexnet")["ingested"] == 0
    done = CliRunner().invoke(cli, ["status", "zoo:alexnet"])
    assert "zoo:alexnet is not ingested" in done.stdout
    done = CliRunner().invoke(cli, ["status", "nonsense"])
    assert done.exit_code == 1
    assert done.stderr.startswith("error: no model nonsense is known, and ")


@pytest.mark.usefixtures("with_engine")
def test_open_dead_letters_are_counted() -> None:
    with opened_log() as log:
        log.append([Message(MODELS, b"key", b"no event")] * 2)
    ingest()
    store()
    assert said()["dead_letters"] == [{"service": "ingest", "topic": "models", "letters": 2}]
    done = CliRunner().invoke(cli, ["status"])
    assert "2 dead letters of ingest from models are open" in done.stdout
    assert CliRunner().invoke(cli, ["dead-letters", "drop", "--all"]).exit_code == 0
    store()
    assert said()["dead_letters"] == []


def test_who_is_at_work(half_measured: Kind, tmp_path: Path) -> None:
    if half_measured == "embedded":
        assert said()["at_work"] is False
        with FileLock(tmp_path / "data" / LOCK_FILE):
            assert said()["at_work"] is True
        return
    (runner,) = said()["runners"]
    assert runner["members"] == 0
    with opened_log() as log, runner_step(log, HashedRuntime(), "fp16", now):
        found = said()
    members = {each["precision"]: each["members"] for each in found["runners"]}
    assert members == {"fp16": 1, "fp32": 0}
    at_work = Counter({each["group"]: each["members"] for each in found["services"]})
    assert +at_work == {f"runner.{SYSTEM}.fp16": 1}
    assert waiting(found)[f"runner.{SYSTEM}.fp16"] == found["layers"]


def test_it_prints_what_it_found(half_measured: Kind) -> None:
    done = CliRunner().invoke(cli, ["status"])
    assert done.exit_code == 0, done.output
    assert "2 models ingested, with " in done.stdout
    assert ("another benanza" in done.stdout) is False
    assert ("processes" in done.stdout) == (half_measured == "kafka")


def test_looking_makes_no_folder(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["status", "--data", str(tmp_path / "misspelt")])
    assert done.exit_code == 1
    assert "nothing is known yet" in done.stderr
    assert not (tmp_path / "misspelt").exists()
