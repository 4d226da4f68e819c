"""Any sequence of calls to the SQLite adapter does what a list and some counters would do."""

import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from benanza_backbone.event_log.event_log import Consumer, Message, Partition
from benanza_backbone.event_log.sqlite_log import SqliteEventLog

TOPICS = ("a", "b", "c")
GROUPS = {"ab": ("a", "b"), "c": ("c",)}

messages = st.builds(Message, st.sampled_from(TOPICS), st.binary(max_size=3), st.binary(max_size=9))
groups = st.sampled_from(sorted(GROUPS))


class Member:
    """A consumer, and where the model says it stands: a count of messages of any topic."""

    def __init__(self, consumer: Consumer, at: dict[str, int] | None) -> None:
        self.consumer = consumer
        self.at = at


class EventLogMachine(RuleBasedStateMachine):
    """The model: all messages in order, and per group and topic how many were committed.

    Positions count the messages of all topics, as this adapter's offsets do. Each group always
    has a member, so that most steps have something to do.
    """

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "events.sqlite"
        self.appended: list[Message] = []
        self.committed = {group: dict.fromkeys(topics, 0) for group, topics in GROUPS.items()}
        self.members: dict[str, list[Member]] = {group: [] for group in GROUPS}
        self.open_log()

    def open_log(self) -> None:
        self.log = SqliteEventLog(self.path)
        for group in GROUPS:
            self.join(group)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.close_all()
            self.folder.cleanup()

    def close_all(self) -> None:
        for members in self.members.values():
            for member in members:
                member.consumer.close()
            members.clear()
        self.log.close()

    @rule(batch=st.lists(messages, max_size=6))
    def append(self, batch: list[Message]) -> None:
        self.log.append(batch)
        self.appended += batch

    @rule()
    def reopen(self) -> None:
        self.close_all()
        self.open_log()

    @rule(group=groups)
    def join(self, group: str) -> None:
        held = any(member.at is not None for member in self.members[group])
        at = None if held else dict(self.committed[group])
        self.members[group].append(Member(self.log.consumer(group, GROUPS[group]), at))

    def some_member(self, group: str, data: st.DataObject) -> Member:
        return data.draw(st.sampled_from(self.members[group]), "member")

    @rule(group=groups, data=st.data())
    def leave(self, group: str, data: st.DataObject) -> None:
        member = self.some_member(group, data)
        member.consumer.close()
        self.members[group].remove(member)
        if not self.members[group]:
            self.join(group)

    @rule(group=groups, limit=st.integers(1, 9), data=st.data())
    def poll(self, group: str, limit: int, data: st.DataObject) -> None:
        member = self.some_member(group, data)
        if all(other.at is None for other in self.members[group]):
            member.at = dict(self.committed[group])
        polled = member.consumer.poll(limit, timeout=0)
        expected = self.pending(member)[:limit]
        assert [Message(r.partition.topic, r.key, r.value) for r in polled] == [
            self.appended[index] for index in expected
        ]
        assert [r.offset for r in polled] == sorted({r.offset for r in polled})
        for index in expected:
            assert member.at is not None
            member.at[self.appended[index].topic] = index + 1

    def pending(self, member: Member) -> list[int]:
        """Positions in `appended` of what the member has still to get."""
        if member.at is None:
            return []
        return [n for n, m in enumerate(self.appended) if n >= member.at.get(m.topic, n + 1)]

    @rule(group=groups, data=st.data())
    def commit(self, group: str, data: st.DataObject) -> None:
        member = self.some_member(group, data)
        member.consumer.commit()
        self.committed[group] |= member.at or {}

    @precondition(lambda self: self.appended)
    @rule(group=groups, data=st.data())
    def seek(self, group: str, data: st.DataObject) -> None:
        member = self.some_member(group, data)
        topic = data.draw(st.sampled_from(GROUPS[group]), "topic")
        of_topic = [n for n, m in enumerate(self.appended) if m.topic == topic]
        if member.at is None or not of_topic:
            return
        which = data.draw(st.integers(0, len(of_topic) - 1), "which")
        partition = Partition(topic, 0)
        records = self.log.read(partition, 0, limit=len(of_topic))
        member.consumer.seek(partition, records[which].offset)
        member.at[topic] = of_topic[which]

    @invariant()
    def the_log_holds_what_was_appended(self) -> None:
        for topic in TOPICS:
            partition = Partition(topic, 0)
            records = self.log.read(partition, 0, limit=1_000_000)
            assert [Message(topic, r.key, r.value) for r in records] == [
                m for m in self.appended if m.topic == topic
            ]
            end = self.log.end_offsets(topic)[partition]
            assert end == (records[-1].offset + 1 if records else 0)

    @invariant()
    def one_member_holds_the_partitions_and_knows_its_lag(self) -> None:
        for group, members in self.members.items():
            for member in members:
                held = {Partition(topic, 0) for topic in GROUPS[group]} if member.at else set()
                assert member.consumer.position().keys() == held
                assert sum(member.consumer.lag().values()) == len(self.pending(member))


TestEventLogMachine = pytest.mark.slow(EventLogMachine.TestCase)
TestEventLogMachine.settings = settings(
    max_examples=70,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
