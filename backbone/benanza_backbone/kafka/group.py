"""How far a consumer group is on Kafka, as the brokers know it."""

import time
from collections.abc import Iterable
from contextlib import suppress
from threading import Lock
from typing import NamedTuple, cast

from kafka import TopicPartition
from kafka.admin import OffsetSpec
from kafka.structs import OffsetAndMetadata

from benanza_backbone.closing import Closing
from benanza_backbone.event_log.event_log import Partition
from benanza_backbone.kafka.clients import AdminClient
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.consumer import as_topic_partition
from benanza_backbone.kafka.errors import COORDINATOR_AWAITED, kafka_errors_mended

RETRY_S = 0.2
ANSWER_MS = 5000
"""How long the brokers may take to answer, in milliseconds."""

COORDINATOR_S = 2.0
"""How long a group's coordinator is waited for. It is less than an answer may take, so that whoever
asks learns what is waited for."""


class PartitionProgress(NamedTuple):
    """`following` is the offset from which the group goes on: the one that it has committed, or
    the first that is kept. `end` is the offset behind the last record.
    """

    following: int
    end: int

    def waiting(self) -> int:
        """How many records are still to be processed, and their processing to be committed."""
        return max(0, self.end - self.following)


class GroupProgress(Closing):
    """Asks the brokers how far a group is, without being a member of it.

    A member that asks through its own connection waits for the fetch that is under way there.
    May be used from several threads.
    """

    def __init__(self, connection: KafkaConnection, group: str) -> None:
        self._connection = connection
        self._group = connection.group(group)
        self._asking = Lock()
        self._client: AdminClient | None = None

    def of(self, partitions: Iterable[Partition]) -> dict[Partition, PartitionProgress]:
        """How far the group is in each of the partitions.

        Raises `BenanzaError` if the brokers don't say so within some seconds, of the type
        `CoordinatorAwaitedError` if they answer and the group has no coordinator yet.
        """
        asked = {
            as_topic_partition(self._connection, partition): partition for partition in partitions
        }
        if not asked:
            return {}
        with self._asking, kafka_errors_mended(self._connection):
            try:
                client = self._client = self._client or AdminClient(
                    self._connection, request_timeout_ms=ANSWER_MS, bootstrap_timeout_ms=ANSWER_MS
                )
                # Before the ends: where nothing waits then, nothing was in work in between.
                committed = self._committed(client, list(asked))
                first = client.list_partition_offsets(dict.fromkeys(asked, OffsetSpec.EARLIEST))
                ends = client.list_partition_offsets(dict.fromkeys(asked, OffsetSpec.LATEST))
            except BaseException:
                self._forget_client()
                raise
        return {
            partition: PartitionProgress(
                # -1 where nothing is committed.
                max(
                    first[topic_partition].offset,
                    committed[topic_partition].offset if topic_partition in committed else 0,
                ),
                ends[topic_partition].offset,
            )
            for topic_partition, partition in asked.items()
        }

    def _committed(
        self, client: AdminClient, asked: list[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """A cluster's first group, or one whose coordinator has just changed, is known to nobody
        for a moment."""
        deadline = time.monotonic() + COORDINATOR_S
        while True:
            try:
                told = client.list_group_offsets({self._group: asked})
                return cast(dict[TopicPartition, OffsetAndMetadata], told[self._group])
            except COORDINATOR_AWAITED:
                if time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_S)

    def close(self) -> None:
        """Closes the connection; the next question opens another."""
        with self._asking:
            self._forget_client()

    def _forget_client(self) -> None:
        client, self._client = self._client, None
        if client:
            # What it says about a connection that is broken is known.
            with suppress(Exception):
                client.close()
