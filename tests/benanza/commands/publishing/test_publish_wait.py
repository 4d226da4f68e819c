"""`benanza publish --wait`, with the services as processes of their own."""

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner

from benanza.cli import cli
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.topics import create_topics
from tests.backbone.conftest import copy_empty_store
from tests.benanza.conftest import PROGRAM, without_progress
from tests.benanza.processes import PATIENCE_S, Installation, until

pytestmark = pytest.mark.integration


@pytest.fixture
def installation(kafka: KafkaConnection, tmp_path: Path) -> Installation:
    create_topics(kafka)
    return Installation(kafka, tmp_path)


def said(installation: Installation, *command: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [PROGRAM, *command, "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
        env=installation.environment(),
        timeout=PATIENCE_S,
    )


def test_when_it_returns_the_bounds_are_whole(installation: Installation, tmp_path: Path) -> None:
    """And a model that ingest could not fetch is among the errors."""
    away = {"name": "away", "uri": "http://127.0.0.1:9/away.onnx", "sha256": "0" * 64}
    listing = tmp_path / "listing.json"
    listing.write_text(json.dumps([away]))
    copy_empty_store(installation.folder / "clickhouse")
    with ExitStack() as processes:
        processes.enter_context(installation.start_clickhouse())
        for start in (
            installation.start("analyzer"),
            installation.start("dedupe"),
            installation.start("ingest"),
            installation.start_runner(),
        ):
            service = processes.enter_context(start)
            until(service.ready)
        done = said(installation, "publish", "zoo:zfnet512", listing, "--wait", "--batch", "1,8")
        assert done.returncode == 1
        document = json.loads(done.stdout)
        assert [model["name"] for model in document["models"]] == ["zfnet512", "away"]
        (error,) = document["errors"]
        assert error["reason"]
        assert without_progress(done.stderr) == f"error: {error['reason']}\n"
        status = json.loads(said(installation, "status", "zfnet512").stdout)
        assert status["ingested"] == 2
        (runner,) = status["runners"]
        assert (runner["members"], runner["waiting"]) == (1, 0)
        found = json.loads(said(installation, "bounds").stdout)
        assert [bound["batch"] for bound in found["bounds"]] == [1, 8]
        assert found["without_bound"] == []
        reasons = {
            layer["reason"] for bound in found["bounds"] for layer in bound["coverage"]["missing"]
        }
        assert reasons <= {"chance is against this layer"}
        again = said(installation, "publish", "zoo:zfnet512", "--wait")
        assert (again.returncode, without_progress(again.stderr)) == (0, "")


def test_nobody_would_do_the_work_without_services(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        cli,
        ["publish", "zoo:squeezenet", "--wait"],
        env={
            "BENANZA_DATA": str(tmp_path),
            "BENANZA_KAFKA": "",
        },
    )
    assert done.exit_code == 2
    assert "--wait is for services over Kafka" in done.stderr
