"""Whatever the Kafka client does while its connection breaks, the service says how it is."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import faust
import pytest
from faust.exceptions import ConsumerNotStarted
from faust.types import TP

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Partition, Record
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.errors import CoordinatorAwaitedError
from benanza_backbone.kafka.group import GroupProgress, PartitionProgress
from benanza_backbone.service import standstill
from benanza_backbone.service.standstill import StandstillError
from benanza_backbone.telemetry import CONSUMER_LAG, OLDEST_UNPROCESSED, REGISTRY
from benanza_dedupe import watch
from benanza_dedupe.agent import DedupeAgent
from benanza_dedupe.watch import Watch

HELD = Partition("layers", 0)
LAG = "benanza_consumer_lag_records"
LABELS = {"topic": "layers", "partition": "0", "group": "dedupe"}
OLDEST = "benanza_oldest_unprocessed_timestamp_seconds"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
BEGUN = Record(HELD, 3, NOON, b"key", b"value")


@pytest.fixture(autouse=True)
def nothing_shown() -> None:
    CONSUMER_LAG.clear()
    OLDEST_UNPROCESSED.clear()


class Brokers(GroupProgress):
    """They answer as they are told to. A question that hangs is given up once they are mended."""

    def __init__(self) -> None:
        super().__init__(KafkaConnection(bootstrap=("127.0.0.1:1",)), "dedupe")
        self.mended = Event()
        self.broken: Callable[[], None] | None = None
        self.progress = PartitionProgress(4, 10)

    def of(self, partitions: Iterable[Partition]) -> dict[Partition, PartitionProgress]:
        if self.broken:
            self.broken()
        return dict.fromkeys(partitions, self.progress)

    def hang(self) -> None:
        self.mended.wait(60)
        raise BenanzaError("nothing in 5 s")

    def refuse(self) -> None:
        raise BenanzaError("no Kafka broker answers")

    def fail(self) -> None:
        raise RuntimeError("the thread has ended")

    def breaks(self, how: str) -> None:
        self.mended.clear()
        self.broken = {"hang": self.hang, "refuse": self.refuse, "fail": self.fail}[how]

    def mends(self) -> None:
        self.broken = None
        self.mended.set()


class Agent:
    """An agent with one event in work."""

    def begun(self) -> list[Record]:
        return [BEGUN]


class Recovery:
    """How far the table's recovery is."""

    in_recovery = False
    left = 0

    def active_remaining_total(self) -> int:
        return self.left


def app_at_work() -> Any:
    """What is asked of a Faust app, which does its work."""
    return SimpleNamespace(
        consumer=SimpleNamespace(assignment=lambda: {TP("layers", 0), TP("dedupe-owners", 0)}),
        started=True,
        rebalancing=False,
        in_recovery=False,
        flow_control=SimpleNamespace(is_active=lambda: True),
        on_partitions_assigned=SimpleNamespace(connect=lambda *_, **__: None),
        tables=SimpleNamespace(recovery=Recovery()),
    )


class Watched:
    """A watch, and all that it looks at."""

    def __init__(self) -> None:
        self.app = app_at_work()
        self.agent = Agent()
        self.brokers = Brokers()
        self.standstills: list[StandstillError] = []
        self.state = Watch(
            cast(faust.App, self.app),
            cast(DedupeAgent, self.agent),
            self.brokers,
            "layers",
            self.standstills.append,
        )

    async def looks(self) -> None:
        await self.state._look()

    async def becomes(self, kafka: bool) -> None:
        async with asyncio.timeout(5):
            while {check.name: check.ok for check in self.state.readiness()}["Kafka"] != kafka:
                await asyncio.sleep(0.01)


def lag() -> float | None:
    return REGISTRY.get_sample_value(LAG, LABELS)


def oldest() -> float | None:
    return REGISTRY.get_sample_value(OLDEST, {"topic": "layers", "group": "dedupe"})


@pytest.mark.parametrize("how", ["hang", "refuse", "fail"])
def test_brokers_that_do_not_answer_are_seen_and_so_is_their_return(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "INTERVAL_S", 0.01)
    monkeypatch.setattr(watch, "ANSWER_S", 0.05)
    there = Watched()

    async def breaks_and_mends() -> None:
        watching = asyncio.create_task(there.state.run())
        for _ in range(2):
            await there.becomes(kafka=True)
            there.brokers.breaks(how)
            await there.becomes(kafka=False)
            there.brokers.mends()
        await there.becomes(kafka=True)
        watching.cancel()

    asyncio.run(breaks_and_mends())


def test_brokers_that_have_chosen_no_coordinator_yet_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is so for some seconds on a new cluster."""
    there = Watched()

    def choosing() -> None:
        raise CoordinatorAwaitedError("Kafka answers, and is still choosing")

    there.brokers.broken = choosing
    with caplog.at_level("WARNING"):
        asyncio.run(there.looks())
    (kafka,) = (check for check in there.state.readiness() if check.name == "Kafka")
    assert not kafka.ok
    assert kafka.detail.startswith("answers, and is still choosing a broker")
    assert not caplog.records
    there.brokers.mends()
    asyncio.run(there.looks())
    assert all(check.ok for check in there.state.readiness())


def test_who_asks_before_the_consumer_has_started_is_told_that_it_is_not_ready() -> None:
    """The app counts as started before the thread of its consumer runs."""
    there = Watched()

    def not_started() -> set[TP]:
        raise ConsumerNotStarted("Consumer thread not yet started")

    there.app.consumer.assignment = not_started
    assert not all(check.ok for check in there.state.readiness())
    asyncio.run(there.looks())


def test_an_open_question_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would hold a thread for as long as the brokers are away."""
    monkeypatch.setattr(watch, "INTERVAL_S", 0.01)
    there = Watched()
    there.brokers.breaks("hang")
    asked = 0

    def counted() -> None:
        nonlocal asked
        asked += 1
        there.brokers.hang()

    there.brokers.broken = counted

    async def hangs() -> None:
        watching = asyncio.create_task(there.state.run())
        await asyncio.sleep(0.1)
        watching.cancel()
        there.brokers.mends()

    asyncio.run(hangs())
    assert asked == 1


def test_an_error_of_fausts_does_not_end_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last answer would stand for ever."""
    monkeypatch.setattr(watch, "INTERVAL_S", 0.01)
    there = Watched()
    broken = True

    def recovered() -> bool:
        if broken:
            raise RuntimeError("the connection breaks")
        return True

    async def breaks_and_mends() -> None:
        nonlocal broken
        with monkeypatch.context() as patch:
            patch.setattr(there.state, "_recovered", recovered)
            watching = asyncio.create_task(there.state.run())
            async with asyncio.timeout(5):
                while not there.state._problem:
                    await asyncio.sleep(0.01)
            broken = False
            await there.becomes(kafka=True)
            watching.cancel()

    asyncio.run(breaks_and_mends())


def test_what_is_not_committed_waits() -> None:
    there = Watched()
    asyncio.run(there.looks())
    assert lag() == 6


@pytest.mark.parametrize("how", ["refuse", "fail"])
def test_while_kafka_is_away_nothing_is_shown_to_wait(how: str) -> None:
    there = Watched()

    async def breaks_and_mends() -> None:
        await there.looks()
        assert (lag(), oldest()) == (6, NOON.timestamp())
        there.brokers.breaks(how)
        await there.looks()
        assert (lag(), oldest()) == (None, None)
        there.brokers.mends()
        await there.looks()
        assert (lag(), oldest()) == (6, NOON.timestamp())

    asyncio.run(breaks_and_mends())


@pytest.mark.parametrize("busy", ["rebalancing", "in_recovery"])
def test_while_no_layers_can_be_taken_nothing_is_shown_to_wait(busy: str) -> None:
    there = Watched()

    async def comes_and_goes() -> None:
        await there.looks()
        assert (lag(), oldest()) == (6, NOON.timestamp())
        setattr(there.app, busy, True)
        await there.looks()
        assert (lag(), oldest()) == (None, None)

    asyncio.run(comes_and_goes())


def test_where_nothing_waits_no_event_is_old() -> None:
    there = Watched()
    there.brokers.progress = PartitionProgress(10, 10)
    asyncio.run(there.looks())
    assert (lag(), oldest()) == (0, None)


@pytest.mark.parametrize("busy", [None, "rebalancing", "in_recovery"])
def test_who_does_nothing_while_events_wait_is_to_end(
    busy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standstill, "NOT_READY_S", 0.0)
    monkeypatch.setattr(standstill, "STANDSTILL_S", 0.02)
    there = Watched()
    if busy:
        setattr(there.app, busy, True)

    async def stands_still() -> None:
        async with asyncio.timeout(5):
            while not there.standstills:
                await there.looks()
                await asyncio.sleep(0.005)

    asyncio.run(stands_still())
    assert str(there.standstills[0]).startswith("none of 6 waiting records was processed for")
    assert not {check.name: check.ok for check in there.state.readiness()}["work"]
    assert not {check.name: check.ok for check in there.state.liveness()}["work"]


@pytest.mark.parametrize("what", ["events", "recovery"])
def test_who_works_is_let_alone(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standstill, "NOT_READY_S", 0.1)
    monkeypatch.setattr(standstill, "STANDSTILL_S", 0.1)
    there = Watched()
    there.app.tables.recovery.in_recovery = True

    async def works() -> None:
        for done in range(60):
            if what == "events":
                there.brokers.progress = PartitionProgress(4 + done, 1000)
            else:
                there.app.tables.recovery.left = 1000 - done
            await there.looks()
            await asyncio.sleep(0.005)

    asyncio.run(works())
    assert there.standstills == []
