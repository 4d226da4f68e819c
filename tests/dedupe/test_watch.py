"""Whatever the Kafka client does while its connection breaks, the service says how it is."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import faust
import pytest
from faust.types import TP

from benanza_backbone.telemetry import REGISTRY
from benanza_dedupe import watch
from benanza_dedupe.agent import DedupeAgent
from benanza_dedupe.watch import Watch

HELD = TP("layers", 0)
LAG = "benanza_consumer_lag_records"
LABELS = {"topic": "layers", "partition": "0", "group": "dedupe"}


class Broken:
    """A consumer that answers as it is told to."""

    def __init__(self) -> None:
        self.answer: Callable[[], Awaitable[dict[TP, int]]] = answers

    def assignment(self) -> set[TP]:
        return {HELD}

    async def ends(self, *_: TP) -> dict[TP, int]:
        return await self.answer()

    async def begins_at(self, _: TP) -> int:
        return 3

    async def position(self, _: TP) -> int:
        return 10  # Everything is fetched already.


async def answers() -> dict[TP, int]:
    return {HELD: 10}


async def hangs() -> dict[TP, int]:
    await asyncio.sleep(1000)
    return {}


async def hangs_for_good() -> dict[TP, int]:
    """As Faust's services do, which swallow a cancellation."""
    while True:
        try:
            await asyncio.sleep(0.2)
            return {}
        except asyncio.CancelledError:
            continue


async def is_given_up() -> dict[TP, int]:
    raise asyncio.CancelledError


async def breaks() -> dict[TP, int]:
    raise RuntimeError("the thread has ended")


def watching_over(consumer: Broken, processed: dict[int, int]) -> Watch:
    app: Any = SimpleNamespace(
        consumer=consumer,
        started=True,
        rebalancing=False,
        in_recovery=False,
        flow_control=SimpleNamespace(is_active=lambda: True),
        on_partitions_assigned=SimpleNamespace(connect=lambda *_, **__: None),
    )
    agent: Any = SimpleNamespace(processed=processed)
    return Watch(cast(faust.App, app), cast(DedupeAgent, agent), "layers")


async def becomes(state: Watch, kafka: bool) -> None:
    async with asyncio.timeout(5):
        while {check.name: check.ok for check in state.readiness()}["Kafka"] != kafka:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("answer", [hangs, hangs_for_good, is_given_up, breaks])
def test_a_broker_that_does_not_answer_is_seen_and_so_is_its_return(
    answer: Callable[[], Awaitable[dict[TP, int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "INTERVAL_S", 0.01)
    monkeypatch.setattr(watch, "ANSWER_S", 0.05)
    consumer = Broken()
    state = watching_over(consumer, {0: 4})

    async def breaks_and_mends() -> None:
        watching = asyncio.create_task(state.run())
        await becomes(state, kafka=True)
        consumer.answer = answer
        await becomes(state, kafka=False)
        consumer.answer = answers
        await becomes(state, kafka=True)
        watching.cancel()

    asyncio.run(breaks_and_mends())


def test_an_error_of_fausts_does_not_end_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last answer would stand for ever."""
    monkeypatch.setattr(watch, "INTERVAL_S", 0.01)
    state = watching_over(Broken(), {0: 4})
    broken = True

    def recovered() -> bool:
        if broken:
            raise RuntimeError("the connection breaks")
        return True

    async def breaks_and_mends() -> None:
        nonlocal broken
        with monkeypatch.context() as patch:
            patch.setattr(state, "_recovered", recovered)
            watching = asyncio.create_task(state.run())
            async with asyncio.timeout(5):
                while state._answers:
                    await asyncio.sleep(0.01)
            broken = False
            await becomes(state, kafka=True)
            watching.cancel()

    asyncio.run(breaks_and_mends())


@pytest.mark.parametrize(("processed", "waiting"), [({0: 4}, 6), ({}, 7)])
def test_what_is_fetched_and_not_processed_still_waits(
    processed: dict[int, int], waiting: int
) -> None:
    state = watching_over(Broken(), processed)

    async def looks_once() -> float | None:
        watched = asyncio.create_task(state.run())
        await becomes(state, kafka=True)
        while (lag := REGISTRY.get_sample_value(LAG, LABELS)) is None:
            await asyncio.sleep(0.01)
        watched.cancel()
        return lag

    assert asyncio.run(looks_once()) == waiting
