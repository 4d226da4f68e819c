"""How Faust reaches Kafka: addresses, TLS and SASL, a producer that repeats nothing, and patience
with a broker that goes away while the service starts.
"""

import asyncio
import ssl
import weakref
from collections.abc import AsyncIterator, Mapping
from time import monotonic
from typing import Any

import faust
from aiokafka import AIOKafkaProducer
from aiokafka.consumer import fetcher
from faust.transport.drivers import aiokafka
from faust.types import TP, Message
from faust.types.auth import CredentialsT
from mode.threads import WorkerThread

from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.batches import Batches
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_dedupe.patience import patiently
from benanza_schemas.codec import MAX_EVENT_BYTES

SMALL_BYTES = 10_000
MOST_HELD_BYTES = 2 * MAX_EVENT_BYTES
"""Of records that aren't small, and that are not done yet. One always fits."""

ROOM_S = 0.02
"""Seconds between two looks for room."""


class PatientProducer(AIOKafkaProducer):  # type: ignore[misc]  # aiokafka ships no types
    """A producer that waits for a broker when it starts."""

    async def start(self) -> None:
        """Returns when a broker has answered."""
        await patiently(super().start)


class IdempotentProducer(aiokafka.Producer):
    """What is sent again after a lost answer stands in the log once, and in order.

    Faust asks for that with transactions only.
    """

    @property
    def _producer_type(self) -> type[AIOKafkaProducer]:
        return PatientProducer

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"acks": "all", "enable_idempotence": True}


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


# aiokafka finds its reader of batches there alone.
fetcher.MemoryRecords = Batches


class PatientConsumer(aiokafka.Consumer):
    """A consumer with that thread, which commits what comes behind a gap wherever that is, and
    holds only so many bytes of large records at a time: Faust takes thousands ahead.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._held_bytes = 0

    def _new_consumer_thread(self) -> PatientThread:
        return PatientThread(self, loop=self.loop, beacon=self.beacon)

    async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, Message]]:
        """Called by Faust, which doesn't note a gap behind offset 0: it would wait for what was
        there, and commit nothing more.
        """
        async for tp, message in super().getmany(timeout):
            if self._read_offset[tp] == 0 and message.offset > 1:
                await self._add_gap(tp, 1, message.offset)
            size = len(message.value or b"")
            if size > SMALL_BYTES:
                await self._hold(message, size)
            yield tp, message

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


class Transport(aiokafka.Transport):
    """Faust's Kafka, with that consumer and that producer."""

    Consumer = PatientConsumer
    Producer = IdempotentProducer


def addresses(connection: KafkaConnection) -> list[str]:
    """The brokers, as Faust wants them."""
    return [f"kafka://{server}" for server in connection.bootstrap]


def credentials(connection: KafkaConnection) -> CredentialsT | None:
    """What proves to the brokers who this is; nothing for a plain connection.

    Raises `BenanzaError` if a certificate or key can't be read.
    """
    protocol = connection.security_protocol
    context = _tls(connection) if protocol.endswith("SSL") else None
    if protocol.startswith("SASL"):
        return faust.SASLCredentials(
            username=connection.sasl_username,
            password=connection.sasl_password,
            mechanism=connection.sasl_mechanism,
            ssl_context=context,
        )
    return faust.SSLCredentials(context=context) if context else None


def _tls(connection: KafkaConnection) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=connection.ca_file or None)
        if connection.cert_file:
            context.load_cert_chain(connection.cert_file, connection.key_file or None)
    except OSError as error:
        raise BenanzaError(
            f"can't use the TLS files for Kafka ({error}); check the files that "
            "BENANZA_KAFKA_SECURITY_… name"
        ) from error
    return context
