"""Topics that every member of a group reads whole, beside the partitions that it shares out.

Kafka commits one offset for a partition of a group. So how far a member had read these topics is
committed with each partition that it holds, as that commit's metadata: whoever takes the partition
over goes on from there. So is the number with which the partition was claimed last.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from kafka import TopicPartition
from kafka.consumer.fetcher import ConsumerRecord

from benanza_backbone.kafka.clients import ConsumerClient
from benanza_backbone.kafka.connection import TIMEOUT_MS, KafkaConnection
from benanza_backbone.kafka.topics import MAX_RECORD_BYTES

Offsets = Mapping[TopicPartition, int]

_CLAIM = ""
"""The topic under whose name the number of a claim is among the offsets."""

_METADATA = msgspec.json.Decoder(dict[str, dict[int, int]])


class WholeTopics:
    """Reads all partitions of some topics, in no group. Its methods raise Kafka's errors."""

    def __init__(
        self, connection: KafkaConnection, topics: Sequence[str], fetch_bytes: int
    ) -> None:
        self._reader = ConsumerClient(
            connection,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            allow_auto_create_topics=False,
            fetch_max_bytes=fetch_bytes,
            max_partition_fetch_bytes=MAX_RECORD_BYTES,
        )
        self.partitions = sorted(
            TopicPartition(name, number)
            for name in map(connection.topic, topics)
            for number in self._reader.partitions_for_topic(name)
        )
        self._reader.assign(self.partitions)

    def go_on(self, committed: Iterable[Offsets]) -> None:
        """Goes on from the least of what was committed with the partitions held, or from the first
        record if that was nothing.
        """
        known = list(committed)
        first = self._reader.beginning_offsets(self.partitions)
        for topic_partition in self.partitions:
            offset = min((offsets.get(topic_partition, 0) for offsets in known), default=0)
            self._reader.seek(topic_partition, max(offset, first[topic_partition]))

    def poll(self, limit: int, timeout_ms: int) -> dict[TopicPartition, list[ConsumerRecord]]:
        """As kafka-python's `poll`."""
        polled: dict[TopicPartition, list[ConsumerRecord]] = self._reader.poll(
            timeout_ms=timeout_ms, max_records=limit
        )
        return polled

    def position(self) -> dict[TopicPartition, int]:
        """The offsets from which `poll` goes on."""
        return {
            topic_partition: self._reader.position(topic_partition, timeout_ms=TIMEOUT_MS)
            for topic_partition in self.partitions
        }

    def seek(self, topic_partition: TopicPartition, offset: int) -> None:
        """Makes `poll` go on from there."""
        self._reader.seek(topic_partition, offset)

    def close(self) -> None:
        """Closes the connection. May be called again."""
        self._reader.close(autocommit=False, timeout_ms=TIMEOUT_MS)


def as_metadata(offsets: Offsets, claim: int) -> str:
    """Offsets and the number of a claim as text, to be committed with a partition."""
    topics: dict[str, dict[int, int]] = {_CLAIM: {0: claim}}
    for topic_partition, offset in sorted(offsets.items()):
        topics.setdefault(topic_partition.topic, {})[topic_partition.partition] = offset
    return msgspec.json.encode(topics).decode()


def of_metadata(metadata: str) -> tuple[dict[TopicPartition, int], int]:
    """The offsets and the number in such a text.

    Of any other text, such as that of an older version, there are no offsets, and the number is 0.
    """
    try:
        topics = _METADATA.decode(metadata)
    except msgspec.DecodeError:
        return {}, 0
    claim = topics.pop(_CLAIM, {}).get(0, 0)
    read = {
        TopicPartition(topic, number): offset
        for topic, offsets in topics.items()
        for number, offset in offsets.items()
    }
    return read, claim
