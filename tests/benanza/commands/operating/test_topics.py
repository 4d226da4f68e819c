"""`benanza topics`."""

import json
import time

import pytest
from click.testing import CliRunner
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from benanza.cli import cli
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.topics import create_topics
from benanza_schemas.topics import JOBS, PARTITIONS


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
    assert json.loads(as_json.stdout) == {"made": [], "altered": []}


def test_a_topic_that_is_there_stores_nothing_compressed_any_more(
    kafka: KafkaConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that an older version made, as it were."""
    monkeypatch.setenv("BENANZA_KAFKA", kafka.shown())
    monkeypatch.setenv("BENANZA_KAFKA_PREFIX", kafka.prefix)
    create_topics(kafka)
    changed = {"compression.type": "producer", "max.message.bytes": "20000000"}
    with KafkaAdminClient(**kafka.kafka_python()) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, kafka.topic(JOBS), changed)])
        while settings_of(admin, kafka).items().isdisjoint(changed.items()):
            time.sleep(0.1)  # the broker takes its time
    result = CliRunner().invoke(cli, ["topics"])
    said = "jobs stores nothing compressed from now on\n"
    assert (result.exit_code, result.stdout) == (0, said)
    with KafkaAdminClient(**kafka.kafka_python()) as admin:
        settings = settings_of(admin, kafka)
    assert settings["compression.type"] == "uncompressed"
    assert settings["max.message.bytes"] == "20000000", "what else was set stays"


def settings_of(admin: KafkaAdminClient, kafka: KafkaConnection) -> dict[str, str]:
    """Those of the topic of jobs that differ from the broker's."""
    asked = ConfigResource(ConfigResourceType.TOPIC, kafka.topic(JOBS))
    (settings,) = admin.describe_configs([asked])["topic"].values()
    return {name: each["value"] for name, each in settings.items()}


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
