"""`benanza prune`: the log becomes smaller, and every answer stays as it was."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from benanza.cli import cli
from tests.benanza.conftest import Benanza


def _answers(benanza: Benanza, data: Path) -> dict[str, object]:
    asked = {"bounds": ("bounds",), "explain": ("explain", "squeezenet")}
    answers = {}
    for name, words in asked.items():
        said = benanza(*words, "--data", data, "--format", "json")
        assert said.returncode == 0, said.stderr
        answers[name] = json.loads(said.stdout)
    return answers


def _versions(benanza: Benanza, data: Path) -> int:
    said = benanza("history", "squeezenet", "--data", data, "--format", "json")
    assert said.returncode == 0, said.stderr
    return said.stdout.count("computed_at")


def test_answers_stay_and_nothing_is_measured_again(benanza: Benanza, data: Path) -> None:
    answers, versions = _answers(benanza, data), _versions(benanza, data)
    said = benanza("prune", "--data", data, "--format", "json")
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert found["events"] > 100
    assert found["bytes_after"] < 0.7 * found["bytes_before"]
    assert _answers(benanza, data) == answers
    assert _versions(benanza, data) == versions > 1
    again = benanza("run", "zoo:squeezenet", "--data", data, "--format", "json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["layers"]["benchmarked"] == 0
    assert _answers(benanza, data) == answers


def test_a_store_that_is_made_anew_has_the_last_bounds(benanza: Benanza, data: Path) -> None:
    answers, versions = _answers(benanza, data), _versions(benanza, data)
    assert "pruned " in benanza("prune", "--data", data).stdout
    shutil.rmtree(data / "clickhouse")
    assert _answers(benanza, data) == answers
    assert _versions(benanza, data) < versions


def test_kafka_needs_no_pruning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENANZA_KAFKA", "127.0.0.1:9")
    said = CliRunner().invoke(cli, ["prune", "--data", str(tmp_path / "data")])
    assert said.exit_code == 1
    assert "unset BENANZA_KAFKA" in said.stderr
    assert not (tmp_path / "data").exists()
