"""The event log: topics that are appended to, read from any offset, and consumed by groups.

This is the port. `sqlite_log` is the embedded adapter. Every adapter passes the suite in
`tests/backbone/event_log/event_log_contract.py`.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from benanza_backbone.closing import Closing

READ_AT_ONCE = 1000
"""Records that `EventLog.records` reads at a time."""


class Partition(msgspec.Struct, frozen=True, order=True):
    """A part of a topic. Its records have one order; records with the same key share one."""

    topic: str
    number: int


class Message(msgspec.Struct, frozen=True):
    """What is appended to a topic."""

    topic: str
    key: bytes
    value: bytes


class Record(msgspec.Struct, frozen=True):
    """What was appended, and where it stands.

    `offset` is at least 0 and grows along a partition, not always by 1. `timestamp` is when it
    was appended, in UTC, to the millisecond or better, by the clock of whoever stamped it: it
    need not grow with the offset.
    """

    partition: Partition
    offset: int
    timestamp: datetime
    key: bytes
    value: bytes


class Unread(bytes):
    """The value of a record that stands for others which the log doesn't take apart: their
    bytes as they are there.

    `why` says what they are, as `compressed with gzip`. No event has such a value.
    """

    why: str

    def __new__(cls, value: bytes | bytearray | memoryview, why: str) -> "Unread":
        made = super().__new__(cls, value)
        made.why = why
        return made


class Consumer(Closing):
    """A member of a group that shares out the partitions of some topics.

    Of topics with equally many partitions, those with the same number go to the same member.

    Delivery is at least once. The group has one committed offset for each partition, and each
    partition belongs to one member at a time, but for those of topics that each reads whole. A
    member that closes or dies leaves its partitions to the others, who begin at what was
    committed; so what was polled and not committed is delivered again, and what was committed is
    not. A member may hold no partition at all: then it polls nothing until others leave.

    Of topics with equally many partitions, those of the same number belong to the same member.

    Belongs to one thread. Every method may block on the disk or the network for some seconds,
    and raises `BenanzaError` if the log can't be reached; `poll` may give nothing instead. After
    `close`, only `close` may be called.
    """

    @abstractmethod
    def poll(self, limit: int, timeout: float) -> list[Record]:
        """The next records of the partitions held, in the order of each partition.

        At least one record as soon as there is one, at most `limit` (itself at least 1); none
        if `timeout` seconds pass without any. An empty list is no promise that the end was
        reached: `lag` tells. Only `poll` may hand this member more or fewer partitions.
        """

    @abstractmethod
    def commit(self) -> None:
        """Makes `position` the group's committed offsets, durable on return.

        So everything polled so far counts as processed; and after a `seek`, the group goes on
        from there. Partitions that this member has lost meanwhile are left as they are: what
        it polled from them comes again, to another member.
        """

    @abstractmethod
    def position(self) -> dict[Partition, int]:
        """For each partition held, the offset from which `poll` goes on."""

    def whole_before(self) -> dict[Partition, dict[Partition, int]]:
        """For partitions held, how far the topics that are read whole had been read by what was
        committed with them, when this member was given partitions last.

        `poll` goes on with the least of these, so a partition that is further has had what comes
        until there. None are named of a log in which all are equally far.
        """
        return {}

    @abstractmethod
    def claim(self, least: int) -> int | None:
        """Claims the partitions held with a number: at least `least`, and higher than any with
        which one of them was claimed before. It is durable on return.

        So what bears the number is told from what a former holder goes on to write. None if others
        may hold some of the partitions by now: then nothing that was polled can be committed. To be
        called before anything is committed of them, in groups that read topics whole.
        """

    @abstractmethod
    def seek(self, partition: Partition, offset: int) -> None:
        """Makes `poll` go on with the first record at or after this offset.

        Raises `BenanzaError` if this member doesn't hold the partition, or if the offset is
        negative or beyond the end.
        """

    @abstractmethod
    def seek_to_time(self, when: datetime) -> None:
        """Seeks each partition held to its first record of this time or later, or to its end.

        `when` is aware of its time zone.
        """

    @abstractmethod
    def lag(self) -> dict[Partition, int]:
        """For each partition held, how many records `poll` has still to give.

        It may be more where the log was compacted; it is 0 only at the end. While the group shares
        out its partitions, none is held.
        """

    @abstractmethod
    def rebalances(self) -> int:
        """How often this member was given partitions or lost some.

        It has grown after a `poll` in which partitions came or went, also where this member
        holds the same ones again: another may have had them meanwhile.
        """

    @abstractmethod
    def close(self) -> None:
        """Leaves the group without committing. May be called again."""


class EventLog(Closing):
    """The topics of one installation. A topic exists as soon as it is named.

    May be shared by threads. Every method may block on the disk or the network, and raises
    `BenanzaError` if the log can't be reached or written.
    """

    @abstractmethod
    def append(self, messages: Sequence[Message]) -> None:
        """Appends messages, those with the same topic and key in this order.

        Returns when all are durable. If it raises, any of them may have been appended, and
        the caller may append them all again.
        """

    @abstractmethod
    def read(self, partition: Partition, offset: int, limit: int) -> list[Record]:
        """Up to `limit` records at or after this offset, without any group.

        Empty only if there are none. Raises `BenanzaError` if there is no such partition.
        """

    @abstractmethod
    def end_offsets(self, topic: str) -> dict[Partition, int]:
        """For each partition of the topic, an offset above all its records and no higher than
        the next one's.
        """

    def records(self, topic: str, until: Mapping[Partition, int] | None = None) -> Iterator[Record]:
        """The records of a topic, those of a partition in order.

        All that are there now; with `until`, those before the offset that it gives for their
        partition, and none of a partition that it lacks.
        """
        for partition, end in self.end_offsets(topic).items():
            stop = end if until is None else until.get(partition, 0)
            offset = 0
            while offset < stop and (chunk := self.read(partition, offset, READ_AT_ONCE)):
                yield from (record for record in chunk if record.offset < stop)
                offset = chunk[-1].offset + 1

    @abstractmethod
    def consumer(self, group: str, topics: Sequence[str], whole: Sequence[str] = ()) -> Consumer:
        """Joins a group, which is made by its first member and begins at the first record.

        The only member of a group holds every partition on return; one that comes later gets
        its share as they all poll. A member that holds a partition holds all those of the topics
        `whole`, too, as others do. How far these were read is committed with each partition of
        `topics`: whoever takes over goes on from the least of what was committed with those that
        it holds. `group` is made of letters, digits, `.`, `_` and `-`, else `ValueError`. All
        members of a group name the same topics, at least one, and none twice. Close the consumer
        before the log.
        """

    @abstractmethod
    def waiting(
        self, group: str, topics: Sequence[str], whole: Sequence[str] = ()
    ) -> dict[Partition, int]:
        """For each partition of these topics, how many records the group has not committed yet.

        Asked from outside: nobody joins the group. Of the topics `whole` it is what the member
        that committed last has not. It may be more where the log was compacted.
        """

    @abstractmethod
    def close(self) -> None:
        """Gives connections back. May be called again."""
