"""An installation for each kind of event log, named by the environment as an operator does."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from benanza.installation.configured import configured_log
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.topics import create_topics
from benanza_backbone.settings import load
from tests.backbone.conftest import copy_empty_store, engine_open

Kind = Literal["embedded", "kafka"]


@contextmanager
def opened_log() -> Iterator[EventLog]:
    """The log of the installation under test."""
    with configured_log(load(os.environ)) as log:
        yield log


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.integration)])
def installation(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Kind:
    """An installation of its own, for the commands as for `opened_log`."""
    monkeypatch.setenv("BENANZA_DATA", str(tmp_path / "data"))
    copy_empty_store(tmp_path / "data" / "clickhouse")
    if request.param == "embedded":
        monkeypatch.delenv("BENANZA_KAFKA", raising=False)
        return "embedded"
    connection: KafkaConnection = request.getfixturevalue("kafka")
    monkeypatch.setenv("BENANZA_KAFKA", ",".join(connection.bootstrap))
    monkeypatch.setenv("BENANZA_KAFKA_PREFIX", connection.prefix)
    create_topics(connection)
    return "kafka"


@pytest.fixture
def with_engine(installation: Kind, tmp_path: Path) -> Iterator[Kind]:
    """An installation whose store is opened many times."""
    with engine_open(tmp_path / "data" / "clickhouse"):
        yield installation


@pytest.fixture
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation of its own, with the embedded log."""
    monkeypatch.setenv("BENANZA_DATA", str(tmp_path / "data"))
    copy_empty_store(tmp_path / "data" / "clickhouse")
    monkeypatch.delenv("BENANZA_KAFKA", raising=False)
