"""The Faust app: layers in, jobs out, and who owns which layer in a table.

A layer's owner and its job are two writes. A crash may come between them in either order: then
the event is read again, is still the owner or becomes it again, and its job is written again
with the same id (`core.Dedupe`). So the one thing to see to is that an event counts as
processed only after both its writes: `in_flight` does.
"""

import asyncio
import logging
from asyncio import Future
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import faust
from faust.types import TP, ConsumerMessage, EventT, StreamT
from mode.supervisors import CrashingSupervisor

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog, Message, Partition, Record
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.group import GroupProgress, PartitionProgress
from benanza_backbone.service.processor import Processor
from benanza_backbone.telemetry import LAYERS as LAYERS_TOTAL
from benanza_backbone.telemetry import RECORDS_CONSUMED, RECORDS_PRODUCED
from benanza_dedupe.broker import Transport, addresses, credentials
from benanza_dedupe.continuity import Continuity
from benanza_dedupe.core import TAKES, Dedupe
from benanza_dedupe.in_flight import InFlight
from benanza_dedupe.owners import Owners, OwnersTable, OwnersTableError
from benanza_dedupe.redelivery import Redelivery
from benanza_schemas.codec import MAX_EVENT_BYTES
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, DEDUPE
from benanza_schemas.events import BenchmarkRequested, LayerKnown, LayerSeen
from benanza_schemas.topics import DEDUPE_OWNERS, LAYERS, PARTITIONS

SESSION_TIMEOUT_S = 10.0
"""After this long without a sign of life, a member's partitions go to the others."""

HEARTBEAT_S = 3.0
LINGER_S = 0.005
"""How long a record waits for others to share its request."""

MAX_IN_FLIGHT = 1000
"""Events whose records may be on their way at a time; a few milliseconds' worth of work."""

MAX_REQUEST_BYTES = MAX_EVENT_BYTES + 100_000
"""The largest event, with its key and the frame around it."""

GROUP = CONSUMER_GROUPS[DEDUPE].name

READ_AT_ONCE = 500
RETRY_S = 2.0

log = logging.getLogger(__name__)


def create_app(connection: KafkaConnection, folder: Path) -> faust.App:
    """The Faust app without its agent. Its table lies in `folder`, for one process at a time.

    Raises `BenanzaError` if the connection's certificates can't be read.
    """
    app = faust.App(
        connection.group(GROUP),
        broker=addresses(connection),
        broker_credentials=credentials(connection),
        broker_session_timeout=SESSION_TIMEOUT_S,
        broker_heartbeat_interval=HEARTBEAT_S,
        producer_acks=-1,
        producer_linger=LINGER_S,
        producer_max_request_size=MAX_REQUEST_BYTES,
        consumer_auto_offset_reset="earliest",
        # A batch may hold millions of records, of which each is an object once it is taken.
        broker_max_poll_records=MAX_IN_FLIGHT,
        processing_guarantee="at_least_once",
        datadir=folder,
        store="rocksdb://",
        Table=OwnersTable,
        # `create_topics` makes them, with the right partitions, before the service starts.
        topic_allow_declare=False,
        topic_disable_leader=True,
        # With Faust's own web server, two services on one machine would want the same port.
        web_enabled=False,
    )
    app.transport = Transport(app.conf.broker_consumer, app)
    return app


class DedupeAgent:
    """Lets an app's layers through `core.Dedupe`.

    `clock` gives the time, in UTC. `on_failure` is called when the service has to stop: a record
    or the table can't be written, or so many events fail that the fault is hardly theirs. From
    then on no event is taken. `group` says from where the group goes on. `open_log` gives the
    event log, to read what got lost on its way here.
    """

    def __init__(
        self,
        app: faust.App,
        connection: KafkaConnection,
        clock: Callable[[], datetime],
        on_failure: Callable[[BaseException], None],
        group: GroupProgress,
        open_log: Callable[[], EventLog],
    ) -> None:
        self._app = app
        self._group = group
        self._open_log = open_log
        self._topic = connection.topic
        self._on_failure = on_failure
        self._stopping = False
        self._begun: dict[int, Record] = {}
        topic = partial(app.topic, key_serializer="raw", value_serializer="raw")
        table = app.Table(
            "owners",
            partitions=PARTITIONS[LAYERS],
            key_type=bytes,
            value_type=bytes,
            changelog_topic=topic(connection.topic(DEDUPE_OWNERS)),
        )
        # As `create_app` asks for.
        self._owners = cast(OwnersTable, table)
        self._owners.on_failure = self._fail
        self._dedupe = Dedupe(Owners(self._owners))
        self._processor = Processor(GROUP, TAKES, self._handle, clock, stops_on=(OwnersTableError,))
        self._consumed = RECORDS_CONSUMED.labels(LAYERS)
        self._new = LAYERS_TOTAL.labels("new")
        self._known = LAYERS_TOTAL.labels("known")
        self._in_flight = InFlight(MAX_IN_FLIGHT, self._fail)
        self._continuity = Continuity(self._begins_at, self._read)
        self._redelivery = Redelivery(self._continuity.next, self._read, self._deliver)
        app.on_partitions_assigned.connect(self._assigned, weak=False)
        self.agent = app.agent(
            topic(connection.topic(LAYERS)),
            name=GROUP,
            concurrency=1,
            supervisor_strategy=CrashingSupervisor,
        )(self._run)

    async def drain(self) -> None:
        """Takes no more events, and returns when those taken are done."""
        self._stopping = True
        await self._in_flight.drained()

    def begun(self) -> Sequence[Record]:
        """Of each partition, the event taken last; nothing where none was since this was asked."""
        begun, self._begun = self._begun, {}
        return list(begun.values())

    async def redeliver(self, progress: Mapping[int, PartitionProgress]) -> None:
        """Takes what Faust has lost of the partitions held, of which this is the progress now."""
        await self._redelivery.look(progress)

    async def _run(self, stream: StreamT[bytes]) -> None:
        """Faust takes an event whose agent raises for done, so nothing may get out of here."""
        events = cast("faust.Stream[bytes]", stream).noack()
        async for _ in events:
            event = events.current_event
            if event is None:
                continue
            try:
                await self._take(event)
            except Exception as error:  # noqa: BLE001  # it stops the service, with this error
                self._fail(error)

    async def _take(self, event: EventT[bytes]) -> None:
        message = event.message
        async for lost in self._continuity.lacking(message.partition, message.offset):
            # Faust commits nothing behind an event that isn't acknowledged.
            await self._process(lost, partial(self._acknowledge, lost))
        if self._stopping:
            # It counts as neither processed nor in work, for which a stop would wait.
            message.acked = True
        else:
            await self._process(_record(event), event.ack)

    async def _process(self, record: Record, acknowledge: Callable[[], object]) -> None:
        self._begun[record.partition.number] = record
        messages = self._processor.process(record)
        writes = await self._owners.publish()
        writes += [await self._send(message) for message in messages]
        await self._in_flight.add(partial(self._done, messages, acknowledge), writes)
        self._processor.check()

    async def _assigned(self, *_: Any, **__: Any) -> None:
        self._continuity.reset()
        self._begun.clear()

    async def _begins_at(self, partition: int) -> int:
        asked = Partition(LAYERS, partition)
        while True:
            try:
                return (await asyncio.to_thread(self._group.of, [asked]))[asked].following
            except BenanzaError as error:
                log.warning("asking again where partition %s begins: %s", partition, error)
                await asyncio.sleep(RETRY_S)

    async def _deliver(self, record: Record) -> bool:
        """Puts a record where Faust puts what it has fetched; whether its partition is held."""
        message = self._message(record)
        if message.tp not in self._app.consumer.assignment():
            return False
        await self._app.topics.on_message(message)
        return True

    def _acknowledge(self, record: Record) -> None:
        """Tells Faust that a record is done that it has lost."""
        self._app.consumer.ack(self._message(record))

    def _message(self, record: Record) -> ConsumerMessage:
        """A record as Faust fetches it."""
        at = TP(self._topic(LAYERS), record.partition.number)
        return ConsumerMessage(
            topic=at.topic,
            partition=at.partition,
            offset=record.offset,
            timestamp=record.timestamp.timestamp(),
            timestamp_type=0,
            headers=None,
            key=record.key,
            value=record.value,
            checksum=None,
            tp=at,
            # What was fetched before partitions changed hands is not taken afterwards.
            generation_id=self._app.consumer_generation_id,
        )

    async def _read(self, partition: int, offset: int) -> Sequence[Record]:
        """Waits for the brokers as long as it takes; empty only at the partition's end, or when
        the service is to stop."""
        while not self._stopping:
            try:
                return await asyncio.to_thread(self._read_log, Partition(LAYERS, partition), offset)
            except BenanzaError as error:
                log.warning("reading again what got lost: %s", error)
                await asyncio.sleep(RETRY_S)
        return []

    def _read_log(self, partition: Partition, offset: int) -> Sequence[Record]:
        # Opened for each of the few times that it is needed.
        with self._open_log() as event_log:
            return event_log.read(partition, offset, READ_AT_ONCE)

    def _handle(self, event: LayerSeen | LayerKnown) -> list[BenchmarkRequested]:
        jobs = self._dedupe.handle(event)
        if isinstance(event, LayerSeen):
            (self._new if jobs else self._known).inc()
        return jobs

    async def _send(self, message: Message) -> Future[Any]:
        sent = await self._app.producer.send(
            self._topic(message.topic), message.key, message.value, None, None, None
        )
        return asyncio.ensure_future(sent)

    def _done(self, messages: list[Message], acknowledge: Callable[[], object]) -> None:
        acknowledge()
        self._consumed.inc()
        for message in messages:
            RECORDS_PRODUCED.labels(message.topic).inc()

    def _fail(self, error: BaseException) -> None:
        self._stopping = True
        self._on_failure(error)


def _record(event: EventT[bytes]) -> Record:
    message = event.message
    return Record(
        partition=Partition(LAYERS, message.partition),
        offset=message.offset,
        timestamp=datetime.fromtimestamp(message.timestamp, UTC),
        key=message.key or b"",
        value=message.value or b"",
    )
