"""How Faust reaches Kafka: addresses, TLS and SASL, and a producer that repeats nothing."""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any

import faust
from faust.transport.drivers import aiokafka
from faust.types import TP
from faust.types.auth import CredentialsT

from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka_connection import KafkaConnection


class IdempotentProducer(aiokafka.Producer):
    """What is sent again after a lost answer stands in the log once, and in order.

    Faust asks for that with transactions only.
    """

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"acks": "all", "enable_idempotence": True}


GIVEN_UP_AFTER_S = 4.0


class Consumer(aiokafka.Consumer):
    """One that says where its group's reading begins, and where partitions end.

    Raises `TimeoutError` where the brokers don't say so in `GIVEN_UP_AFTER_S`. Faust's thread for
    the consumer does two things at once at most; a question without a broker may take for ever,
    and would keep it from committing. So it is given up there, and not where it is waited for.
    """

    async def begins_at(self, tp: TP) -> int:
        """The offset that the group has committed, or else the first one there is."""
        committed = await self._ask("committed", tp)
        if committed is not None:
            return int(committed)
        return int((await self._ask("beginning_offsets", [tp]))[tp])

    async def ends(self, *tps: TP) -> Mapping[TP, int]:
        """The offset behind the last record of each partition."""
        found: Mapping[TP, int] = await self._ask("end_offsets", tps)
        return found

    async def _ask(self, question: str, *about: Any) -> Any:
        thread = self._thread

        async def answer() -> Any:
            asked = getattr(thread._ensure_consumer(), question)(*about)
            try:
                return await asyncio.wait_for(asked, GIVEN_UP_AFTER_S)
            except TimeoutError as error:
                raise TimeoutError(f"{question}: nothing in {GIVEN_UP_AFTER_S:g} s") from error

        return await thread.call_thread(answer)


class Transport(aiokafka.Transport):
    """Faust's Kafka, with that producer and that consumer."""

    Consumer = Consumer
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
