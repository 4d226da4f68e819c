"""Looks at an embedded installation that may be at work: beside the process that has its folder."""

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from benanza.installation.embedded import LOCK_FILE
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.settings import Settings


@contextmanager
def log_beside(settings: Settings) -> Iterator[EventLog]:
    """The event log to read, whoever has the folder: SQLite shows what is committed.

    Raises `BenanzaError` if there is none, or as `SqliteEventLog` does.
    """
    if not settings.event_log.exists():
        raise BenanzaError(
            f"nothing is known yet: there is no {settings.event_log}; "
            "name another folder, or say: benanza run MODEL"
        )
    with SqliteEventLog(settings.event_log) as log:
        yield log


def is_at_work(settings: Settings) -> bool:
    """Whether another process has the folder. Tried for a moment, which `opened_log` waits out."""
    try:
        with FileLock(settings.data / LOCK_FILE, blocking=False, thread_local=False):
            return False
    except Timeout:
        return True
