"""Every event has a topic and a key there."""

import pytest
from msgspec.structs import replace

from benanza_schemas.events import AnyEvent, BoundUpdated, RecordingWithdrawn
from benanza_schemas.topics import EVENTS, TOPICS, topic_and_key
from tests.schemas import samples

ONE, FOUR, FIVE, A, B, D, E, F = (samples.some_id(digit).encode() for digit in "145abdef")

PLACES = {
    "ModelPublished": ("models", samples.SHA256.encode()),
    "ModelIngested": ("graphs", ONE),
    "CheckpointIngested": ("checkpoints", A),
    "ModelForgotten": ("checkpoints", A),
    "LayerSeen": ("layers", D),
    "LayerKnown": ("layers", D),
    "BenchmarkRequested": ("jobs", F),
    "SystemMeasured": ("results", E),
    "LayerMeasured": ("results", B),
    "BoundUpdated": ("bounds", ONE + b"/" + E + b"/8/fp16/full/True"),
    "ModelWitnessed": ("profiles", A),
    "ModelProfiled": ("profiles", A),
    "RecordingWithdrawn": ("profiles", A),
    "AgentAnnounced": ("agents", FOUR),
    "EvaluationRequested": ("evaluations", FIVE),
    "EvaluationTaken": ("evaluated", FIVE),
    "ModelEvaluated": ("evaluated", FIVE),
    "DeadLetter": ("dead-letters", b"\x00\xff"),
    "DeadLetterSettled": ("dead-letters", samples.some_id("8").encode()),
}

(WITHDRAWN,) = (event for event in samples.EVENTS if isinstance(event, RecordingWithdrawn))
ALL_OF_A_FILE = replace(WITHDRAWN, model_id="")


@pytest.mark.parametrize("event", samples.EVENTS, ids=lambda event: type(event).__name__)
def test_an_events_topic_and_key(event: AnyEvent) -> None:
    assert topic_and_key(event) == PLACES[type(event).__name__]


def test_measurements_are_withdrawn_where_they_stand() -> None:
    assert topic_and_key(ALL_OF_A_FILE) == ("results", samples.SHA256.encode())


def test_the_events_of_each_topic_are_those_that_go_there() -> None:
    every = (*samples.EVENTS, ALL_OF_A_FILE)
    found = {(topic_and_key(event)[0], type(event)) for event in every}
    assert found == {(topic, each) for topic, events in EVENTS.items() for each in events}


def test_every_topic_carries_something() -> None:
    assert {topic for topic, _ in PLACES.values()} == set(TOPICS)


def test_bounds_that_compaction_must_keep_apart_have_keys_of_their_own() -> None:
    """Compaction keeps the last event of each key."""
    (bound,) = (event for event in samples.EVENTS if isinstance(event, BoundUpdated))
    changes: list[dict[str, object]] = [
        {"architecture_id": "0" * 32},
        {"system_id": "0" * 32},
        {"batch": 1},
        {"precision": "fp32"},
        {"accounting": "paper"},
        {"fusion": False},
    ]
    fields = {name: getattr(bound, name) for name in BoundUpdated.__struct_fields__}
    keys = {topic_and_key(BoundUpdated(**(fields | change)))[1] for change in changes}
    assert len(keys) == len(changes)
    assert topic_and_key(bound)[1] not in keys
