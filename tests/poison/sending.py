"""Publishes records as a hostile producer does: of any size, with any codec."""

from types import SimpleNamespace
from typing import NamedTuple

import pyarrow
from kafka import KafkaProducer, codec
from kafka.errors import KafkaError

from benanza_backbone.closing import Closing
from benanza_backbone.kafka.connection import KafkaConnection
from tests.poison.records import CODECS, Poison

# kafka-python compresses with these where they are installed; here pyarrow does.
codec.snappy = SimpleNamespace(compress=lambda data: _packed(data, "snappy"))
codec.zstd = SimpleNamespace(
    ZstdCompressor=lambda: SimpleNamespace(compress=lambda data: _packed(data, "zstd"))
)

PATIENCE_S = 60.0


class Place(NamedTuple):
    """Where a record stands."""

    topic: str
    partition: int
    offset: int


class Sender(Closing):
    """A producer for each codec, which tries once."""

    def __init__(self, kafka: KafkaConnection) -> None:
        self._kafka = kafka
        settings = kafka.kafka_python() | {
            "max_request_size": 2**30,
            "retries": 0,
            "enable_idempotence": False,
        }
        self._producers = {
            name: KafkaProducer(**settings, compression_type=name or None) for name in ("", *CODECS)
        }

    def send(self, poison: Poison) -> Place | str:
        """Where it stands, or why the broker has refused it."""
        try:
            sent = self._producers[poison.codec].send(
                self._kafka.topic(poison.topic),
                key=poison.key,
                value=poison.value,
                headers=list(poison.headers),
            )
            at = sent.get(timeout=PATIENCE_S)
        except KafkaError as error:
            return type(error).__name__
        return Place(poison.topic, at.partition, at.offset)

    def close(self) -> None:
        for producer in self._producers.values():
            producer.close()


def _packed(data: bytes | memoryview, name: str) -> bytes:
    packed: bytes = pyarrow.compress(data, codec=name, asbytes=True)
    return packed
