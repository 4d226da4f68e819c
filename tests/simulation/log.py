"""The event log in memory, in place of Kafka: partitions, groups and their committed offsets.

What a process does to it may be cut off at any point (`Effects`): messages of different partitions
become durable in any order, so that of an `append` any may be there and others not.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from random import Random
from typing import NamedTuple, Protocol
from zlib import crc32

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Consumer, EventLog, Message, Partition, Record
from benanza_schemas.topics import BOUNDS, COMPACTED, PARTITIONS

MOST_PARTITIONS = 3
"""Of a topic. So that little work meets on few of them, and each is handed on often."""

COMPACTED_EARLY = COMPACTED - {BOUNDS}
"""Kafka leaves the last segment alone, so the sink has read a bound's versions before only the last
record is left. That may be an older version, from an analyzer that was taken for dead.
"""

Offsets = Mapping[Partition, int]


class Effects(Protocol):
    """What a process does to the world outside of it passes through here."""

    def effect(self, what: str, parts: Sequence[Callable[[], None]]) -> None:
        """Does these parts in order; all, or some and then raises, as the schedule wants it."""

    def busy(self) -> bool:
        """Whether the process is in the midst of its work, waiting for others to do some."""


class _Commit(NamedTuple):
    """An offset of a partition, with how far the topics that each member reads whole were read, and
    the number with which the partition was claimed last.
    """

    offset: int
    whole: Offsets
    claim: int = 0


class _Group:
    """A consumer group: its members in the order in which they joined."""

    def __init__(self) -> None:
        self.generation = 0
        self.members: list[SimulatedConsumer] = []
        self.committed: dict[Partition, _Commit] = {}


class Cluster:
    """All topics and groups.

    `rng` decides what the services can't know: in which order the partitions of an append are
    written, and from which ones a poll gets how much. Readers get nothing of the partitions
    `hidden`. `history` has all that was ever appended, compacted or not.
    """

    def __init__(self, rng: Random, now: Callable[[], datetime]) -> None:
        self.rng = rng
        self.hidden: set[Partition] = set()
        self.history: list[Record] = []
        self._now = now
        self._records: dict[Partition, list[Record]] = {}
        self._ends: dict[Partition, int] = {}
        self._groups: dict[str, _Group] = {}

    def partitions(self, topic: str) -> list[Partition]:
        """Those of a topic."""
        return [Partition(topic, n) for n in range(min(PARTITIONS[topic], MOST_PARTITIONS))]

    def partition_of(self, topic: str, key: bytes) -> Partition:
        """That of a key."""
        return Partition(topic, crc32(key) % min(PARTITIONS[topic], MOST_PARTITIONS))

    def append(self, message: Message) -> None:
        """Makes one message durable."""
        at = self.partition_of(message.topic, message.key)
        offset = self.end(at)
        record = Record(at, offset, self._now(), message.key, message.value)
        self._records.setdefault(at, []).append(record)
        self.history.append(record)
        self._ends[at] = offset + 1

    def end(self, partition: Partition) -> int:
        """The offset behind its last record."""
        return self._ends.get(partition, 0)

    def read(self, partition: Partition, offset: int, limit: int) -> list[Record]:
        """Up to so many records from this offset on."""
        records = self._records.get(partition, [])
        # Without compaction the offset is the place.
        first = offset
        if first >= len(records) or records[first].offset != offset:
            first = bisect_left(records, offset, key=lambda record: record.offset)
        return records[first : first + limit]

    def has(self, partition: Partition, offset: int) -> bool:
        """Whether there is a record from this offset on."""
        records = self._records.get(partition)
        return bool(records and records[-1].offset >= offset)

    def records(self, topic: str) -> list[Record]:
        """All that a topic has."""
        return [r for each in self.partitions(topic) for r in self._records.get(each, ())]

    def compact(self) -> None:
        """Of compacted topics leaves the last record of each key, however new it is."""
        for partition, records in self._records.items():
            if partition.topic in COMPACTED_EARLY:
                last = {record.key: record for record in records}
                records[:] = sorted(last.values(), key=lambda record: record.offset)

    def group(self, name: str) -> _Group:
        """A group, which is made when it is first named."""
        return self._groups.setdefault(name, _Group())

    def committed(self, group: str, partition: Partition) -> int:
        """From where a group goes on."""
        found = self.group(group).committed.get(partition)
        return found.offset if found else 0

    def waiting(self) -> int:
        """How many records some group has not committed yet."""
        return sum(
            sum(1 for _ in self.read(at, self.committed(name, at), self.end(at)))
            for name, group in self._groups.items()
            for member in group.members[:1]
            for topic in (*member.topics, *member.whole)
            for at in self.partitions(topic)
        )


class SimulatedLog(EventLog):
    """The log as one process has it."""

    def __init__(self, cluster: Cluster, effects: Effects) -> None:
        self._cluster = cluster
        self._effects = effects
        self.consumers: list[SimulatedConsumer] = []

    def append(self, messages: Sequence[Message]) -> None:
        where = [self._cluster.partition_of(each.topic, each.key) for each in messages]
        ranks = {at: self._cluster.rng.random() for at in dict.fromkeys(where)}
        placed = sorted(zip(where, messages, strict=True), key=lambda each: ranks[each[0]])
        parts = [partial(self._cluster.append, message) for _, message in placed]
        shown = " ".join(f"{at.topic}/{at.number}" for at, _ in placed)
        self._effects.effect(f"appends {shown}", parts)

    def read(self, partition: Partition, offset: int, limit: int) -> list[Record]:
        return self._cluster.read(partition, offset, limit)

    def end_offsets(self, topic: str) -> dict[Partition, int]:
        return {each: self._cluster.end(each) for each in self._cluster.partitions(topic)}

    def consumer(
        self, group: str, topics: Sequence[str], whole: Sequence[str] = ()
    ) -> "SimulatedConsumer":
        made = SimulatedConsumer(self._cluster, group, topics, whole, self._effects)
        self.consumers.append(made)
        return made

    def waiting(
        self, group: str, topics: Sequence[str], whole: Sequence[str] = ()
    ) -> dict[Partition, int]:
        return {
            at: end - self._cluster.committed(group, at)
            for topic in (*topics, *whole)
            for at, end in self.end_offsets(topic).items()
        }

    def close(self) -> None:
        """Nothing is open."""


class SimulatedConsumer(Consumer):
    """A member of a group, as `kafka/consumer.py` has it: partitions come and go in `poll` only."""

    def __init__(
        self,
        cluster: Cluster,
        group: str,
        topics: Sequence[str],
        whole: Sequence[str],
        effects: Effects,
    ) -> None:
        self.topics = topics
        self.whole = whole
        self.effects = effects
        self._cluster = cluster
        self._name = group
        self._group = cluster.group(group)
        self._generation = 0
        self._rebalances = 0
        self._positions: dict[Partition, int] = {}
        self._whole_at: dict[Partition, int] = {}
        self._whole_before: dict[Partition, dict[Partition, int]] = {}
        self._joined_at: dict[Partition, _Commit] = {}
        self._claimed = 0
        self._group.members.append(self)
        self._group.generation += 1

    def poll(self, limit: int, timeout: float) -> list[Record]:
        if not self.joined() and not self._join():
            return []
        if not self._positions:
            return []
        rng, left, polled = self._cluster.rng, limit, []
        places = [*self._positions, *self._whole_at]
        rng.shuffle(places)
        for at in places:
            if at not in self._cluster.hidden and left:
                found = self._cluster.read(at, self._at(at), rng.randint(1, left))
                polled += found
                left -= len(found)
                if found:
                    self._move(at, found[-1].offset + 1)
        return polled

    def commit(self) -> None:
        self.commit_at(self._positions)

    def commit_at(self, offsets: Offsets) -> None:
        """Commits these offsets, unless others may hold the partitions by now."""
        whole = dict(self._whole_at)
        made = {at: _Commit(offset, whole, self._claimed) for at, offset in offsets.items()}
        made |= {at: _Commit(n, {}) for at, n in whole.items()}
        self._commit("commits", made)

    def claim(self, least: int) -> int | None:
        self._claimed = claim = max(least, self._claimed + 1)
        made = {at: each._replace(claim=claim) for at, each in self._joined_at.items()}
        return claim if made and self._commit("claims", made) else None

    def _commit(self, verb: str, made: Mapping[Partition, _Commit]) -> bool:
        """Whether it was committed."""
        done = False

        def commit() -> None:
            nonlocal done
            if self._generation == self._group.generation:
                self._group.committed |= made
                done = True

        self.effects.effect(f"{verb} {self._name}", [commit])
        return done

    def position(self) -> dict[Partition, int]:
        return self._positions | self._whole_at

    def whole_before(self) -> dict[Partition, dict[Partition, int]]:
        return self._whole_before

    def seek(self, partition: Partition, offset: int) -> None:
        if not 0 <= offset <= self._cluster.end(partition) or partition not in self.position():
            raise BenanzaError(f"{self._name} can't seek {partition} to {offset}")
        self._move(partition, offset)

    def seek_to_time(self, when: datetime) -> None:
        raise NotImplementedError  # No service does so.

    def lag(self) -> dict[Partition, int]:
        return {
            at: len(self._cluster.read(at, offset, self._cluster.end(at)))
            for at, offset in self.position().items()
        }

    def is_behind(self) -> bool:
        """Whether any lag isn't 0; quicker than `lag`, since all are asked before each turn."""
        return any(self._cluster.has(*place) for place in self._positions.items()) or any(
            self._cluster.has(*place) for place in self._whole_at.items()
        )

    def rebalances(self) -> int:
        return self._rebalances

    def close(self) -> None:
        if self in self._group.members:
            self._group.members.remove(self)
            self._group.generation += 1

    def joined(self) -> bool:
        """Whether it holds what it has to hold now."""
        return self._generation == self._group.generation

    def _join(self) -> bool:
        """Takes its share, unless a member has yet to finish what it is at with its former one."""
        members = self._group.members
        if self not in members:  # It was silent for too long.
            members.append(self)
            self._group.generation += 1
        if any(m.effects.busy() and not m.joined() and m is not self for m in members):
            return False
        self._generation = self._group.generation
        self._rebalances += 1
        share = [
            at
            for topic in self.topics
            for found in [self._cluster.partitions(topic)]
            for at in found
            if members[at.number * len(members) // len(found)] is self
        ]
        self._positions = {at: self._cluster.committed(self._name, at) for at in share}
        committed = {at: self._group.committed.get(at) for at in share}
        self._whole_before = {at: dict(each.whole) for at, each in committed.items() if each}
        self._whole_at = {
            at: min((whole.get(at, 0) for whole in self._whole_before.values()), default=0)
            for topic in self.whole
            for at in self._cluster.partitions(topic)
            if share
        }
        whole_from = dict(self._whole_at)
        self._joined_at = {at: committed[at] or _Commit(0, whole_from) for at in share}
        self._claimed = max((each.claim for each in self._joined_at.values()), default=0)
        return True

    def _at(self, partition: Partition) -> int:
        return self.position()[partition]

    def _move(self, partition: Partition, offset: int) -> None:
        (self._positions if partition in self._positions else self._whole_at)[partition] = offset
