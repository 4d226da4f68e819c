"""Faust's producer, which waits for a broker, repeats nothing, and keeps in mind what failed."""

from asyncio import Future
from collections.abc import Awaitable, Mapping
from typing import Any, cast

from aiokafka import AIOKafkaProducer
from faust.transport.drivers import aiokafka
from faust.types.tuples import RecordMetadata

from benanza_dedupe.patience import patiently


class PatientProducer(AIOKafkaProducer):  # type: ignore[misc]  # aiokafka ships no types
    """A producer that waits for a broker when it starts."""

    async def start(self) -> None:
        """Returns when a broker has answered."""
        await patiently(super().start)


class IdempotentProducer(aiokafka.Producer):
    """What is sent again after a lost answer stands in the log once, and in order.

    Faust asks for that with transactions only. `failure` is why a record could not be written, None
    if all were.
    """

    failure: BaseException | None = None

    @property
    def _producer_type(self) -> type[AIOKafkaProducer]:
        return PatientProducer

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"acks": "all", "enable_idempotence": True}

    async def send(self, *args: Any, **options: Any) -> Awaitable[RecordMetadata]:
        """Called for each record; what it returns is done when the record is durable."""
        sent = cast(Future[RecordMetadata], await super().send(*args, **options))
        sent.add_done_callback(self._note)
        return sent

    def _note(self, sent: Future[RecordMetadata]) -> None:
        given_up = ConnectionError("the write was given up") if sent.cancelled() else None
        self.failure = self.failure or given_up or sent.exception()
