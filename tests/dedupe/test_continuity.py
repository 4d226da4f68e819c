"""No event is passed over, whatever gets lost between the broker and the agent."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_backbone.event_log.event_log import Partition, Record
from benanza_dedupe.continuity import Continuity

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
AT_ONCE = 4
OFFSETS = st.sets(st.integers(0, 40), min_size=1)


class Log:
    """A partition whose records lie at these offsets."""

    def __init__(self, offsets: Iterable[int], committed: int) -> None:
        self._offsets = sorted(offsets)
        self._committed = committed
        self.begun = 0
        self.continuity = Continuity(self._begins_at, self._read)

    async def _begins_at(self, partition: int) -> int:
        self.begun += 1
        return self._committed

    async def _read(self, partition: int, offset: int) -> Sequence[Record]:
        found = [o for o in self._offsets if o >= offset][:AT_ONCE]
        return [Record(Partition("layers", partition), o, NOON, b"", b"") for o in found]

    async def take(self, come: Iterable[int]) -> list[int]:
        """What is taken where these records come."""
        taken = []
        for offset in come:
            taken += [lost.offset async for lost in self.continuity.lacking(0, offset)]
            taken.append(offset)
        return taken


@given(OFFSETS, st.integers(0, 40), st.data())
def test_what_got_lost_is_taken_before_what_comes(
    offsets: set[int], committed: int, data: st.DataObject
) -> None:
    """However the log has gaps of its own; the last record comes, for a loss is seen by what
    follows it."""
    wanted = sorted(o for o in offsets if o >= committed) or [committed]
    come = [o for o in wanted[:-1] if data.draw(st.booleans())] + wanted[-1:]
    assert asyncio.run(Log({*offsets, *wanted}, committed).take(come)) == wanted


def test_what_comes_again_is_taken_again() -> None:
    come = [3, 4, 3, 4, 5]
    assert asyncio.run(Log(range(9), 3).take(come)) == come


@pytest.mark.parametrize("partitions", [1, 3])
def test_after_partitions_changed_hands_it_asks_where_they_begin(partitions: int) -> None:
    async def test() -> None:
        log = Log(range(9), 2)
        for _ in range(2):
            for partition in range(partitions):
                for offset in (2, 3):
                    assert [lost async for lost in log.continuity.lacking(partition, offset)] == []
            log.continuity.reset()
        assert log.begun == 2 * partitions

    asyncio.run(test())
