"""What Faust has lost is delivered again, also where nothing comes after it."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from benanza_backbone.event_log.event_log import Partition, Record
from benanza_backbone.kafka.group import PartitionProgress
from benanza_dedupe.redelivery import LOST_AFTER_S, Redelivery

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
AT_ONCE = 4


class Installation:
    """A log of some partitions, and an agent that takes what is delivered to it."""

    def __init__(self, ends: dict[int, int]) -> None:
        self.ends = ends
        self.committed = dict.fromkeys(ends, 0)
        self.taken_next: dict[int, int] = {}
        self.delivered: list[tuple[int, int]] = []
        self.held = set(ends)
        self.now_s = 0.0
        self._redelivery = Redelivery(
            self.taken_next.get, self._read, self._deliver, lambda: self.now_s
        )

    async def _read(self, partition: int, offset: int) -> Sequence[Record]:
        offsets = range(offset, min(self.ends[partition], offset + AT_ONCE))
        return [Record(Partition("layers", partition), o, NOON, b"", b"") for o in offsets]

    async def _deliver(self, record: Record) -> bool:
        partition = record.partition.number
        if partition not in self.held:
            return False
        self.delivered.append((partition, record.offset))
        self.taken_next[partition] = record.offset + 1
        return True

    def looks(self, after_s: float) -> None:
        """So much later, at all partitions held."""
        self.now_s += after_s
        progress = {p: PartitionProgress(self.committed[p], self.ends[p]) for p in self.held}
        asyncio.run(self._redelivery.look(progress))


def test_what_was_lost_at_the_end_of_a_partition_is_delivered() -> None:
    there = Installation({0: 10, 1: 3})
    there.committed[0] = 2
    there.taken_next[1] = 3
    there.looks(0.0)
    assert there.delivered == []
    there.looks(LOST_AFTER_S)
    assert there.delivered == [(0, offset) for offset in range(2, 10)]
    there.looks(2 * LOST_AFTER_S)
    assert len(there.delivered) == 8


def test_a_partition_in_work_is_let_alone() -> None:
    there = Installation({0: 100})
    for taken in range(20):
        there.taken_next[0] = taken
        there.looks(LOST_AFTER_S * 0.9)
    assert there.delivered == []


def test_what_is_taken_by_itself_meanwhile_is_not_delivered() -> None:
    there = Installation({0: 5})
    there.looks(0.0)
    there.taken_next[0] = 5
    there.looks(LOST_AFTER_S)
    there.ends[0] = 6
    there.looks(1.0)
    assert there.delivered == [], "the new record has only just come"
    there.looks(LOST_AFTER_S)
    assert there.delivered == [(0, 5)]


def test_a_partition_that_went_away_and_came_back_has_its_time_anew() -> None:
    there = Installation({0: 5})
    there.looks(0.0)
    there.held.clear()
    there.looks(LOST_AFTER_S)
    there.held.add(0)
    there.looks(LOST_AFTER_S)
    assert there.delivered == []
    there.looks(LOST_AFTER_S)
    assert len(there.delivered) == 5


def test_what_is_taken_away_meanwhile_is_delivered_no_further() -> None:
    there = Installation({0: 5})
    there.looks(0.0)

    async def deliver_one(record: Record) -> bool:
        there.delivered.append((0, record.offset))
        return False

    there._redelivery._deliver = deliver_one
    there.looks(LOST_AFTER_S)
    assert there.delivered == [(0, 0)]


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=40))
def test_whatever_is_lost_all_is_taken_in_the_end(events: list[tuple[int, bool]]) -> None:
    """Events come one by one; those that are lost are taken with the next one that isn't (see
    `continuity`), or are delivered again."""
    there = Installation(dict.fromkeys(range(3), 0))
    for partition, lost in events:
        there.ends[partition] += 1
        if not lost:
            there.taken_next[partition] = there.ends[partition]
        there.looks(0.5)
    there.looks(LOST_AFTER_S)
    there.looks(LOST_AFTER_S)
    assert all(there.taken_next.get(p, 0) == end for p, end in there.ends.items())
