"""Who is there, by what agents announce."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from benanza_backbone.event_log.event_log import READ_AT_ONCE, EventLog, Record
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import AgentAnnounced
from benanza_schemas.topics import AGENTS

INTERVAL_S = 10.0
"""So often an agent says that it is there."""

MOST_MISSED = 3
"""An agent that misses so many announcements is gone."""

REMEMBERED = timedelta(hours=1)
"""Agents that were there longer ago are forgotten."""


class KnownAgent(NamedTuple):
    """What an agent said last, and when that reached the log, by the log's clock."""

    announced: AgentAnnounced
    seen_at: datetime

    def is_gone(self, now: datetime) -> bool:
        """Whether it has left, or missed too many announcements."""
        silent_s = (now - self.seen_at).total_seconds()
        return self.announced.leaving or silent_s > MOST_MISSED * self.announced.interval_s


def known_agents(log: EventLog, now: datetime) -> dict[str, KnownAgent]:
    """The agents that were there lately, by their ids, those too that are gone.

    Raises `BenanzaError` if the log can't be read.
    """
    return last_of_each(_since(log, now - REMEMBERED))


def last_of_each(records: Iterable[Record]) -> dict[str, KnownAgent]:
    """What each agent said last; records that are no announcements are passed over."""
    agents: dict[str, KnownAgent] = {}
    for record in records:
        try:
            event = decode(record.value)
        except DecodeError:
            continue
        if isinstance(event, AgentAnnounced):
            agents[event.agent_id] = KnownAgent(event, record.timestamp)
    return agents


def at_work(agents: dict[str, KnownAgent], now: datetime) -> list[AgentAnnounced]:
    """What those said last that aren't gone."""
    return [agent.announced for agent in agents.values() if not agent.is_gone(now)]


def _since(log: EventLog, when: datetime) -> Iterator[Record]:
    """The records from about this time on: the topic has all of a day, so it is read from behind to
    find where they begin.
    """
    for partition, end in log.end_offsets(AGENTS).items():
        start = end
        while start > 0:
            start = max(0, start - READ_AT_ONCE)
            first = log.read(partition, start, 1)
            if first and first[0].timestamp < when:
                break
        while start < end and (records := log.read(partition, start, READ_AT_ONCE)):
            yield from records
            start = records[-1].offset + 1
