"""`benanza seed-known-layers`: what has a job in ClickHouse is known to dedupe."""

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from benanza.cli import cli
from benanza.operating.seed_known_layers import known
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.settings import load
from benanza_schemas.codec import decode
from benanza_schemas.events import AnyEvent
from benanza_schemas.topics import LAYERS
from tests.backbone.sample_events import REQUESTED, SEEN
from tests.benanza.commands.conftest import opened_log


def id_of(event: AnyEvent) -> str:
    return event.event_id


def stored(*events: AnyEvent) -> None:
    with Store.open(load(os.environ).clickhouse) as store:
        store.insert(events)


@pytest.fixture
def on_kafka(kafka: KafkaConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation of its own over a broker."""
    monkeypatch.setenv("BENANZA_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BENANZA_KAFKA", ",".join(kafka.bootstrap))
    monkeypatch.setenv("BENANZA_KAFKA_PREFIX", kafka.prefix)


@pytest.mark.usefixtures("on_kafka")
def test_layers_with_jobs_become_known_and_get_no_other() -> None:
    stored(*SEEN, *REQUESTED[:2])
    for _ in range(2):
        result = CliRunner().invoke(cli, ["seed-known-layers", "--format", "json"])
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout) == {"layers": 2}
    with opened_log() as log:
        published = [decode(record.value) for record in log.records(LAYERS)]
        expected = {
            known(job.fingerprint).event_id: known(job.fingerprint) for job in REQUESTED[:2]
        }
        assert {event.event_id: event for event in published} == expected
        assert len(published) == 4


@pytest.mark.usefixtures("on_kafka")
def test_nothing_is_known_of_an_empty_store() -> None:
    stored()
    result = CliRunner().invoke(cli, ["seed-known-layers"])
    assert (result.exit_code, result.stdout) == (0, "told dedupe of 0 layers\n")


@pytest.mark.usefixtures("on_kafka")
def test_a_store_without_tables_is_left_to_the_analyzer() -> None:
    result = CliRunner().invoke(cli, ["seed-known-layers"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "start the analyzer of this version first" in result.stderr


def test_without_kafka_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENANZA_KAFKA", raising=False)
    # As where its client isn't installed.
    monkeypatch.setitem(sys.modules, "benanza_backbone.kafka.log", None)
    result = CliRunner().invoke(cli, ["seed-known-layers"])
    assert result.exit_code == 1
    assert "set BENANZA_KAFKA" in result.stderr
