"""How the service is: what waits, and whether it does its work."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import faust
from faust.exceptions import ConsumerNotStarted
from faust.tables.manager import TableManager

from benanza_backbone.event_log.event_log import Partition
from benanza_backbone.kafka.errors import CoordinatorAwaitedError
from benanza_backbone.kafka.group import GroupProgress
from benanza_backbone.service.lag_report import LagReport
from benanza_backbone.service.standstill import Standstill, StandstillError
from benanza_backbone.service.status_server import Check
from benanza_backbone.telemetry import REBALANCES
from benanza_dedupe.agent import GROUP, DedupeAgent
from benanza_schemas.topics import LAYERS

INTERVAL_S = 1.0
ANSWER_S = 5.0
"""Kafka is away once it has said nothing for so long."""

STALLED_AFTER_S = 30.0

ANSWERS = "answers"
AWAY = "does not answer"
AWAITED = "answers, and is still choosing a broker to coordinate the group"

log = logging.getLogger(__name__)


class Watch:
    """Keeps the metrics of the Faust app, and answers for its state from any thread.

    `on_standstill` is called if events wait and none is processed for too long although the brokers
    answer.
    """

    def __init__(
        self,
        app: faust.App,
        agent: DedupeAgent,
        group: GroupProgress,
        topic: str,
        on_standstill: Callable[[StandstillError], None],
    ) -> None:
        self._app = app
        self._agent = agent
        self._group = group
        self._topic = topic
        self._on_standstill = on_standstill
        self._lag = LagReport(GROUP)
        self._standstill = Standstill()
        self._turned = self._answered = time.monotonic()
        self._problem = ""
        self._ended = ""
        app.on_partitions_assigned.connect(self._assigned, weak=False)

    async def run(self) -> None:
        """Goes on until it is cancelled."""
        look: asyncio.Task[None] | None = None
        try:
            while True:
                self._turned = time.monotonic()
                # Each question to brokers that hang holds a thread.
                if look is None or look.done():
                    look = asyncio.create_task(self._look())
                await asyncio.sleep(INTERVAL_S)
        finally:
            self._lag.close()

    def ended(self, why: str) -> None:
        """The app was stopped for this reason, and its process stays to tell."""
        self._ended = why
        self._lag.close()

    def liveness(self) -> Sequence[Check]:
        """Whether the event loop turns, and events that wait are processed."""
        ago = time.monotonic() - self._turned
        turns = Check("event loop", ago < STALLED_AFTER_S, f"turned {ago:.0f} s ago")
        return [turns, self._standstill.alive()]

    def readiness(self) -> Sequence[Check]:
        """Whether layers can be taken, and are."""
        if self._ended:
            return [Check("dedupe", False, self._ended)]
        held = [str(tp.partition) for tp in self._held()]
        silent = time.monotonic() - self._answered > ANSWER_S
        problem = self._problem or (AWAY if silent else "")
        recovered = self._recovered()
        return [
            Check("partitions", bool(held), f"holds {', '.join(held) or 'none'} of {self._topic}"),
            Check("Kafka", not problem, problem or ANSWERS),
            Check("table", recovered, "recovered" if recovered else "not recovered yet"),
            self._standstill.ready(),
        ]

    async def _assigned(self, *_: Any, **__: Any) -> None:
        REBALANCES.inc()

    def _held(self) -> list[faust.types.TP]:
        if not self._app.started:
            return []
        try:
            assigned = self._app.consumer.assignment()
        except ConsumerNotStarted:
            # Its thread starts some time after the app.
            return []
        return sorted(tp for tp in assigned if tp.topic == self._topic)

    def _recovered(self) -> bool:
        busy = self._app.rebalancing or self._app.in_recovery
        return bool(self._held()) and not busy and self._app.flow_control.is_active()

    async def _look(self) -> None:
        """Asks the brokers how far the group is; that they answer is worth knowing too.

        While nothing is read, what waits is not shown: by that, alerts know of it.
        """
        waiting: dict[Partition, int] = {}
        problem = ""
        try:
            waiting = await self._waiting()
        except CoordinatorAwaitedError:
            problem = AWAITED
        except StandstillError as error:
            self._on_standstill(error)
        except Exception as error:  # noqa: BLE001  # Faust raises anything as its connection breaks
            problem = f"{AWAY}: {error or type(error).__name__}"
        if self._ended:
            return
        if problem != self._problem:
            level = logging.WARNING if problem.startswith(AWAY) else logging.INFO
            log.log(level, "Kafka %s", problem or ANSWERS)
        self._problem = problem
        self._answered = time.monotonic()
        self._lag.began(self._agent.begun())
        self._lag.refresh(waiting)

    async def _waiting(self) -> dict[Partition, int]:
        """How many records of each partition are still to be processed; of none, while no layers
        can be taken. Raises `StandstillError`."""
        held = [Partition(LAYERS, tp.partition) for tp in self._held()]
        progress = await asyncio.to_thread(self._group.of, held)
        waiting = {partition: at.waiting() for partition, at in progress.items()}
        # Not in the type that Faust gives it.
        recovery = cast(TableManager, self._app.tables).recovery
        left = recovery.active_remaining_total() if recovery.in_recovery else 0
        done = left, *((each, at.following) for each, at in progress.items())
        self._standstill.look(sum(waiting.values()), done)
        return waiting if self._recovered() else {}
