"""Whether events of a partition come without gaps; where one doesn't follow, they are read again.

While partitions change hands, Faust (0.15.3) drops what it has fetched, and goes back to the
committed offsets afterwards. But aiokafka (0.14) doesn't go back where nothing is committed yet: a
chaos test found layers that no member had taken. So nothing is taken out of order here.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

LOOKS = 3
"""A gap whose end was read so often is one in the log: records were deleted, or are markers of
transactions."""

log = logging.getLogger(__name__)


class _Gap(NamedTuple):
    following: int
    offset: int
    looks: int


class Continuity:
    """The next offset of each partition held.

    `begins_at` gives the offset from which a partition is to be read: what the group has
    committed. `read_from` makes reading go on at an offset of a partition.
    """

    def __init__(
        self,
        begins_at: Callable[[int], Awaitable[int]],
        read_from: Callable[[int, int], Awaitable[None]],
    ) -> None:
        self._begins_at = begins_at
        self._read_from = read_from
        self._next: dict[int, int] = {}
        self._gaps: dict[int, _Gap] = {}

    def reset(self) -> None:
        """The partitions have changed hands."""
        self._next.clear()
        self._gaps.clear()

    async def follows(self, partition: int, offset: int) -> bool:
        """Whether an event is to be taken. If not, it comes again, after those that it lacks.

        An event that was taken before may be taken again.
        """
        if partition not in self._next:
            self._next[partition] = await self._begins_at(partition)
        following = self._next[partition]
        if offset > following and not await self._seen_enough(partition, following, offset):
            return False
        self._next[partition] = max(following, offset + 1)
        return True

    async def _seen_enough(self, partition: int, following: int, offset: int) -> bool:
        """Whether this gap is to be passed; if not, reading goes back to where it begins."""
        gap = self._gaps.get(partition)
        if gap is None or gap.following != following:
            gap = _Gap(following, offset, 0)
        elif offset != gap.offset:
            return False  # It was fetched before reading went back.
        if gap.looks + 1 == LOOKS:
            return True
        self._gaps[partition] = gap._replace(looks=gap.looks + 1)
        log.warning(
            "partition %d goes on at %d instead of %d: reading it again",
            partition,
            offset,
            following,
        )
        await self._read_from(partition, following)
        return False
