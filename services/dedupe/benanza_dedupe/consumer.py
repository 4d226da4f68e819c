"""Faust's consumer without what loses records (Faust 0.15.3, aiokafka 0.14.0), and with patience.

An assignment of partitions begins where the group has committed: aiokafka sees to that. Faust takes
none of their records until the table is read, so none may be fetched until then either: what it
drops isn't fetched again.
"""

import asyncio
import weakref
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, cast

from aiokafka import AIOKafkaConsumer
from aiokafka.consumer import fetcher
from faust.transport.consumer import RecordMap
from faust.transport.drivers import aiokafka
from faust.types import TP, Message
from mode import ServiceT
from mode.threads import WorkerThread

from benanza_backbone.kafka.batches import Batches
from benanza_dedupe.patience import patiently
from benanza_dedupe.producer import IdempotentProducer
from benanza_schemas.codec import MAX_EVENT_BYTES

SMALL_BYTES = 10_000
MOST_HELD_BYTES = 2 * MAX_EVENT_BYTES
"""Of records that aren't small, and that are not done yet. One always fits."""

ROOM_S = 0.02
"""Seconds between two looks for room."""

FETCH_S = 1.0
"""So long a fetch waits for records."""

TURN_EVERY = 100
"""Records, after which whatever else waits in the event loop has its turn."""


class DaemonThread(WorkerThread):
    """A thread that doesn't keep its process alive.

    Where the app crashes while it answers this thread, Faust leaves the thread waiting for the
    answer for ever.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.daemon = True


class PatientThread(aiokafka.AIOKafkaConsumerThread):
    """The thread of a consumer that waits for a broker when it starts."""

    Worker = DaemonThread

    async def on_start(self) -> None:
        """Does what Faust's does."""
        self._consumer = self._create_consumer(loop=self.thread_loop)
        self.time_started = monotonic()
        await patiently(self._consumer.start)

    async def _fetch_records(
        self,
        consumer: AIOKafkaConsumer,
        active_partitions: set[TP],
        timeout: float | None = None,
        max_records: int | None = None,
    ) -> RecordMap:
        """Called by Faust, with the partitions that are active as it asks.

        While it waits for records itself, partitions are paused or change hands; yet it fetches
        from those that were active, or from all of them once the set that it was given is empty.
        """
        records = await self._fetched(consumer, max_records)
        if not records:
            with suppress(TimeoutError):
                await asyncio.wait_for(consumer._fetcher._create_fetch_waiter(), timeout)
            records = await self._fetched(consumer, max_records)
        return records

    async def _fetched(self, consumer: AIOKafkaConsumer, max_records: int | None) -> RecordMap:
        """What is there already of the partitions that are active now."""
        active = self.consumer._active_partitions - self.consumer._paused_partitions
        if not active or consumer._subscription.reassignment_in_progress:
            return {}
        return await super()._fetch_records(consumer, active, 0, max_records)


# aiokafka finds its reader of batches there alone.
fetcher.MemoryRecords = Batches


class PatientConsumer(aiokafka.Consumer):
    """A consumer with that thread, which goes back to nothing, commits nothing ahead of what was
    sent, and holds only so many bytes of large records at a time: Faust takes thousands ahead.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._held_bytes = 0
        self._resuming: set[TP] = set()

    def _new_consumer_thread(self) -> PatientThread:
        return PatientThread(self, loop=self.loop, beacon=self.beacon)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Called by Faust. What it knows of the former assignment holds no more."""
        self.stop_flow()  # until the table is read, also where no partition was held before
        for book in (self._gap, self._acked, self._acked_index):
            book.clear()
        self._read_offset.clear()
        self._committed_offset.clear()
        self._resuming.clear()
        await super().on_partitions_assigned(assigned, generation_id)

    async def perform_seek(self) -> None:
        """Called by Faust to go back to what is committed, which is where aiokafka has begun.

        Records are on their way meanwhile. Taken after it has gone back they look as if the log had
        a gap before them, and are committed with what the gap hides.
        """

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """Called by Faust. Those of layers wait for the flow, which it resumes a moment later: just
        before that it empties the agent's queue, and what was handed on by then would be lost.
        """
        of_tables = {tp for tp in tps if self._is_changelog_tp(tp)}
        self._resuming |= {*tps} - of_tables
        super().resume_partitions(of_tables)

    def pause_partitions(self, tps: Iterable[TP]) -> None:
        """Called by Faust."""
        self._resuming -= {*tps}
        super().pause_partitions(tps)

    def resume_flow(self) -> None:
        """Called by Faust."""
        super().resume_partitions(self._resuming)
        self._resuming = set()
        super().resume_flow()

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        """Called by Faust with the offsets of what was acknowledged, once all that was sent by then
        is durable or has failed: then nothing is committed any more, and the app ends.
        """
        if failure := cast(IdempotentProducer, self.app.producer).failure:
            await self.crash(failure)
            return False
        return await super()._commit(offsets)

    async def _drain_messages(self, fetcher: ServiceT) -> None:
        """Called by Faust, to hand on what is fetched until the fetcher stops.

        Faust makes four tasks for each record, so that a change of partitions ends a wait for room
        in the agent's queue. Here they are made once for all records of a fetch.
        """
        ends: tuple[type[BaseException], ...]
        ends = (*self.consumer_stopped_errors, asyncio.CancelledError)
        try:
            while not (self.should_stop or fetcher.should_stop):
                await asyncio.sleep(0)
                fetched = deque([entry async for entry in self.getmany(timeout=FETCH_S)])
                await self.wait_first(self._hand_on(fetched), self.suspend_flow.wait())
        except ends:
            if not self.app.should_stop:
                raise

    async def _hand_on(self, fetched: deque[tuple[TP, Message]]) -> None:
        """Hands records to who reads them, in order, as long as the partitions stay the same.

        They leave the queue, since those that are large count until they are gone.
        """
        while fetched:
            if len(fetched) % TURN_EVERY == 0:
                await asyncio.sleep(0)
            tp, message = fetched.popleft()
            size = len(message.value or b"")
            if size > SMALL_BYTES:
                await self._hold(message, size)
            if not self.flow_active or message.generation_id != self.app.consumer_generation_id:
                return
            read = self._read_offset[tp]
            if read is not None and message.offset < read:
                continue
            gap = read is not None and range(read + 1, message.offset)
            if gap and self.app.topics.acks_enabled_for(message.topic):
                # Such as `Batches` leaves. A commit would wait for what was there.
                await self._add_gap(tp, gap[0], gap[-1])
            await self.callback(message)
            self._read_offset[tp] = message.offset

    async def _hold(self, message: Message, size: int) -> None:
        """Waits until there is room for the message, which it takes until it is gone."""
        if not self.app.topics.acks_enabled_for(message.topic):
            message.value = b""  # of the table's changelog, where Faust keeps a thousand: no owner
            return
        while self._held_bytes + size > MOST_HELD_BYTES and not self.should_stop:
            await asyncio.sleep(ROOM_S)
        self._held_bytes += size
        weakref.finalize(message, self._release, size)

    def _release(self, size: int) -> None:
        self._held_bytes -= size
