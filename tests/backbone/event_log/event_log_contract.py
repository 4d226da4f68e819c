"""What every adapter of the event log must do: a suite that each adapter's tests inherit.

It asks for nothing that a log of several partitions and brokers can't promise: no order across
partitions, no delivery exactly once while a group changes, no answer at the first poll.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Timer
from uuid import uuid4

import pytest

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import (
    READ_AT_ONCE,
    Consumer,
    EventLog,
    Message,
    Partition,
    Record,
)
from benanza_schemas.codec import MAX_EVENT_BYTES

PATIENCE_S = 30.0
TICK_S = 0.01
"""Longer than the resolution of any log's time stamps."""


def drain(consumer: Consumer) -> list[Record]:
    """Everything that the consumer has still to give."""
    records: list[Record] = []
    deadline = time.monotonic() + PATIENCE_S
    while any(consumer.lag().values()):
        assert time.monotonic() < deadline, f"still lagging: {consumer.lag()}"
        records += consumer.poll(limit=100, timeout=0.1)
    return records


def values(records: Iterable[Record | Message]) -> list[bytes]:
    return [record.value for record in records]


def numbered(topic: str, count: int, key: bytes = b"key") -> list[Message]:
    """Messages with the values 0, 1, 2…; the same key, so that their order is kept."""
    return [Message(topic, key, str(number).encode()) for number in range(count)]


class EventLogContract(ABC):
    @abstractmethod
    @pytest.fixture
    def open_log(self) -> Callable[[], EventLog]:
        """Opens the log under test; each call is a client of its own."""

    @pytest.fixture
    def log(self, open_log: Callable[[], EventLog]) -> Iterator[EventLog]:
        with open_log() as log:
            yield log

    @pytest.fixture
    def topic(self) -> str:
        return f"topic-{uuid4().hex}"

    @pytest.fixture
    def group(self) -> str:
        return f"group-{uuid4().hex}"

    # Appending and reading

    def test_another_client_reads_what_append_returned_for(
        self, log: EventLog, open_log: Callable[[], EventLog], topic: str, group: str
    ) -> None:
        before = datetime.now(UTC) - timedelta(milliseconds=1)
        log.append([Message(topic, b"k", b"v")])
        after = datetime.now(UTC)
        with open_log() as other, other.consumer(group, [topic]) as consumer:
            (record,) = drain(consumer)
        assert (record.partition.topic, record.key, record.value) == (topic, b"k", b"v")
        assert before <= record.timestamp <= after

    def test_messages_of_one_key_keep_their_order(
        self, log: EventLog, topic: str, group: str
    ) -> None:
        log.append(numbered(topic, 250))
        log.append(numbered(topic, 50))
        with log.consumer(group, [topic]) as consumer:
            records = drain(consumer)
        assert values(records) == values_of(250) + values_of(50)
        offsets = [record.offset for record in records]
        assert offsets[0] >= 0
        assert offsets == sorted(set(offsets))

    @pytest.mark.parametrize(
        ("key", "value"),
        [(b"", b""), (b"\x00\xff\x00", bytes(range(256))), (b"k", bytes(MAX_EVENT_BYTES))],
        ids=["empty", "binary", "as large as an event may be"],
    )
    def test_bytes_come_back_as_they_were(
        self, log: EventLog, topic: str, group: str, key: bytes, value: bytes
    ) -> None:
        log.append([Message(topic, key, value)])
        with log.consumer(group, [topic]) as consumer:
            (record,) = drain(consumer)
        assert (record.key, record.value) == (key, value)

    def test_nothing_appended_is_nothing_read(self, log: EventLog, topic: str, group: str) -> None:
        log.append([])
        with log.consumer(group, [topic]) as consumer:
            assert set(consumer.lag().values()) == {0}
            assert consumer.poll(limit=1, timeout=0.05) == []

    def test_read_goes_on_from_any_offset(self, log: EventLog, topic: str, group: str) -> None:
        log.append(numbered(topic, 10))
        with log.consumer(group, [topic]) as consumer:
            records = drain(consumer)
        for at, record in enumerate(records):
            assert log.read(record.partition, record.offset, limit=3) == records[at : at + 3]

    def test_the_records_of_a_topic_are_all_there_across_reads(
        self, log: EventLog, topic: str
    ) -> None:
        count = 2 * READ_AT_ONCE + 10
        log.append(numbered(topic, count))
        log.append([Message(topic, str(n).encode(), b"other key") for n in range(20)])
        found = list(log.records(topic))
        assert len(found) == count + 20
        own = [record for record in found if record.key == b"key"]
        assert values(own) == values(numbered(topic, count))
        home = own[0].partition
        there = [record for record in found if record.partition == home]
        before = list(log.records(topic, {home: there[-5].offset}))
        assert before == there[:-5]
        assert list(log.records(topic, {})) == []

    def test_the_end_is_above_the_last_record_and_not_above_the_next(
        self, log: EventLog, topic: str
    ) -> None:
        log.append(numbered(topic, 3))
        ends = log.end_offsets(topic)
        assert {partition.topic for partition in ends} == {topic}
        for partition, end in ends.items():
            assert log.read(partition, end, limit=10) == []
            assert all(record.offset < end for record in log.read(partition, 0, limit=10))
        log.append(numbered(topic, 3))
        news = [r for p, end in ends.items() for r in log.read(p, end, limit=10)]
        assert values(news) == values_of(3)

    def test_a_partition_that_is_not_there_is_an_error(self, log: EventLog, topic: str) -> None:
        log.append(numbered(topic, 1))
        with pytest.raises(BenanzaError, match=topic):
            log.read(Partition(topic, 1_000_000), 0, limit=1)

    def test_threads_may_share_a_log(self, log: EventLog, topic: str, group: str) -> None:
        def work(thread: int) -> None:
            for message in numbered(topic, 20, key=str(thread).encode()):
                log.append([message])
                log.end_offsets(topic)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        with log.consumer(group, [topic]) as consumer:
            records = drain(consumer)
        for thread in range(4):
            of_thread = [record for record in records if record.key == str(thread).encode()]
            assert values(of_thread) == values_of(20)

    # Consuming

    def test_a_new_group_begins_at_the_first_record(self, log: EventLog, topic: str) -> None:
        log.append(numbered(topic, 5))
        for group in (uuid4().hex, uuid4().hex):
            with log.consumer(group, [topic]) as consumer:
                assert values(drain(consumer)) == values_of(5)
                consumer.commit()

    def test_what_was_not_committed_comes_again(
        self, log: EventLog, topic: str, group: str
    ) -> None:
        log.append(numbered(topic, 5))
        for _ in range(2):
            with log.consumer(group, [topic]) as consumer:
                assert values(drain(consumer)) == values_of(5)

    def test_what_was_committed_does_not_come_again(
        self, log: EventLog, topic: str, group: str
    ) -> None:
        log.append(numbered(topic, 5))
        with log.consumer(group, [topic]) as consumer:
            polled = values(consumer.poll(limit=3, timeout=PATIENCE_S))
            consumer.commit()
            assert 1 <= len(polled) <= 3
            drain(consumer)
        with log.consumer(group, [topic]) as consumer:
            assert polled + values(drain(consumer)) == values_of(5)

    def test_a_poll_gives_each_record_once(self, log: EventLog, topic: str, group: str) -> None:
        log.append(numbered(topic, 10))
        with log.consumer(group, [topic]) as consumer:
            polls = [consumer.poll(limit=4, timeout=PATIENCE_S) for _ in range(2)]
            polls.append(drain(consumer))
            assert consumer.poll(limit=4, timeout=0.05) == []
        assert all(1 <= len(records) <= 4 for records in polls[:2])
        assert [v for records in polls for v in values(records)] == values_of(10)

    def test_a_consumer_reads_all_its_topics(self, log: EventLog, topic: str, group: str) -> None:
        topics = [f"{topic}-{n}" for n in range(3)]
        log.append([message for name in topics for message in numbered(name, 5)])
        log.append(numbered(f"{topic}-not-asked-for", 5))
        with log.consumer(group, topics) as consumer:
            records = drain(consumer)
            consumer.commit()
        by_topic = {n: values(r for r in records if r.partition.topic == n) for n in topics}
        assert by_topic == dict.fromkeys(topics, values_of(5))
        assert len(records) == 15
        with log.consumer(group, topics) as consumer:
            assert drain(consumer) == []

    def test_a_poll_waits_for_a_record_and_no_longer(
        self, log: EventLog, topic: str, group: str
    ) -> None:
        with log.consumer(group, [topic]) as consumer:
            start = time.monotonic()
            assert consumer.poll(limit=1, timeout=0.2) == []
            assert 0.2 <= time.monotonic() - start < PATIENCE_S
            later = Timer(0.1, log.append, [numbered(topic, 1)])
            later.start()
            start = time.monotonic()
            assert values(consumer.poll(limit=1, timeout=PATIENCE_S)) == values_of(1)
            assert time.monotonic() - start < PATIENCE_S / 2
            later.join()

    def test_lag_counts_what_is_still_to_come(self, log: EventLog, topic: str, group: str) -> None:
        log.append(numbered(topic, 5))
        log.append(numbered(f"{topic}-other", 5))
        with log.consumer(group, [topic]) as consumer:
            assert sum(consumer.lag().values()) == 5
            polled = consumer.poll(limit=2, timeout=PATIENCE_S)
            assert sum(consumer.lag().values()) == 5 - len(polled)
            log.append(numbered(topic, 1))
            assert sum(consumer.lag().values()) == 6 - len(polled)

    # Replay

    def test_seeking_back_and_committing_replays_for_the_group(
        self, log: EventLog, topic: str, group: str
    ) -> None:
        log.append(numbered(topic, 5))
        with log.consumer(group, [topic]) as consumer:
            records = drain(consumer)
            consumer.commit()
            third = records[2]
            consumer.seek(third.partition, third.offset)
            assert consumer.position()[third.partition] == third.offset
            assert drain(consumer) == records[2:]
            consumer.seek(third.partition, third.offset)
            consumer.commit()
        with log.consumer(group, [topic]) as consumer:
            assert drain(consumer) == records[2:]

    def test_a_seek_that_is_not_committed_is_forgotten(
        self, log: EventLog, topic: str, group: str
    ) -> None:
        log.append(numbered(topic, 5))
        with log.consumer(group, [topic]) as consumer:
            records = drain(consumer)
            consumer.commit()
            consumer.seek(records[0].partition, records[0].offset)
        with log.consumer(group, [topic]) as consumer:
            assert drain(consumer) == []

    def test_seeking_to_the_end_skips(self, log: EventLog, topic: str, group: str) -> None:
        log.append(numbered(topic, 5))
        with log.consumer(group, [topic]) as consumer:
            for partition, end in log.end_offsets(topic).items():
                consumer.seek(partition, end)
            assert set(consumer.lag().values()) == {0}
            log.append([Message(topic, b"key", b"new")])
            assert values(drain(consumer)) == [b"new"]

    def test_seeking_where_nothing_is_says_so(self, log: EventLog, topic: str, group: str) -> None:
        log.append(numbered(topic, 5))
        with log.consumer(group, [topic]) as consumer:
            before = consumer.position()
            for partition, end in log.end_offsets(topic).items():
                for nowhere in (-1, end + 1):
                    with pytest.raises(BenanzaError, match=f"{topic}.* not {nowhere}"):
                        consumer.seek(partition, nowhere)
            with pytest.raises(BenanzaError, match="elsewhere"):
                consumer.seek(Partition("elsewhere", 0), 0)
            assert consumer.position() == before

    def test_seeking_to_a_time(self, log: EventLog, topic: str, group: str) -> None:
        start = datetime.now(UTC)
        times = []
        for number in range(3):
            time.sleep(TICK_S)
            times.append(datetime.now(UTC))
            log.append([Message(topic, b"key", str(number).encode())])
        with log.consumer(group, [topic]) as consumer:
            consumer.seek_to_time(times[1])
            assert values(drain(consumer)) == [b"1", b"2"]
            consumer.seek_to_time(start)
            assert values(drain(consumer)) == [b"0", b"1", b"2"]
            consumer.seek_to_time(datetime.now(UTC) + timedelta(days=1))
            assert drain(consumer) == []
            assert consumer.position() == log.end_offsets(topic)

    # Groups

    def test_members_of_a_group_share_its_records(
        self, log: EventLog, open_log: Callable[[], EventLog], topic: str, group: str
    ) -> None:
        messages = [m for key in range(8) for m in numbered(topic, 5, key=str(key).encode())]
        expected = {(m.key, m.value) for m in messages}
        log.append(messages)
        seen: set[tuple[bytes, bytes]] = set()
        deadline = time.monotonic() + PATIENCE_S

        def work(member: Consumer) -> None:
            assert time.monotonic() < deadline
            seen.update((r.key, r.value) for r in member.poll(limit=5, timeout=0.05))
            member.commit()

        def come_and_go() -> None:
            with open_log() as other, other.consumer(group, [topic]) as second:
                while len(seen) < len(expected) // 2:
                    work(second)

        # Each member in a thread of its own: who leaves may have to wait for the others to poll.
        with log.consumer(group, [topic]) as first, ThreadPoolExecutor(1) as thread:
            gone = thread.submit(come_and_go)
            while not gone.done() or seen != expected:
                work(first)
            gone.result()
            # The second has left, so its partitions come to the first.
            while first.position().keys() != log.end_offsets(topic).keys():
                work(first)
            drain(first)
            first.commit()
        with log.consumer(group, [topic]) as consumer:
            assert drain(consumer) == []

    def test_who_is_given_partitions_is_told_so(
        self, log: EventLog, open_log: Callable[[], EventLog], topic: str, group: str
    ) -> None:
        log.append(numbered(topic, 5))
        with log.consumer(group, [topic]) as first, open_log() as other:
            assert first.rebalances() > 0
            drain(first)
            before = first.rebalances()
            first.poll(limit=1, timeout=0.05)
            first.commit()
            assert first.rebalances() == before
            with other.consumer(group, [topic]) as second:
                first.close()
                deadline = time.monotonic() + PATIENCE_S
                while not second.position():
                    assert time.monotonic() < deadline
                    before = second.rebalances()
                    second.poll(limit=5, timeout=0.1)
                assert second.rebalances() > before

    def test_the_partitions_of_a_member_that_closes_go_to_the_others(
        self, log: EventLog, topic: str, group: str
    ) -> None:
        log.append(numbered(topic, 5))
        first = log.consumer(group, [topic])
        second = log.consumer(group, [topic])
        first.poll(limit=3, timeout=0.1)
        first.close()
        first.close()
        records: list[Record] = []
        deadline = time.monotonic() + PATIENCE_S
        while second.position().keys() != log.end_offsets(topic).keys() or len(records) < 5:
            assert time.monotonic() < deadline
            records += second.poll(limit=5, timeout=0.1)
        assert values(records) == values_of(5)
        second.close()

    def test_only_who_holds_a_partition_seeks_there(
        self, log: EventLog, topic: str, group: str
    ) -> None:
        log.append(numbered(topic, 1))
        ends = log.end_offsets(topic)
        members = [log.consumer(group, [topic]) for _ in range(len(ends) + 1)]
        refusals = 0
        for member in members:
            for partition in ends.keys() - member.position().keys():
                with pytest.raises(BenanzaError, match=group):
                    member.seek(partition, 0)
                refusals += 1
        assert refusals >= len(ends)
        for member in members:
            member.close()

    # Topics that each member reads whole

    def test_topics_read_whole_come_beside_the_others_and_go_on_where_they_were(
        self, log: EventLog, topic: str, group: str
    ) -> None:
        whole = f"{topic}-whole"
        log.append([*numbered(topic, 5), *numbered(whole, 7)])
        with log.consumer(group, [topic], [whole]) as consumer:
            assert consumer.position() == dict.fromkeys(
                (*log.end_offsets(topic), *log.end_offsets(whole)), 0
            )
            records = drain(consumer)
            consumer.commit()
        for name, count in ((topic, 5), (whole, 7)):
            assert values(r for r in records if r.partition.topic == name) == values_of(count)
        log.append([*numbered(topic, 1), *numbered(whole, 1)])
        with log.consumer(group, [topic], [whole]) as consumer:
            assert sorted(r.partition.topic for r in drain(consumer)) == [topic, whole]

    def test_what_was_not_committed_of_a_topic_read_whole_comes_again(
        self, log: EventLog, topic: str, group: str
    ) -> None:
        log.append(numbered(topic, 5))
        for _ in range(2):
            with log.consumer(group, [f"{topic}-shared"], [topic]) as consumer:
                assert values(drain(consumer)) == values_of(5)

    def test_a_topic_read_whole_is_sought(self, log: EventLog, topic: str, group: str) -> None:
        log.append(numbered(topic, 5))
        (at,) = log.end_offsets(topic)
        with log.consumer(group, [f"{topic}-shared"], [topic]) as consumer:
            fourth = drain(consumer)[3]
            consumer.seek(at, fourth.offset)
            assert sum(consumer.lag().values()) == 2
            consumer.commit()
        with log.consumer(group, [f"{topic}-shared"], [topic]) as consumer:
            assert values(drain(consumer)) == [b"3", b"4"]
            consumer.seek_to_time(datetime(2000, 1, 1, tzinfo=UTC))
            assert values(drain(consumer)) == values_of(5)

    def test_each_claim_is_higher_than_those_before(
        self, log: EventLog, topic: str, group: str
    ) -> None:
        log.append([*numbered(f"{topic}-shared", 2), *numbered(topic, 5)])
        claims = []
        for least in (7, 3, 1000):
            with log.consumer(group, [f"{topic}-shared"], [topic]) as consumer:
                # What was polled before is not committed by a claim.
                records = drain(consumer)
                assert len(records) == 7
                claims += [consumer.claim(least), consumer.claim(least)]
        assert claims == [7, 8, 9, 10, 1000, 1001]
        with log.consumer(group, [f"{topic}-shared"], [topic]) as consumer:
            drain(consumer)
            consumer.commit()
        with log.consumer(group, [f"{topic}-shared"], [topic]) as consumer:
            assert consumer.claim(0) == 1002
            assert sum(consumer.lag().values()) == 0

    # What waits, asked from outside

    def test_what_waits_is_what_the_group_has_not_committed(
        self, log: EventLog, topic: str, group: str
    ) -> None:
        whole = f"{topic}-whole"
        log.append([*numbered(topic, 5), *numbered(whole, 7)])
        assert sum(log.waiting(group, [topic], [whole]).values()) == 12
        with log.consumer(group, [topic], [whole]) as consumer:
            drain(consumer)
            assert sum(log.waiting(group, [topic], [whole]).values()) == 12
            consumer.commit()
            assert log.waiting(group, [topic], [whole]) == dict.fromkeys(consumer.position(), 0)
            log.append(numbered(whole, 2))
            assert sum(log.waiting(group, [topic], [whole]).values()) == 2
            # Who asks takes nothing away from who reads.
            assert values(drain(consumer)) == values_of(2)
        assert sum(log.waiting(f"{group}-other", [topic]).values()) == 5

    @pytest.mark.parametrize("group", ["", "a/b", "../a", "a b", "ü"])
    def test_a_group_has_a_plain_name(self, log: EventLog, topic: str, group: str) -> None:
        with pytest.raises(ValueError, match="group"):
            log.consumer(group, [topic])


def values_of(count: int) -> list[bytes]:
    return [str(number).encode() for number in range(count)]
