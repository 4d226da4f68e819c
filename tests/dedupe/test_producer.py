"""What became of what was sent is kept in mind."""

import asyncio
from asyncio import Future
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from faust.transport.drivers import aiokafka

from benanza_backbone.kafka.connection import KafkaConnection
from benanza_dedupe.agent import create_app
from benanza_dedupe.producer import IdempotentProducer, PatientProducer
from tests.kafka_broker import KafkaBroker

TOO_LARGE, AWAY = ValueError("too large"), ConnectionError("the broker is away")
Ending = Callable[["Future[None]"], object]


@pytest.mark.parametrize(
    ("endings", "failure"),
    [
        ([lambda sent: sent.set_result(None)], ""),
        ([lambda sent: sent.set_exception(AWAY)], "the broker is away"),
        ([lambda sent: sent.cancel()], "the write was given up"),
        (
            [
                lambda sent: sent.set_exception(TOO_LARGE),
                lambda sent: sent.set_result(None),
                lambda sent: sent.set_exception(AWAY),
            ],
            "too large",
        ),
    ],
    ids=["written", "failed", "given up", "the first counts"],
)
def test_a_record_that_was_not_written_is_kept_in_mind(
    endings: list[Ending], failure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def send(*_: object, **__: object) -> "Future[None]":
        return Future()

    async def sends() -> None:
        app = create_app(KafkaConnection(bootstrap=("127.0.0.1:1",)), tmp_path)
        app.finalize()
        producer = cast(IdempotentProducer, app.producer)
        for ends in endings:
            sent = cast("Future[Any]", await producer.send("jobs", b"", b"", None, None, None))
            ends(sent)
            await asyncio.sleep(0)
        assert str(producer.failure or "") == failure

    monkeypatch.setattr(aiokafka.Producer, "send", send)
    asyncio.run(sends())


@pytest.mark.integration
@pytest.mark.usefixtures("broker_can_start")
def test_a_client_starts_once_a_broker_answers(tmp_path: Path) -> None:
    """One that went away since its topics were looked at ended the service before."""
    broker = KafkaBroker(tmp_path)

    async def start() -> None:
        producer = PatientProducer(bootstrap_servers=broker.bootstrap)
        starting = asyncio.create_task(producer.start())
        await asyncio.sleep(0.5)
        assert not starting.done(), "nobody answers yet"
        await asyncio.to_thread(broker.start)
        await starting
        await producer.stop()

    try:
        asyncio.run(start())
    finally:
        broker.stop()
