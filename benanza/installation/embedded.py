"""The embedded installation: an event log and a store in one folder, for one process at a time."""

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from benanza_analyzer.sink import sink_step
from benanza_backbone.clickhouse.connection import parse_address
from benanza_backbone.clickhouse.folder_seal import read_seal
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Partition
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.event_log.sqlite_seal import check_marks, lacking, marks, sealed_log
from benanza_backbone.service.step import Step
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.consumer_groups import ANALYZER, CONSUMER_GROUPS, INGEST, SINK

LOCK_FILE = "benanza.lock"

LOOK_S = 0.2
"""Seconds to wait for the folder: a process that only checks whether it is taken locks it too."""

AT_ONCE = 200
"""Records that a step processes between two commits."""


class FolderTakenError(BenanzaError):
    """Another process is at work in the folder."""


@contextmanager
def opened_log(settings: Settings) -> Iterator[SqliteEventLog]:
    """The event log, for this process alone.

    Raises `FolderTakenError` if another process has it, and `BenanzaError` if the folder can't be
    written, or if the log is damaged or isn't that of the store.
    """
    try:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(settings.data / LOCK_FILE, thread_local=False)
        lock.acquire(timeout=LOOK_S, poll_interval=LOOK_S / 10)
    except Timeout:
        raise FolderTakenError(
            f"another benanza is at work in {settings.data}; wait until it is done, or name "
            "another folder with --data or BENANZA_DATA"
        ) from None
    except OSError as error:
        raise BenanzaError(
            f"can't write to {settings.data} ({error.strerror}); make it writable, or name "
            "another folder with --data or BENANZA_DATA"
        ) from error
    try:
        with sealed_log(settings.event_log) as log:
            store = parse_address(settings.clickhouse).folder
            if store and (seal := read_seal(store)):
                check_marks(log.path, store, seal.log)
            yield log
    finally:
        lock.release()


@contextmanager
def current_store(settings: Settings) -> Iterator[Store]:
    """The store, brought up to date with the event log.

    Ingests models that were published since the last run, and goes on where a run was interrupted;
    benchmarks nothing.
    """
    with opened_log(settings) as log:
        if _waits(log, INGEST):
            _take_apart(log, settings)
        if _waits(log, ANALYZER):
            _analyze(log)
        with Store.open(settings.clickhouse) as store:
            fill(store, log)
            yield store


def _waits(log: SqliteEventLog, service: str) -> bool:
    """Whether there is something for a service to do. Without it, commands that only look need not
    import what does it, which takes a third of a second.
    """
    return any(log.waiting(*CONSUMER_GROUPS[service]).values())


def _take_apart(log: SqliteEventLog, settings: Settings) -> None:
    from benanza_dedupe.step import dedupe_step
    from benanza_ingest.step import ingest_step

    with ingest_step(log, limits_of(settings), now) as ingest:
        drain(ingest)
    # The store takes the names of layers from their jobs.
    with dedupe_step(log, now) as dedupe:
        drain(dedupe)


def _analyze(log: SqliteEventLog) -> None:
    from benanza_analyzer.step import analyzer_step

    with analyzer_step(log, now) as analyzer:
        drain(analyzer)


def fill(store: Store, log: SqliteEventLog) -> None:
    """Inserts into the store what it lacks of the event log.

    Raises `BenanzaError` if the store has more than the log.
    """
    group = CONSUMER_GROUPS[SINK]
    if store.seal and store.seal.doubtful:
        seen = store.seal.log
        after = {t: seen[t].offset + 1 if t in seen else 0 for t in group.topics}
        store.set_offsets(group.name, {Partition(t, 0): offset for t, offset in after.items()})
    for partition, offset in store.offsets(group.name).items():
        if offset > log.end_offsets(partition.topic).get(partition, 0):
            raise BenanzaError(lacking(log.path, f"the store has more of its {partition.topic}"))
    with sink_step(log, store, now) as step:
        drain(step)
    if store.seal:
        store.seal.settle(marks(log.path, group.topics))


def analyze(analyzer: Step) -> None:
    """Updates the bounds, but only if events wait for the analyzer.

    It has to read all results again before it takes the first one, which takes seconds.
    """
    if analyzer.waiting():
        drain(analyzer)


def drain(step: Step) -> None:
    """Turns the step until nothing waits for it."""
    while step.turn(AT_ONCE) or step.waiting():
        pass
