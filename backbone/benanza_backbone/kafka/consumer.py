"""A member of a consumer group on Kafka."""

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from math import inf
from typing import Any

from kafka import ConsumerRebalanceListener, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import (
    CommitFailedError,
    IllegalGenerationError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from kafka.structs import OffsetAndMetadata

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Consumer, Partition, Record
from benanza_backbone.kafka.clients import AdminClient, ConsumerClient
from benanza_backbone.kafka.connection import TIMEOUT_MS, KafkaConnection
from benanza_backbone.kafka.errors import COORDINATOR_AWAITED, kafka_errors_mended
from benanza_backbone.kafka.topics import MAX_RECORD_BYTES
from benanza_backbone.kafka.whole_topics import WholeTopics, as_metadata, of_metadata

SESSION_MS = 10_000
HEARTBEAT_MS = 3_000
"""A member that dies is missed after the session's time; one that is busy goes on beating."""

FETCH_BYTES = 2 * MAX_RECORD_BYTES
"""How much is fetched ahead, so that a slow service doesn't fill its memory."""

JOIN_S = 30.0
LONELY_S = 1.0
"""Where a new member is given nothing for so long, it looks whether the group has others."""

TURN_MS = 20
"""How long one of two connections is waited for while the other may have something."""

_TAKEN_AWAY = (
    CommitFailedError,
    IllegalGenerationError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)


class KafkaLogConsumer(Consumer):
    """Reads the partitions that the group's coordinator gives to this member, and, as long as it
    has any, the topics `whole`.

    While no broker answers, `poll` gives nothing; `lag` raises.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        group: str,
        topics: Sequence[str],
        whole: Sequence[str],
        longest_turn_s: float,
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,200}", group):
            raise ValueError(f"{group!r} is no name for a group")
        self._connection = connection
        self._group = group
        self._changes = _Changes()
        self._longest_turn_s = longest_turn_s
        self._whole: WholeTopics | None = None
        self._followed = 0
        self._committed: dict[TopicPartition, OffsetAndMetadata | None] = {}
        self._whole_before: dict[TopicPartition, dict[TopicPartition, int]] = {}
        self._whole_from: dict[TopicPartition, int] = {}
        self._whole_first = False
        self._claimed = 0
        with kafka_errors_mended(connection):
            self._consumer = ConsumerClient(
                connection,
                group_id=connection.group(group),
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                allow_auto_create_topics=False,
                # The other assignors may part a topic's partitions from another's.
                partition_assignment_strategy=[RangePartitionAssignor],
                session_timeout_ms=SESSION_MS,
                heartbeat_interval_ms=HEARTBEAT_MS,
                max_poll_interval_ms=round(longest_turn_s * 1000),
                fetch_max_bytes=FETCH_BYTES,
                max_partition_fetch_bytes=MAX_RECORD_BYTES,
            )
            try:
                names = [connection.topic(topic) for topic in topics]
                self._consumer.subscribe(names, listener=self._changes)
                # Who shares out a topic without knowing of its partitions gives none away.
                for name in names:
                    self._consumer.partitions_for_topic(name)
                if whole:
                    self._whole = WholeTopics(connection, whole, FETCH_BYTES)
                self._join()
                self._follow()
            except BaseException:
                self.close()
                raise

    def poll(self, limit: int, timeout: float) -> list[Record]:
        with kafka_errors_mended(self._connection):
            if self._whole is None:
                polled = self._consumer.poll(timeout_ms=round(timeout * 1000), max_records=limit)
            else:
                polled = self._poll_both(self._whole, limit, time.monotonic() + timeout)
        return to_records(self._connection, polled)

    def _poll_both(
        self, whole: WholeTopics, limit: int, deadline: float
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Polls the group and the topics that are read whole in turns, until one has records."""
        while True:
            left_ms = max(0, round(1000 * (deadline - time.monotonic())))
            # Each comes first every other time, so that neither waits for the other's end.
            self._whole_first = not self._whole_first
            # The client drops an answer to its joining that comes between two polls, and joins
            # anew, for which all others have to join again. So a share is waited for in one poll.
            has_share = bool(self._held()) and not self._changes.awaited
            if self._whole_first and has_share:
                polled = whole.poll(limit, min(left_ms, TURN_MS))
            else:
                polled = self._consumer.poll(
                    timeout_ms=0 if has_share else left_ms, max_records=limit
                )
                self._follow()
            if polled or not left_ms:
                return polled

    def _follow(self) -> None:
        """Goes on with the topics that are read whole where the partitions held say so."""
        if self._whole is None or self._followed == self._changes.count:
            return
        self._followed = self._changes.count
        self._committed = {
            topic_partition: self._consumer.committed(topic_partition, metadata=True)
            for topic_partition in self._held()
        }
        noted = {
            topic_partition: of_metadata(committed.metadata)
            for topic_partition, committed in self._committed.items()
            if committed
        }
        self._claimed = max((claim for _, claim in noted.values()), default=0)
        # What was committed before there was metadata.
        before = {
            topic_partition: self._consumer.committed(topic_partition) or 0
            for topic_partition in self._whole.partitions
        }
        # Where nothing was committed, nothing was handled: such a partition has missed nothing.
        self._whole_before = {
            topic_partition: read or before for topic_partition, (read, _) in noted.items()
        }
        self._whole.go_on(self._whole_before.values())
        self._whole_from = self._whole.position()

    def claim(self, least: int) -> int | None:
        self._claimed = max(least, self._claimed + 1)
        with kafka_errors_mended(self._connection):
            first = self._consumer.beginning_offsets(list(self._committed))
            # All else stays as the former holder left it.
            claimed = {
                topic_partition: OffsetAndMetadata(
                    former.offset if former else first[topic_partition],
                    as_metadata(
                        self._whole_before.get(topic_partition, self._whole_from), self._claimed
                    ),
                    -1,
                )
                for topic_partition, former in self._committed.items()
            }
            return self._claimed if claimed and self._commit(claimed) else None

    def commit(self) -> None:
        with kafka_errors_mended(self._connection):
            # What is refused comes again, here or elsewhere.
            self._commit(None if self._whole is None else self._with_whole(self._whole.position()))

    def _commit(self, offsets: dict[TopicPartition, Any] | None) -> bool:
        """Whether they were committed: not while the group is sharing out its partitions anew."""
        try:
            self._consumer.commit(offsets, timeout_ms=TIMEOUT_MS)
        except _TAKEN_AWAY:
            return False
        return True

    def _with_whole(self, read: dict[TopicPartition, int]) -> dict[TopicPartition, Any]:
        """What is to be committed. That of topics read whole is for people to see: of several
        members, the last one's stays.
        """
        held = self._held()
        if not held:
            return {}
        metadata = as_metadata(read, self._claimed)
        shown = {
            topic_partition: OffsetAndMetadata(offset, "", -1)
            for topic_partition, offset in read.items()
        }
        return {
            topic_partition: OffsetAndMetadata(self._next(topic_partition), metadata, -1)
            for topic_partition in held
        } | shown

    def whole_before(self) -> dict[Partition, dict[Partition, int]]:
        return {
            self._partition(topic_partition): {
                self._partition(of): offset for of, offset in read.items()
            }
            for topic_partition, read in self._whole_before.items()
        }

    def position(self) -> dict[Partition, int]:
        return {
            self._partition(topic_partition): offset
            for topic_partition, offset in self._position().items()
        }

    def _position(self) -> dict[TopicPartition, int]:
        held = {topic_partition: self._next(topic_partition) for topic_partition in self._held()}
        if held and self._whole is not None:
            with kafka_errors_mended(self._connection):
                held |= self._whole.position()
        return held

    def seek(self, partition: Partition, offset: int) -> None:
        topic_partition = as_topic_partition(self._connection, partition)
        if topic_partition not in self._position():
            raise BenanzaError(
                f"this consumer of group {self._group} doesn't hold {partition.topic}, partition "
                f"{partition.number}: stop the other consumers of the group first"
            )
        with kafka_errors_mended(self._connection):
            end = self._consumer.end_offsets([topic_partition])[topic_partition]
            if not 0 <= offset <= end:
                raise BenanzaError(
                    f"{partition.topic} has offsets from 0 to {end:,}, not {offset:,}"
                )
            # Those before are not kept any more; who joins where nothing is would begin here too.
            first = self._consumer.beginning_offsets([topic_partition])[topic_partition]
            self._seek(topic_partition, max(offset, first))

    def _seek(self, topic_partition: TopicPartition, offset: int) -> None:
        if self._whole is not None and topic_partition in self._whole.partitions:
            self._whole.seek(topic_partition, offset)
        else:
            self._consumer.seek(topic_partition, offset)

    def seek_to_time(self, when: datetime) -> None:
        timestamp_ms = int(when.timestamp() * 1000)
        with kafka_errors_mended(self._connection):
            held = list(self._position())
            # The ends first: then the leaders of all partitions are known. A time that is asked of
            # a partition without a known leader is answered as if nothing were behind it.
            ends = self._consumer.end_offsets(held)
            first = self._consumer.offsets_for_times(dict.fromkeys(held, timestamp_ms))
            for topic_partition in held:
                earliest = first.get(topic_partition)
                self._seek(topic_partition, earliest.offset if earliest else ends[topic_partition])

    def lag(self) -> dict[Partition, int]:
        # What is held while the group shares out is given to nobody, for as long as the turn of
        # another member takes. A member that goes on waiting after that doesn't do its work.
        held = {} if self._changes.awaited_s() < self._longest_turn_s else self._position()
        with kafka_errors_mended(self._connection):
            ends = self._consumer.end_offsets(list(held)) if held else {}
        return {
            self._partition(topic_partition): max(0, ends[topic_partition] - offset)
            for topic_partition, offset in held.items()
        }

    def rebalances(self) -> int:
        return self._changes.count

    def close(self) -> None:
        self._consumer.close(autocommit=False, timeout_ms=TIMEOUT_MS)
        if self._whole is not None:
            self._whole.close()

    def _join(self) -> None:
        """Waits for a share, unless others have to give it up first."""
        began = time.monotonic()
        while not self._held():
            # What this fetches is fetched again.
            for topic_partition, fetched in self._consumer.poll(timeout_ms=100).items():
                self._consumer.seek(topic_partition, fetched[0].offset)
            waited = time.monotonic() - began
            if waited > JOIN_S or (waited > LONELY_S and self._has_others()):
                return

    def _has_others(self) -> bool:
        own = self._consumer.group_metadata().member_id
        name = self._connection.group(self._group)
        with AdminClient(self._connection) as admin:
            try:
                members = admin.describe_groups([name])[name]["members"]
            except COORDINATOR_AWAITED:
                # Nobody can have joined: a new cluster's first groups wait for this.
                return False
        return any(member["member_id"] != own for member in members)

    def _held(self) -> list[TopicPartition]:
        return sorted(self._consumer.assignment())

    def _next(self, topic_partition: TopicPartition) -> int:
        with kafka_errors_mended(self._connection):
            position: int | None = self._consumer.position(topic_partition, timeout_ms=TIMEOUT_MS)
        if position is None:
            raise BenanzaError(
                f"Kafka at {self._connection.shown()} doesn't say where {topic_partition.topic} "
                f"begins for {self._group}; see whether all its brokers are up"
            )
        return position

    def _partition(self, topic_partition: TopicPartition) -> Partition:
        return Partition(
            topic_partition.topic.removeprefix(self._connection.prefix), topic_partition.partition
        )


class _Changes(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
    """Counts how often partitions came or went, and says whether the group is sharing them out."""

    def __init__(self) -> None:
        self.count = 0
        self.awaited = True
        self._since = time.monotonic()

    def awaited_s(self) -> float:
        """For how long it has been sharing them out; endless if it isn't."""
        return time.monotonic() - self._since if self.awaited else inf

    def on_partitions_revoked(self, revoked: object) -> None:
        """What is taken away is given to somebody, if only to this member again."""
        self.awaited = True
        self._since = time.monotonic()

    def on_partitions_assigned(self, assigned: object) -> None:
        self.count += 1
        self.awaited = False

    def on_partitions_lost(self, lost: object) -> None:
        self.count += 1
        self.awaited = True
        self._since = time.monotonic()


def as_topic_partition(connection: KafkaConnection, partition: Partition) -> TopicPartition:
    """The partition under its name on the cluster."""
    return TopicPartition(connection.topic(partition.topic), partition.number)


def to_records(
    connection: KafkaConnection, polled: dict[TopicPartition, list[ConsumerRecord]]
) -> list[Record]:
    """What kafka-python's `poll` gives, as records."""
    return [
        Record(
            Partition(
                topic_partition.topic.removeprefix(connection.prefix), topic_partition.partition
            ),
            record.offset,
            datetime.fromtimestamp(record.timestamp / 1000, UTC),
            record.key or b"",
            record.value or b"",
        )
        for topic_partition, fetched in polled.items()
        for record in fetched
    ]
