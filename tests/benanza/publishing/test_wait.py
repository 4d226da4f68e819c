"""What a wait for the services outlasts."""

import msgspec
import pytest

from benanza.publishing import wait
from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.errors import CoordinatorAwaitedError
from benanza_schemas.codec import encode
from benanza_schemas.topics import DEAD_LETTERS, MODELS
from tests.backbone.sample_events import DEAD, PUBLISHED
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


def test_a_dead_letter_in_a_partition_that_is_added_later_is_seen() -> None:
    """It waited for the model for ever."""
    topic = GrowingTopic(DEAD_LETTERS)
    topic.grow(DEAD)
    since = topic.end_offsets(DEAD_LETTERS)
    assert wait._reasons(topic.log(), since) == {}
    topic.grow(msgspec.structs.replace(DEAD, topic=MODELS, value=encode(PUBLISHED), reason="why"))
    assert wait._reasons(topic.log(), since) == {PUBLISHED.event_id: "why"}
