"""What a wait for the services outlasts."""

import pytest

from benanza.publishing import wait
from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.errors import CoordinatorAwaitedError


def test_brokers_that_are_choosing_a_coordinator_are_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wait, "EVERY_S", 0.01)
    times = 0

    def ask() -> dict[str, int]:
        nonlocal times
        times += 1
        if times < 3:
            raise CoordinatorAwaitedError("Kafka answers, and is still choosing")
        return {"runner": 1}

    assert wait._settled(ask) == {"runner": 1}


def test_brokers_that_are_away_are_an_error() -> None:
    def ask() -> dict[str, int]:
        raise BenanzaError("no Kafka broker answers")

    with pytest.raises(BenanzaError):
        wait._settled(ask)
