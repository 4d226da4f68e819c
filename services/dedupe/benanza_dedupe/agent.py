"""The Faust app: layers in, jobs out, and who owns which layer in a table.

A layer's owner and its job are two writes. A crash may come between them in either order: then
the event is read again, is still the owner or becomes it again, and its job is written again
with the same id (`core.Dedupe`). So the one thing to see to is that an event is committed
only after both its writes. Faust waits for all that was sent before it commits; `consumer` sees to
it that nothing is committed where a write has failed.
"""

from asyncio import Future
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import faust
from faust.types import EventT, StreamT
from mode.supervisors import CrashingSupervisor

from benanza_backbone.event_log.event_log import Message, Partition, Record
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.service.processor import Processor
from benanza_backbone.telemetry import LAYERS as LAYERS_TOTAL
from benanza_backbone.telemetry import RECORDS_CONSUMED, RECORDS_PRODUCED
from benanza_dedupe.broker import Transport, addresses, credentials
from benanza_dedupe.core import TAKES, Dedupe
from benanza_dedupe.owners import Owners, OwnersTable, OwnersTableError
from benanza_schemas.codec import MAX_EVENT_BYTES
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, DEDUPE
from benanza_schemas.events import BenchmarkRequested, LayerKnown, LayerSeen
from benanza_schemas.topics import DEDUPE_OWNERS, LAYERS, PARTITIONS

SESSION_TIMEOUT_S = 10.0
"""After this long without a sign of life, a member's partitions go to the others."""

HEARTBEAT_S = 3.0
LINGER_S = 0.005
"""How long a record waits for others to share its request."""

MAX_TAKEN = 1000
"""Records taken at a time from those fetched. A batch may hold millions, of which each is an object
once it is taken."""

MAX_REQUEST_BYTES = MAX_EVENT_BYTES + 100_000
"""The largest event, with its key and the frame around it."""

GROUP = CONSUMER_GROUPS[DEDUPE].name


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
        broker_max_poll_records=MAX_TAKEN,
        processing_guarantee="at_least_once",
        datadir=folder,
        store="rocksdb://",
        Table=OwnersTable,
        # `create_topics` makes them, with the right partitions, before the service starts.
        topic_allow_declare=False,
        topic_disable_leader=True,
        # With Faust's own web server, two services on one machine would want the same port.
        web_enabled=False,
        cython_optimizations=True,
    )
    app.transport = Transport(app.conf.broker_consumer, app)
    return app


class DedupeAgent:
    """Lets an app's layers through `core.Dedupe`.

    `clock` gives the time, in UTC. `on_failure` is called when the service has to stop: the table
    can't be written, or so many events fail that the fault is hardly theirs. From then on no event
    is taken. Where a record can't be written, the app crashes.
    """

    def __init__(
        self,
        app: faust.App,
        connection: KafkaConnection,
        clock: Callable[[], datetime],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._app = app
        self._topic = connection.topic
        self._on_failure = on_failure
        self._failed = False
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
        app.on_partitions_assigned.connect(self._assigned, weak=False)
        self.agent = app.agent(
            topic(connection.topic(LAYERS)),
            name=GROUP,
            concurrency=1,
            supervisor_strategy=CrashingSupervisor,
        )(self._run)

    def begun(self) -> Sequence[Record]:
        """Of each partition, the event taken last; nothing where none was since this was asked."""
        begun, self._begun = self._begun, {}
        return list(begun.values())

    async def _run(self, stream: StreamT[bytes]) -> None:
        """Faust takes an event whose agent raises for done, so nothing may get out of here."""
        events = cast("faust.Stream[bytes]", stream).noack()
        async for _ in events:
            event = events.current_event
            if event is None:
                continue
            try:
                if not self._failed:
                    await self._take(event)
            except Exception as error:  # noqa: BLE001  # it stops the service, with this error
                self._fail(error)
            if self._failed:
                # Not committed, and nothing that a stop would wait for.
                event.message.acked = True

    async def _take(self, event: EventT[bytes]) -> None:
        record = _record(event)
        self._begun[record.partition.number] = record
        messages = self._processor.process(record)
        await self._owners.publish()
        for message in messages:
            topic = self._topic(message.topic)
            sent = cast(
                Future[Any],
                await self._app.producer.send(topic, message.key, message.value, None, None, None),
            )
            # Has the event until then, since `PatientConsumer` counts the bytes of those that are.
            sent.add_done_callback(partial(self._sent, message, event))
        event.ack()
        self._consumed.inc()
        self._processor.check()

    def _sent(self, message: Message, _event: EventT[bytes], _sent: Future[Any]) -> None:
        RECORDS_PRODUCED.labels(message.topic).inc()

    async def _assigned(self, *_: Any, **__: Any) -> None:
        self._begun.clear()

    def _handle(self, event: LayerSeen | LayerKnown) -> list[BenchmarkRequested]:
        jobs = self._dedupe.handle(event)
        if isinstance(event, LayerSeen):
            (self._new if jobs else self._known).inc()
        return jobs

    def _fail(self, error: BaseException) -> None:
        self._failed = True
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
