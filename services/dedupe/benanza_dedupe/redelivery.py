"""Hands to the agent what Faust has lost, where no later record shows that it is lost.

`continuity` sees a loss by the record that comes after it. Where none comes, the brokers tell: a
partition ends behind the event that is taken next, and nothing is taken.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from benanza_backbone.event_log.event_log import Record
from benanza_backbone.kafka.group import PartitionProgress

LOST_AFTER_S = 3.0
"""A record that comes by itself, or its predecessor, is taken well within this time."""

log = logging.getLogger(__name__)


class Redelivery:
    """Watches the partitions held.

    `taken_next` gives the offset of the event that is to be taken next from a partition, None
    where none was taken yet. `read` gives some records of a partition from an offset on, none at
    its end. `deliver` hands a record to the agent, and says whether its partition is still held.
    The record may come by itself as well. `clock` gives monotonic seconds.
    """

    def __init__(
        self,
        taken_next: Callable[[int], int | None],
        read: Callable[[int, int], Awaitable[Sequence[Record]]],
        deliver: Callable[[Record], Awaitable[bool]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._taken_next = taken_next
        self._read = read
        self._deliver = deliver
        self._clock = clock
        self._since: dict[int, tuple[int, float]] = {}

    async def look(self, progress: Mapping[int, PartitionProgress]) -> None:
        """Delivers what is below the end of a partition from which nothing was taken for
        `LOST_AFTER_S`. To be called every second or two with all partitions held.
        """
        self._since = {each: self._since[each] for each in progress if each in self._since}
        for partition, (following, end) in progress.items():
            offset = self._taken_next(partition)
            offset = following if offset is None else offset
            stood_at, since = self._since.get(partition, (-1, 0.0))
            if offset >= end:
                self._since.pop(partition, None)
            elif offset != stood_at:
                self._since[partition] = (offset, self._clock())
            elif self._clock() - since >= LOST_AFTER_S:
                await self._redeliver(partition, offset)
                del self._since[partition]

    async def _redeliver(self, partition: int, offset: int) -> None:
        while records := await self._read(partition, offset):
            log.warning(
                "events %d to %d of partition %d got lost on their way: read from the log",
                records[0].offset,
                records[-1].offset,
                partition,
            )
            for record in records:
                if not await self._deliver(record):
                    return
            offset = records[-1].offset + 1
