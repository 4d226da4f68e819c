"""What this process has processed last, for its status page."""

from collections import deque
from collections.abc import Sequence
from datetime import datetime
from threading import Lock
from typing import NamedTuple

from benanza_backbone.event_log.event_log import Record

KEPT = 20


class Processed(NamedTuple):
    """A record that a consumer group has processed, or why it could not.

    `event` is the type of the event, empty where the record is none; `dead_letter_id` and `failure`
    are empty where nothing failed.
    """

    at: datetime
    group: str
    record: Record
    event: str
    dead_letter_id: str = ""
    failure: str = ""


class Recent:
    """Keeps the last events, and the last dead letters. May be shared by threads."""

    def __init__(self, kept: int = KEPT) -> None:
        self._lock = Lock()
        self._events: deque[Processed] = deque(maxlen=kept)
        self._dead_letters: deque[Processed] = deque(maxlen=kept)

    def add(self, processed: Processed) -> None:
        """Takes it in as the newest."""
        # Values may be of megabytes, and nobody looks at them here.
        record = processed.record
        slim = Record(record.partition, record.offset, record.timestamp, record.key[:100], b"")
        kept = processed._replace(record=slim)
        with self._lock:
            (self._dead_letters if kept.failure else self._events).append(kept)

    def events(self) -> Sequence[Processed]:
        """The last that were processed, newest first."""
        with self._lock:
            return list(self._events)[::-1]

    def dead_letters(self) -> Sequence[Processed]:
        """The last that could not be processed, newest first."""
        with self._lock:
            return list(self._dead_letters)[::-1]


RECENT = Recent()
"""That of this process, as the metrics are."""
