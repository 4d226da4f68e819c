"""Says again and again that an agent is there."""

import logging
from collections.abc import Callable
from threading import Event, Thread

from benanza.agents.known_agents import INTERVAL_S
from benanza.agents.serving.this_machine import AgentHas
from benanza_backbone.clock import Clock
from benanza_backbone.closing import Closing
from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.service.processor import as_message
from benanza_schemas.events import AgentAnnounced, event_id

log = logging.getLogger(__name__)


def announcement(
    has: AgentHas,
    number: int,
    clock: Clock,
    *,
    interval_s: float = INTERVAL_S,
    leaving: bool = False,
) -> AgentAnnounced:
    """The agent's announcement of this number."""
    memory = has.memory()
    return AgentAnnounced(
        event_id=event_id("AgentAnnounced", has.agent_id, str(number)),
        agent_id=has.agent_id,
        name=has.name,
        device=has.device,
        systems=has.systems,
        memory_bytes=memory.total_bytes,
        free_bytes=memory.free_bytes,
        interval_s=interval_s,
        announced_at=clock(),
        leaving=leaving,
    )


class Announcer(Closing):
    """Announces what an agent has, from a thread of its own, until it is closed; then it says that
    it leaves.

    While no broker answers, it goes on trying.
    """

    def __init__(
        self,
        kafka: KafkaConnection,
        has: Callable[[], AgentHas],
        clock: Clock,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._kafka = kafka
        self._has = has
        self._clock = clock
        self._interval_s = interval_s
        self._said = 0
        self._closed = Event()
        self._thread = Thread(target=self._run, name="announcer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Says that the agent leaves, if a broker answers soon."""
        self._closed.set()
        self._thread.join(self._interval_s)

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                with KafkaEventLog(self._kafka) as event_log:
                    while not self._closed.is_set():
                        self._say(event_log)
                        self._closed.wait(self._interval_s)
                    self._say(event_log, leaving=True)
            except BenanzaError as error:
                log.warning("others may think that this agent is gone: %s", error)
                self._closed.wait(self._interval_s)

    def _say(self, event_log: KafkaEventLog, *, leaving: bool = False) -> None:
        said = announcement(
            self._has(), self._said, self._clock, interval_s=self._interval_s, leaving=leaving
        )
        self._said += 1
        event_log.append([as_message(said)])
