"""The events of a topic. Other records are passed over: a log may hold what strangers wrote."""

import logging
from collections.abc import Collection, Iterator
from functools import cache

from benanza_backbone.event_log.event_log import EventLog, Record
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import AnyEvent

log = logging.getLogger(__name__)


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


@cache  # A command may read a topic several times.
def _log_unreadable(topic: str, unreadable: int) -> None:
    log.error(
        "records of the topic %s that can't be read and are left out: %s; "
        "`benanza dead-letters list` says why",
        topic,
        f"{unreadable:,}",
    )
