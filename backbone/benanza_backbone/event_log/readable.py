"""The events of a topic. Other records are passed over: a log may hold what strangers wrote."""

import logging
from collections.abc import Collection, Iterator
from functools import cache
from typing import TypeVar

from benanza_backbone.event_log.event_log import EventLog, Record
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import AnyEvent, Event

log = logging.getLogger(__name__)

Kind = TypeVar("Kind", bound=Event)


def readable(
    event_log: EventLog, topic: str, keys: Collection[bytes] | None = None
) -> Iterator[tuple[Record, AnyEvent]]:
    """The records of a topic with their events; only those with one of these keys, if some are
    given. Records that can't be decoded are left out, and counted in one line of the log.

    Raises `BenanzaError` as `EventLog.records` does.
    """
    unreadable = 0
    for record in event_log.records(topic):
        if keys is not None and record.key not in keys:
            continue
        try:
            event = decode(record.value)
        except DecodeError:
            unreadable += 1
            continue
        yield record, event
    if unreadable:
        _log_unreadable(topic, unreadable)


def events_of(
    event_log: EventLog, topic: str, kind: type[Kind], keys: Collection[bytes] | None = None
) -> Iterator[Kind]:
    """The events of one kind among those of `readable`."""
    return (event for _, event in readable(event_log, topic, keys) if isinstance(event, kind))


@cache  # A command may read a topic several times.
def _log_unreadable(topic: str, unreadable: int) -> None:
    log.error(
        "records of the topic %s that can't be read and are left out: %s; "
        "`benanza dead-letters list` says why",
        topic,
        f"{unreadable:,}",
    )
