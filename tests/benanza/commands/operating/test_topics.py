"""`benanza topics`."""

import json

import pytest
from click.testing import CliRunner

from benanza.cli import cli
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_schemas.topics import PARTITIONS


def test_it_makes_what_is_missing_and_says_so(
    kafka: KafkaConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENANZA_KAFKA", kafka.shown())
    monkeypatch.setenv("BENANZA_KAFKA_PREFIX", kafka.prefix)
    first = CliRunner().invoke(cli, ["topics"])
    assert first.exit_code == 0, first.output
    assert sorted(first.stdout.splitlines()) == sorted(f"made {topic}" for topic in PARTITIONS)
    again = CliRunner().invoke(cli, ["topics"])
    assert (again.exit_code, again.stdout) == (0, "all topics are there\n")
    as_json = CliRunner().invoke(cli, ["topics", "--format", "json"])
    assert json.loads(as_json.stdout) == {"made": []}


def test_it_needs_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENANZA_KAFKA", raising=False)
    result = CliRunner().invoke(cli, ["topics"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "BENANZA_KAFKA" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_without_a_broker_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benanza_backbone.kafka.connection.TIMEOUT_MS", 500)
    monkeypatch.setenv("BENANZA_KAFKA", "127.0.0.1:1")
    result = CliRunner().invoke(cli, ["topics"])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: no Kafka broker answers at 127.0.0.1:1 (")
    assert len(result.stderr.splitlines()) == 1
