"""A topic that gets another partition while a service reads it, as an operator may have it."""

from collections.abc import Sequence
from typing import cast

from benanza_backbone.event_log.event_log import EventLog, Partition, Record
from benanza_backbone.service.processor import as_message
from benanza_schemas.events import AnyEvent
from tests.backbone.sample_events import NOON


class GrowingTopic:
    """What of an `EventLog` reads one topic: `grow` adds a partition with these events."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._partitions: dict[Partition, list[Record]] = {}

    def grow(self, *events: AnyEvent) -> None:
        """Adds the partition."""
        partition = Partition(self._topic, len(self._partitions))
        messages = [as_message(event) for event in events]
        self._partitions[partition] = [
            Record(partition, offset, NOON, message.key, message.value)
            for offset, message in enumerate(messages)
        ]

    def end_offsets(self, topic: str) -> dict[Partition, int]:
        """Those of the partitions that there are now."""
        assert topic == self._topic
        return {partition: len(records) for partition, records in self._partitions.items()}

    def read(self, partition: Partition, offset: int, limit: int) -> Sequence[Record]:
        """The records from an offset on."""
        return self._partitions[partition][offset : offset + limit]

    def log(self) -> EventLog:
        """As those take it who only read the topic."""
        return cast(EventLog, self)
