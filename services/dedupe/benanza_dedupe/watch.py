"""How the service is: what waits, and whether it does its work."""

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any, cast

import faust

from benanza_backbone.event_log import Partition
from benanza_backbone.lag_report import LagReport
from benanza_backbone.status_server import Check
from benanza_backbone.telemetry import REBALANCES
from benanza_dedupe.agent import GROUP, DedupeAgent
from benanza_dedupe.broker import Consumer
from benanza_schemas.topics import LAYERS

INTERVAL_S = 2.0
ANSWER_S = 5.0
STALLED_AFTER_S = 30.0

log = logging.getLogger(__name__)


class Watch:
    """Keeps the metrics of the Faust app, and answers for its state from any thread."""

    def __init__(self, app: faust.App, agent: DedupeAgent, topic: str) -> None:
        self._app = app
        self._agent = agent
        self._topic = topic
        self._lag = LagReport(GROUP)
        self._turned = time.monotonic()
        self._answers = True
        self._ended = ""
        app.on_partitions_assigned.connect(self._assigned, weak=False)

    async def run(self) -> None:
        """Goes on until it is cancelled."""
        try:
            while True:
                self._turned = time.monotonic()
                if not self._ended:
                    await self._refresh()
                await asyncio.sleep(INTERVAL_S)
        finally:
            self._lag.close()

    def ended(self, why: str) -> None:
        """The app was stopped for this reason, and its process stays to tell."""
        self._ended = why
        self._lag.close()

    def liveness(self) -> Sequence[Check]:
        """Whether the event loop turns."""
        ago = time.monotonic() - self._turned
        return [Check("event loop", ago < STALLED_AFTER_S, f"turned {ago:.0f} s ago")]

    def readiness(self) -> Sequence[Check]:
        """Whether layers can be taken."""
        if self._ended:
            return [Check("dedupe", False, self._ended)]
        held = [str(tp.partition) for tp in self._held()]
        recovered = self._recovered()
        return [
            Check("partitions", bool(held), f"holds {', '.join(held) or 'none'} of {self._topic}"),
            Check("Kafka", self._answers, "answers" if self._answers else "does not answer"),
            Check("table", recovered, "recovered" if recovered else "not recovered yet"),
        ]

    async def _assigned(self, *_: Any, **__: Any) -> None:
        REBALANCES.inc()

    def _held(self) -> list[faust.types.TP]:
        if not self._app.started:
            return []
        return sorted(tp for tp in self._app.consumer.assignment() if tp.topic == self._topic)

    def _recovered(self) -> bool:
        busy = self._app.rebalancing or self._app.in_recovery
        return bool(self._held()) and not busy and self._app.flow_control.is_active()

    async def _refresh(self) -> None:
        """Asks the brokers how many records there are; that they answer is worth knowing too.

        In a task of its own: what Faust is asked while its connection breaks may raise anything,
        or swallow the cancellation that ends it. That must not end the watch, which would leave
        the last answer standing. While nothing is read, what waits is not shown: by that, alerts
        know of it.
        """
        asked = asyncio.ensure_future(self._waiting())
        await asyncio.wait((asked,), timeout=ANSWER_S)
        if self._ended:
            asked.cancel()
            return
        if problem := _problem(asked):
            if self._answers:
                log.warning("Kafka does not answer: %s", problem)
        elif not self._answers:
            log.info("Kafka answers again")
        self._answers = not problem
        self._lag.began(self._agent.begun())
        self._lag.refresh({} if problem else asked.result())

    async def _waiting(self) -> dict[Partition, int]:
        """How many records of each partition are still to be processed; of none, while no layers
        can be taken."""
        if not self._recovered():
            return {}
        # As `Transport` makes it.
        consumer = cast(Consumer, self._app.consumer)
        ends = await consumer.ends(*self._held())
        waiting = {}
        for tp, end in ends.items():
            following = self._agent.processed.get(tp.partition)
            if following is None:
                # Its position says only how far Faust has fetched.
                following = await consumer.begins_at(tp)
            waiting[Partition(LAYERS, tp.partition)] = max(0, end - following)
        return waiting


def _problem(asked: "asyncio.Future[Any]") -> str:
    """Why there is no answer; empty if there is one. What is still under way is given up."""
    if not asked.done():
        asked.cancel()
        return f"nothing in {ANSWER_S:g} s"
    if asked.cancelled():
        return "the question was given up"
    error = asked.exception()
    return str(error) or type(error).__name__ if error else ""
