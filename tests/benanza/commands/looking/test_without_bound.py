"""`benanza bounds` of models that have none yet, over both logs."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from benanza.cli import cli
from benanza_schemas.topics import JOBS
from tests.benanza.commands.conftest import Kind, opened_log
from tests.benanza.commands.turns import analyze, ingest, measure, store

pytestmark = pytest.mark.integration

MODEL = "zoo:squeezenet"


def command(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def bounds(*arguments: str) -> dict[str, Any]:
    done = command("bounds", *arguments, "--format", "json")
    assert done.exit_code in (0, 3), done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def layers() -> int:
    with opened_log() as log:
        return len({record.key for record in log.records(JOBS)})


def test_a_model_is_published_then_ingested_then_measured(with_engine: Kind) -> None:
    store()
    assert command("publish", MODEL).exit_code == 0
    if with_engine == "kafka":
        # Embedded, whoever asks for bounds ingests what was published.
        assert bounds()["waiting_for_ingest"] == 1
        assert "1 published model waits for ingest" in command("bounds").stdout
        unknown = command("bounds", MODEL)
        assert unknown.exit_code == 1
        assert unknown.stderr.endswith("1 published model still waits for ingest\n")
        ingest()
        store()
    (model,) = bounds()["without_bound"]
    assert (model["model"], model["batch"], model["layers"]) == ("squeezenet", 1, layers())
    assert model["measured"] == []
    said = command("bounds", MODEL)
    assert said.stdout.startswith(
        f"squeezenet, batch 1: ingested, no bound yet; none of {layers()} unique layers and groups "
        "is measured\n"
    )
    measure(10)
    store()
    if with_engine == "kafka":
        # Embedded, there is a partial bound now.
        (model,) = bounds()["without_bound"]
        assert [each["layers"] for each in model["measured"]] == [10]
        assert "no bound yet; 10 of " in command("bounds").stdout
        analyze()
        store()
    found = bounds()
    assert [each["partial"] for each in found["bounds"]] == [True]
    assert found["without_bound"] == []
    assert found["waiting_for_ingest"] == 0


def test_one_without_a_bound_stands_below_those_that_have_one(with_engine: Kind) -> None:
    command("publish", MODEL)
    ingest()
    measure(layers())
    analyze()
    store()
    command("publish", "zoo:shufflenet")
    ingest()
    store()
    if with_engine == "kafka":
        found = bounds()
        assert [each["model"] for each in found["bounds"]] == ["squeezenet"]
        assert [each["model"] for each in found["without_bound"]] == ["shufflenet"]
        assert bounds(MODEL)["without_bound"] == []
    assert {each["model"] for each in bounds("--precision", "fp16")["without_bound"]} == {
        "shufflenet",
        "squeezenet",
    }
    before = command("bounds", "--at", "2026-01-01", "--format", "json")
    assert before.exit_code == 1
    assert json.loads(before.stdout)["without_bound"] == []
