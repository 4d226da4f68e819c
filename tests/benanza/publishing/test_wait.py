"""What a wait for the services outlasts."""

from collections.abc import Sequence

import msgspec
import pytest

from benanza.publishing import wait
from benanza.results.publish import PublishedModel, UnpublishedModel
from benanza.running.progress import Silent
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Partition, Record
from benanza_backbone.kafka.errors import CoordinatorAwaitedError
from benanza_schemas.codec import encode
from benanza_schemas.topics import CHECKPOINTS, DEAD_LETTERS, MODELS
from tests.backbone.sample_events import CHECKPOINT, DEAD, PUBLISHED
from tests.growing_log import GrowingTopic


def test_brokers_that_are_choosing_a_coordinator_are_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wait, "EVERY_S", 0.01)
    times = 0

    def ask() -> dict[str, int]:
        nonlocal times
        times += 1
        if times < 3:
            raise CoordinatorAwaitedError("Kafka answers, and is still choosing")
        return {"runner": 1}

    assert wait._settled(ask) == {"runner": 1}


def test_brokers_that_are_away_are_an_error() -> None:
    def ask() -> dict[str, int]:
        raise BenanzaError("no Kafka broker answers")

    with pytest.raises(BenanzaError):
        wait._settled(ask)


class Stored:
    """A store that has all models."""

    def query(self, _: str, parameters: dict[str, list[str]]) -> list[dict[str, int]]:
        return [{"models": len(parameters["ids"])}]


def test_what_ingest_made_of_an_event_is_awaited_and_of_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the name of its batch, and though another event of the file fails."""
    monkeypatch.setattr(wait, "EVERY_S", 0.01)
    letters, checkpoints = GrowingTopic(DEAD_LETTERS), GrowingTopic(CHECKPOINTS)

    def published(identity: str, batches: tuple[int, ...], dims: dict[str, int]) -> PublishedModel:
        return PublishedModel(
            model="net.onnx",
            name="net",
            zoo="",
            sha256="0" * 64,
            uri="",
            inline=True,
            batch_sizes=batches,
            dims=dims,
            event_id=identity,
            warning="",
        )

    models = [
        published("a" * 32, (), {"batch": 4}),
        published("b" * 32, (1, 8), {}),
        published(PUBLISHED.event_id, (), {}),
    ]

    class Logs:
        def end_offsets(self, topic: str) -> dict[Partition, int]:
            return of[topic].end_offsets(topic)

        def waiting(self, *_: object) -> dict[str, int]:
            return {}

        def read(self, partition: Partition, offset: int, limit: int) -> Sequence[Record]:
            return of[partition.topic].read(partition, offset, limit)

    of = {DEAD_LETTERS: letters, CHECKPOINTS: checkpoints}
    awaiting = wait.Awaiting(None, Logs(), Stored())  # type: ignore[arg-type]
    for identity, model_id in (("a", "1"), ("b", "2"), ("b", "3"), ("c", "4")):
        checkpoints.grow(
            msgspec.structs.replace(
                CHECKPOINT, published_id=identity * 32, model_id=model_id * 32, batch=4
            )
        )
    letters.grow(msgspec.structs.replace(DEAD, topic=MODELS, value=encode(PUBLISHED), reason="why"))
    measured: list[PublishedModel] = []
    monkeypatch.setattr(awaiting, "_measure", lambda model, _: measured.append(model))
    monkeypatch.setattr(wait, "_settled", lambda _: {})
    (failed,) = awaiting.bounds(models, Silent())
    assert failed == UnpublishedModel(model="net.onnx", reason="why")
    assert measured == models[:2]


def test_a_dead_letter_in_a_partition_that_is_added_later_is_seen() -> None:
    """It waited for the model for ever."""
    topic = GrowingTopic(DEAD_LETTERS)
    topic.grow(DEAD)
    since = topic.end_offsets(DEAD_LETTERS)
    assert wait._reasons(topic.log(), since) == {}
    topic.grow(msgspec.structs.replace(DEAD, topic=MODELS, value=encode(PUBLISHED), reason="why"))
    assert wait._reasons(topic.log(), since) == {PUBLISHED.event_id: "why"}
