"""Whether events of a partition come without gaps; and what came between, where they don't.

While partitions change hands and while the table is read, Faust (0.15.3) drops what it has fetched
of `layers`, and goes back to the committed offsets afterwards. But aiokafka (0.14) doesn't go back
where nothing is committed yet. To make it go back is no remedy: Faust takes the rest of what it has
fetched for a gap in the log, and may commit behind it. So what is lacking is read from the log by a
reader apart. Where nothing comes after what was dropped, `redelivery` sees it.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from benanza_backbone.event_log.event_log import Record

log = logging.getLogger(__name__)


class Continuity:
    """The next offset of each partition held.

    `begins_at` gives the offset from which a partition is to be read: what the group has
    committed. `read` gives some records of a partition from an offset on, none at its end.
    """

    def __init__(
        self,
        begins_at: Callable[[int], Awaitable[int]],
        read: Callable[[int, int], Awaitable[Sequence[Record]]],
    ) -> None:
        self._begins_at = begins_at
        self._read = read
        self._next: dict[int, int] = {}

    def reset(self) -> None:
        """The partitions have changed hands."""
        self._next.clear()

    def next(self, partition: int) -> int | None:
        """The offset behind the last record that was taken; None where none was taken yet."""
        return self._next.get(partition)

    async def lacking(self, partition: int, offset: int) -> AsyncIterator[Record]:
        """The records before this one that have not come, in order; then this one may be taken.

        A record that has come before may come again.
        """
        if partition not in self._next:
            self._next[partition] = await self._begins_at(partition)
        following = self._next[partition]
        while following < offset:
            found = await self._read(partition, following)
            between = [record for record in found if record.offset < offset]
            if not between:
                break  # The log has none: they were deleted, or are marks of transactions.
            log.warning(
                "events %d to %d of partition %d got lost on their way: read from the log",
                between[0].offset,
                between[-1].offset,
                partition,
            )
            for record in between:
                yield record
            following = between[-1].offset + 1
        self._next[partition] = max(following, offset + 1)
