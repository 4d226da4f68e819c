"""No event is passed over, whatever gets lost between the broker and the agent."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_dedupe.continuity import LOOKS, Continuity


class Partition:
    """A partition whose records lie at these offsets, and are lost so often on their way."""

    def __init__(self, offsets: Iterable[int], committed: int, lost: Mapping[int, int]) -> None:
        self._offsets = sorted(offsets)
        self._committed = committed
        self._lost = Counter(lost)
        self._at = committed
        self.begun = 0
        self.continuity = Continuity(self._begins_at, self._read_from)

    async def _begins_at(self, partition: int) -> int:
        self.begun += 1
        return self._committed

    async def _read_from(self, partition: int, offset: int) -> None:
        self._at = offset

    async def _taken(self) -> list[int]:
        taken = []
        while (found := next((o for o in self._offsets if o >= self._at), None)) is not None:
            self._at = found + 1
            if self._lost[found]:
                self._lost[found] -= 1
            elif await self.continuity.follows(0, found):
                taken.append(found)
        return taken

    def taken(self) -> list[int]:
        """All that is taken until nothing is left to read."""
        return asyncio.run(self._taken())


OFFSETS = st.sets(st.integers(0, 40), min_size=1)
LOST = st.dictionaries(st.integers(0, 39), st.integers(0, LOOKS - 1))


@given(st.integers(0, 40), LOST)
def test_what_gets_lost_is_read_again(committed: int, lost: Mapping[int, int]) -> None:
    """The last record is there: a loss is seen by what comes behind it."""
    taken = Partition(range(41), committed, lost).taken()
    assert taken == list(range(committed, 41))


@given(OFFSETS)
def test_a_gap_in_the_log_is_passed(offsets: set[int]) -> None:
    assert Partition(offsets, 0, {}).taken() == sorted(offsets)


@given(OFFSETS, LOST)
def test_with_gaps_in_the_log_too_nothing_comes_twice_or_out_of_order(
    offsets: set[int], lost: Mapping[int, int]
) -> None:
    taken = Partition({*offsets, 41}, 0, lost).taken()
    assert taken == sorted(set(taken))
    assert set(taken) <= {*offsets, 41}
    assert taken[-1] == 41


def test_what_comes_again_is_taken_again() -> None:
    async def test() -> None:
        continuity = Partition(range(9), 3, {}).continuity
        assert [await continuity.follows(0, offset) for offset in (3, 4, 3, 4, 5)] == [True] * 5

    asyncio.run(test())


def test_what_was_on_its_way_when_reading_went_back_is_not_taken() -> None:
    async def test() -> None:
        continuity = Partition(range(9), 0, {}).continuity
        came = [0, 3, 4, 5, 1, 2, 3, 4, 5]
        assert [await continuity.follows(0, offset) for offset in came] == [
            offset in (0, 1, 2) or position > 5 for position, offset in enumerate(came)
        ]

    asyncio.run(test())


@pytest.mark.parametrize("partitions", [1, 3])
def test_after_partitions_changed_hands_it_asks_where_they_begin(partitions: int) -> None:
    async def test() -> None:
        log = Partition(range(9), 2, {})
        for _ in range(2):
            for partition in range(partitions):
                assert await log.continuity.follows(partition, 2)
                assert await log.continuity.follows(partition, 3)
            log.continuity.reset()
        assert log.begun == 2 * partitions

    asyncio.run(test())
