"""Whatever the Kafka client does while its connection breaks, the service says how it is."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import faust
import pytest
from faust.types import TP

from benanza_backbone.event_log import Partition, Record
from benanza_backbone.telemetry import CONSUMER_LAG, OLDEST_UNPROCESSED, REGISTRY
from benanza_dedupe import watch
from benanza_dedupe.agent import DedupeAgent
from benanza_dedupe.watch import Watch

HELD = TP("layers", 0)
LAG = "benanza_consumer_lag_records"
LABELS = {"topic": "layers", "partition": "0", "group": "dedupe"}
OLDEST = "benanza_oldest_unprocessed_timestamp_seconds"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
BEGUN = Record(Partition("layers", 0), 3, NOON, b"key", b"value")


@pytest.fixture(autouse=True)
def nothing_shown() -> None:
    CONSUMER_LAG.clear()
    OLDEST_UNPROCESSED.clear()


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


def app_with(consumer: Broken) -> Any:
    """What is asked of a Faust app, which does its work."""
    return SimpleNamespace(
        consumer=consumer,
        started=True,
        rebalancing=False,
        in_recovery=False,
        flow_control=SimpleNamespace(is_active=lambda: True),
        on_partitions_assigned=SimpleNamespace(connect=lambda *_, **__: None),
    )


def watching(app: Any, processed: dict[int, int]) -> Watch:
    agent: Any = SimpleNamespace(processed=processed, begun=lambda: [BEGUN])
    return Watch(cast(faust.App, app), cast(DedupeAgent, agent), "layers")


def watching_over(consumer: Broken, processed: dict[int, int]) -> Watch:
    return watching(app_with(consumer), processed)


def lag() -> float | None:
    return REGISTRY.get_sample_value(LAG, LABELS)


def oldest() -> float | None:
    return REGISTRY.get_sample_value(OLDEST, {"topic": "layers", "group": "dedupe"})


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
        await state._refresh()
        return lag()

    assert asyncio.run(looks_once()) == waiting


@pytest.mark.parametrize("answer", [hangs, hangs_for_good, is_given_up, breaks])
def test_while_kafka_is_away_nothing_is_shown_to_wait(
    answer: Callable[[], Awaitable[dict[TP, int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "ANSWER_S", 0.05)
    consumer = Broken()
    state = watching_over(consumer, {0: 4})

    async def breaks_and_mends() -> None:
        await state._refresh()
        assert (lag(), oldest()) == (6, NOON.timestamp())
        consumer.answer = answer
        await state._refresh()
        assert (lag(), oldest()) == (None, None)
        consumer.answer = answers
        await state._refresh()
        assert (lag(), oldest()) == (6, NOON.timestamp())

    asyncio.run(breaks_and_mends())


@pytest.mark.parametrize("busy", ["rebalancing", "in_recovery"])
def test_while_no_layers_can_be_taken_nothing_is_shown_to_wait(busy: str) -> None:
    app = app_with(Broken())
    state = watching(app, {0: 4})

    async def comes_and_goes() -> None:
        await state._refresh()
        assert (lag(), oldest()) == (6, NOON.timestamp())
        setattr(app, busy, True)
        await state._refresh()
        assert (lag(), oldest()) == (None, None)

    asyncio.run(comes_and_goes())


def test_where_nothing_waits_no_event_is_old() -> None:
    state = watching_over(Broken(), {0: 10})
    asyncio.run(state._refresh())
    assert (lag(), oldest()) == (0, None)
