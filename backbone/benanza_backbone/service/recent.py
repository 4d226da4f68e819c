"""What this process has processed last, for its status page."""

from collections import deque
from collections.abc import Sequence
from datetime import datetime
from threading import Lock
from typing import NamedTuple

from benanza_backbone.event_log.event_log import Record
from benanza_schemas.events import Event

KEPT = 20
KEPT_NAMES = 1000


class Processed(NamedTuple):
    """A record that a consumer group has processed, or why it could not.

    `event` is the type of the event, empty where the record is none; `model` is the name of the
    model that it is about, empty where this process doesn't know it. `dead_letter_id` and `failure`
    are empty where nothing failed.
    """

    at: datetime
    group: str
    record: Record
    event: str
    dead_letter_id: str = ""
    failure: str = ""
    model: str = ""


class Recent:
    """Keeps the last events, the last dead letters, and the names of the last models. May be shared
    by threads.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._lock = Lock()
        self._events: deque[Processed] = deque(maxlen=kept)
        self._dead_letters: deque[Processed] = deque(maxlen=kept)
        self._names: dict[str, str] = {}

    def model_of(self, event: Event | None) -> str:
        """The name of the model that the event is about; empty where neither the event has it, nor
        one before it of the same model or architecture.
        """
        ids = [getattr(event, field, "") for field in ("model_id", "architecture_id")]
        name = str(getattr(event, "name", ""))
        with self._lock:
            if not name:
                return next((self._names[each] for each in ids if each in self._names), "")
            for each in filter(None, ids):
                self._names.pop(each, None)
                self._names[each] = name
            while len(self._names) > KEPT_NAMES:
                del self._names[next(iter(self._names))]
        return name

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
