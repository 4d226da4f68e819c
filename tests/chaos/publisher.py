"""Publishes models over the time of a campaign, some of them twice, and what is no model."""

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from benanza.publishing.asked_models import asked_models
from benanza.request import RunRequest
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Message
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.service.processor import as_message
from benanza_ingest.limits import Limits
from benanza_schemas.events import ModelPublished, event_id
from benanza_schemas.topics import JOBS, LAYERS, MODELS, RESULTS

TWICE = 0.2
"""This part of the models is published again later."""

RETRY_S = 0.5

POISON = (
    Message(MODELS, b"poison", b"this is no event"),
    Message(LAYERS, b"poison", b"\x81\xa4type\xa4None"),
    Message(JOBS, b"poison", b"this is no job"),
    Message(RESULTS, b"poison", b"this is no result"),
    as_message(
        ModelPublished(
            event_id=event_id("ModelPublished", "poison"),
            name="no model",
            sha256="0" * 64,
            content=b"this is no model",
        )
    ),
)
"""What no service can process: each is to end in the dead letters, and nothing else is."""


class Planned(NamedTuple):
    """When a message is published, in seconds after the beginning."""

    at_s: float
    message: Message


def plan(files: Sequence[Path], within_s: float, seed: int) -> list[Planned]:
    """When each model is published within that time; the same for the same seed."""
    rng = random.Random(seed)
    planned = []
    for number, file in enumerate(files):
        (asked,) = asked_models(str(file), RunRequest(models=()), Limits())
        message = as_message(asked.event)
        at_s = within_s * number / len(files)
        planned.append(Planned(at_s, message))
        if rng.random() < TWICE:
            planned.append(Planned(rng.uniform(at_s, within_s), message))
    planned += [Planned(rng.uniform(0, within_s), message) for message in POISON]
    return sorted(planned)


class Publisher(Thread):
    """Publishes what is planned. Where the broker is away, it tries until it is back."""

    def __init__(
        self, kafka: KafkaConnection, planned: Sequence[Planned], now_s: Callable[[], float]
    ) -> None:
        super().__init__(name="publisher", daemon=True)
        self._kafka = kafka
        self._planned = planned
        self._now_s = now_s

    def run(self) -> None:
        for at_s, message in self._planned:
            time.sleep(max(0.0, at_s - self._now_s()))
            self._append(message)

    def _append(self, message: Message) -> None:
        while True:
            try:
                with KafkaEventLog(self._kafka) as log:
                    log.append([message])
                return
            except BenanzaError:
                # It may be in the log nevertheless: then it comes twice.
                time.sleep(RETRY_S)
