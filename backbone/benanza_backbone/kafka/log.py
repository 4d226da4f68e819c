"""The event log on Kafka, through kafka-python.

A topic that isn't there is made when it is first named: the project's own as `topics` does,
others with one partition. Offsets along a partition may leave gaps.
"""

import time
from collections.abc import Iterable, Sequence
from threading import Lock

from kafka import TopicPartition
from kafka.errors import KafkaTimeoutError

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Consumer, EventLog, Message, Partition, Record
from benanza_backbone.kafka.clients import ConsumerClient, ProducerClient
from benanza_backbone.kafka.connection import TIMEOUT_MS, KafkaConnection
from benanza_backbone.kafka.consumer import (
    FETCH_BYTES,
    KafkaLogConsumer,
    as_topic_partition,
    to_records,
)
from benanza_backbone.kafka.errors import kafka_errors_mended
from benanza_backbone.kafka.group import GroupProgress
from benanza_backbone.kafka.topics import MAX_RECORD_BYTES, create_missing
from benanza_schemas.topics import PARTITIONS

DELIVERY_MS = 30_000
"""How long an append goes on trying."""

LONGEST_TURN_S = 900.0


class KafkaEventLog(EventLog):
    """The event log on a cluster.

    A member of a group whose polls lie more than `longest_turn_s` seconds apart counts as dead.
    Raises `BenanzaError` if no broker answers or if the user isn't let in.
    """

    def __init__(self, connection: KafkaConnection, longest_turn_s: float = LONGEST_TURN_S) -> None:
        self._connection = connection
        self._longest_turn_s = longest_turn_s
        self._there: set[str] = set()
        self._reading = Lock()
        self._read_to: tuple[Partition, int] | None = None
        with kafka_errors_mended(connection):
            self._producer = ProducerClient(
                connection,
                acks="all",
                enable_idempotence=True,
                max_request_size=MAX_RECORD_BYTES,
                delivery_timeout_ms=DELIVERY_MS,
                max_block_ms=TIMEOUT_MS,
                allow_auto_create_topics=False,
            )
            self._reader = ConsumerClient(
                connection,
                group_id=None,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                allow_auto_create_topics=False,
                fetch_max_bytes=FETCH_BYTES,
                max_partition_fetch_bytes=FETCH_BYTES,
            )

    def append(self, messages: Sequence[Message]) -> None:
        self._make_missing({message.topic for message in messages})
        with kafka_errors_mended(self._connection):
            sent = [
                self._producer.send(
                    self._connection.topic(message.topic),
                    key=message.key,
                    value=message.value,
                    timestamp_ms=time.time_ns() // 1_000_000,
                )
                for message in messages
            ]
            for future in sent:
                future.get(timeout=DELIVERY_MS / 1000)

    def read(self, partition: Partition, offset: int, limit: int) -> list[Record]:
        self._make_missing({partition.topic})
        topic_partition = as_topic_partition(self._connection, partition)
        with self._reading, kafka_errors_mended(self._connection):
            if partition.number not in self._numbers(partition.topic):
                raise BenanzaError(f"{partition.topic} has no partition {partition.number}")
            if self._reader.assignment() != {topic_partition}:
                self._reader.assign([topic_partition])
                self._read_to = None
            end = self._reader.end_offsets([topic_partition])[topic_partition]
            if offset >= end:
                return []
            # Where the last read has stopped, more may have been fetched already.
            if self._read_to != (partition, offset):
                self._reader.seek(topic_partition, offset)
            records: list[Record] = []
            before = None
            # A poll may give nothing and get further all the same, over a gap in the offsets.
            while not records and (reached := self._reached(topic_partition)) < end:
                if reached == before:
                    raise KafkaTimeoutError(
                        f"{topic_partition.topic} gives nothing from offset {reached:,} on"
                    )
                before = reached
                polled = self._reader.poll(timeout_ms=TIMEOUT_MS, max_records=limit)
                records = to_records(self._connection, polled)
            self._read_to = (partition, records[-1].offset + 1) if records else None
            return records

    def end_offsets(self, topic: str) -> dict[Partition, int]:
        self._make_missing({topic})
        with self._reading, kafka_errors_mended(self._connection):
            partitions = {
                as_topic_partition(self._connection, partition): partition
                for partition in (Partition(topic, n) for n in sorted(self._numbers(topic)))
            }
            ends = self._reader.end_offsets(list(partitions))
            return {
                partition: ends[topic_partition]
                for topic_partition, partition in partitions.items()
            }

    def consumer(self, group: str, topics: Sequence[str], whole: Sequence[str] = ()) -> Consumer:
        self._make_missing({*topics, *whole})
        return KafkaLogConsumer(self._connection, group, topics, whole, self._longest_turn_s)

    def waiting(
        self, group: str, topics: Sequence[str], whole: Sequence[str] = ()
    ) -> dict[Partition, int]:
        asked = [partition for topic in (*topics, *whole) for partition in self.end_offsets(topic)]
        with GroupProgress(self._connection, group) as progress:
            return {
                partition: partition_progress.waiting()
                for partition, partition_progress in progress.of(asked).items()
            }

    def close(self) -> None:
        self._producer.close(timeout=TIMEOUT_MS / 1000)
        self._reader.close(autocommit=False, timeout_ms=TIMEOUT_MS)

    def _make_missing(self, topics: Iterable[str]) -> None:
        missing = set(topics) - self._there
        if missing:
            create_missing(self._connection, {t: PARTITIONS.get(t, 1) for t in missing})
            self._there |= missing

    def _reached(self, topic_partition: TopicPartition) -> int:
        """The offset from which the reader goes on."""
        reached: int | None = self._reader.position(topic_partition, timeout_ms=TIMEOUT_MS)
        if reached is None:
            raise KafkaTimeoutError(f"nobody says where {topic_partition.topic} begins")
        return reached

    def _numbers(self, topic: str) -> set[int]:
        numbers: set[int] = self._reader.partitions_for_topic(self._connection.topic(topic))
        return numbers
