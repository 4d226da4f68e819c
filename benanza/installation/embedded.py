"""The embedded installation: an event log and a store in one folder, for one process at a time."""

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from benanza_analyzer.sink import sink_step
from benanza_analyzer.step import analyzer_step
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log import EventLog
from benanza_backbone.settings import Settings
from benanza_backbone.sqlite_log import SqliteEventLog
from benanza_backbone.step import Step
from benanza_backbone.store import Store
from benanza_dedupe.step import dedupe_step
from benanza_ingest.limits import limits_of
from benanza_ingest.step import ingest_step

LOCK_FILE = "benanza.lock"

AT_ONCE = 200
"""Records that a step processes between two commits."""


@contextmanager
def opened_log(settings: Settings) -> Iterator[EventLog]:
    """The event log, for this process alone.

    Raises `BenanzaError` if another process has it, or if the folder can't be written.
    """
    try:
        settings.data.mkdir(parents=True, exist_ok=True)
        lock = FileLock(settings.data / LOCK_FILE, thread_local=False)
        lock.acquire(blocking=False)
    except Timeout:
        raise BenanzaError(
            f"another benanza is at work in {settings.data}; wait until it is done, or name "
            "another folder with --data or BENANZA_DATA"
        ) from None
    except OSError as error:
        raise BenanzaError(
            f"can't write to {settings.data} ({error.strerror}); make it writable, or name "
            "another folder with --data or BENANZA_DATA"
        ) from error
    try:
        with SqliteEventLog(settings.event_log) as log:
            yield log
    finally:
        lock.release()


@contextmanager
def current_store(settings: Settings) -> Iterator[Store]:
    """The store, with all that is in the event log: also what an interrupted run has left, and
    the models that were published since."""
    with opened_log(settings) as log:
        with ingest_step(log, limits_of(settings), now) as ingest:
            published = ingest.waiting()
            drain(ingest)
        if published:
            # Their layers' jobs are what the store knows layers' names by.
            with dedupe_step(log, now) as dedupe:
                drain(dedupe)
        with analyzer_step(log, now) as analyzer:
            analyze(analyzer)
        with Store.open(settings.clickhouse) as store:
            fill(store, log)
            yield store


def fill(store: Store, log: EventLog) -> None:
    """Puts into the store what it doesn't have of the event log."""
    with sink_step(log, store, now) as step:
        drain(step)


def analyze(analyzer: Step) -> None:
    """Moves the bounds, if anything waits that may: it takes seconds to recall what is known."""
    if analyzer.waiting():
        drain(analyzer)


def drain(step: Step) -> None:
    """Processes all that waits for the step."""
    while step.turn(AT_ONCE) or step.waiting():
        pass
