"""A client of Kafka starts as soon as a broker answers."""

import asyncio

import pytest
from aiokafka.errors import KafkaConnectionError

from benanza_dedupe import patience
from benanza_dedupe.patience import patiently


def test_it_tries_again_until_a_broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "RETRY_S", 0.0)
    tries = 0

    async def start() -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise KafkaConnectionError("nobody answers")

    asyncio.run(patiently(start))
    assert tries == 3


def test_other_errors_than_of_the_connection_are_not_for_patience() -> None:
    async def start() -> None:
        raise ValueError("no such setting")

    with pytest.raises(ValueError, match="no such setting"):
        asyncio.run(patiently(start))
