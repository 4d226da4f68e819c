"""What ingest does with an event in a log, and where it can't."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from benanza.installation.embedded import drain
from benanza.publishing.asked_models import asked_models
from benanza.request import RunRequest
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog, Message
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_ingest.step import ingest_step
from benanza_schemas.events import (
    DeadLetter,
    ModelIngested,
)
from benanza_schemas.topics import DEAD_LETTERS, GRAPHS, LAYERS
from tests.steps import LIMITS, append, clock, written


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with SqliteEventLog(tmp_path / "events.sqlite") as opened:
        yield opened


def test_ingest_refuses_content_that_was_changed_on_the_way(log: EventLog) -> None:
    (asked,) = asked_models("zoo:alexnet", RunRequest(models=()), LIMITS)
    append(log, msgspec.structs.replace(asked.event, sha256="0" * 64))
    with ingest_step(log, LIMITS, clock) as step:
        drain(step)
    (letter,) = written(log, DEAD_LETTERS)
    assert isinstance(letter, DeadLetter)
    assert letter.reason.startswith("the content of alexnet has the SHA-256 ")
    assert written(log, GRAPHS) == []


def test_ingest_fetches_what_is_not_in_the_event(log: EventLog, tmp_path: Path) -> None:
    (asked,) = asked_models("zoo:alexnet", RunRequest(models=()), LIMITS)
    elsewhere = msgspec.structs.replace(asked.event, content=None)
    lost = msgspec.structs.replace(elsewhere, uri=(tmp_path / "lost.onnx").as_uri())
    append(log, lost, elsewhere)
    with ingest_step(log, LIMITS, clock) as step:
        drain(step)
    (graph,) = written(log, GRAPHS)
    assert isinstance(graph, ModelIngested)
    assert graph.model_id == asked.model_id
    (letter,) = written(log, DEAD_LETTERS)
    assert isinstance(letter, DeadLetter)
    assert letter.reason.startswith(f"where ingest runs, there is no file {tmp_path}/lost.onnx; ")
    assert "replay this" in letter.reason
    assert "benanza zoo" not in letter.reason


class CutOff(SqliteEventLog):
    """Appends message by message, graphs before layers as Kafka may, and is away after `left`."""

    left = 0

    def append(self, messages: Sequence[Message]) -> None:
        for message in sorted(messages, key=lambda message: message.topic):
            if not self.left:
                raise BenanzaError("it is away")
            self.left -= 1
            super().append([message])


@pytest.mark.parametrize("left", [0, 1, 2, 20, 21, 22])
def test_no_graph_is_in_the_log_before_its_layers(tmp_path: Path, left: int) -> None:
    """Of a model that can't be had after a crash, another one's layers would never come."""
    (asked,) = asked_models("zoo:alexnet", RunRequest(models=()), LIMITS)
    with CutOff(tmp_path / "events.sqlite") as log:
        log.left = 1
        append(log, asked.event)
        log.left = left
        with ingest_step(log, LIMITS, clock) as step, pytest.raises(BenanzaError, match="away"):
            drain(step)
        before = written(log, LAYERS)
        graphs = written(log, GRAPHS)
        log.left = 1000
        with ingest_step(log, LIMITS, clock) as step:
            drain(step)
        assert not graphs or len(before) == len({event.event_id for event in written(log, LAYERS)})
        assert len(written(log, GRAPHS)) == 1 + len(graphs)
