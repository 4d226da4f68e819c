"""The embedded installation: an event log and a store in one folder, for one process at a time."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from filelock import FileLock, Timeout

from benanza.installation.answers import KnownAnswers, RememberingStore, forget_answers
from benanza.running.progress import RunProgress, shown
from benanza_backbone.clickhouse.connection import has_engine, parse_address
from benanza_backbone.clickhouse.folder_seal import read_seal
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Partition
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.event_log.sqlite_seal import check_marks, lacking, marks, sealed_log
from benanza_backbone.holder import holder, write_holder
from benanza_backbone.service.circuit_breaker import CircuitOpenError
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
            f"another benanza is at work in {settings.data} ({holder(settings.data / LOCK_FILE)}); "
            "wait until it is done, or name another folder with --data or BENANZA_DATA"
        ) from None
    except OSError as error:
        raise BenanzaError(
            f"can't write to {settings.data} ({error.strerror}); make it writable, or name "
            "another folder with --data or BENANZA_DATA"
        ) from error
    try:
        with suppress(OSError):  # of a full disk, which only whoever waits has to do with
            write_holder(settings.data / LOCK_FILE)
        with sealed_log(settings.event_log) as log:
            store = parse_address(settings.clickhouse).folder
            if store and (seal := read_seal(store)):
                check_marks(log.path, store, seal.log)
            yield log
    finally:
        lock.release()


@contextmanager
def current_store(settings: Settings) -> Iterator[Store]:
    """The store to look at, brought up to date with the event log.

    Ingests models that were published since the last run, and goes on where a run was interrupted;
    benchmarks nothing. What takes long shows its progress (`benanza.running.progress.shown`). A
    store in the data folder is opened for what it wasn't asked before in this state.
    """
    with opened_log(settings) as log:
        with ExitStack() as showing:
            if waits(log, INGEST):
                _take_apart(log, settings, showing.enter_context(shown()))
            if waits(log, ANALYZER):
                _analyze(log, showing.enter_context(shown()))

        def opened() -> Store:
            with shown() as progress:
                return filled_store(settings, log, progress)

        at_once = is_stored(settings) and waits(log, SINK)
        with _remembering(settings, opened, at_once=at_once) as store:
            yield store


def is_stored(settings: Settings) -> bool:
    """Whether there is a store to fill: a server, or the engine in this process. Where neither is,
    what is asked to look is answered from the log.
    """
    return parse_address(settings.clickhouse).folder is None or has_engine()


def filled_store(settings: Settings, log: SqliteEventLog, progress: RunProgress) -> Store:
    """The store, with all that the log has. Raises `BenanzaError` as `Store.open` and `fill` do."""
    if not is_stored(settings):
        return _log_store(log)
    with ExitStack() as held:
        store = held.enter_context(Store.open(settings.clickhouse))
        fill(store, log, progress)
        held.pop_all()
    return store


def _log_store(log: SqliteEventLog) -> Store:
    # Most have the engine, and to import this takes a while.
    from benanza.from_log.store import LogStore

    return LogStore(log)


@contextmanager
def store_as_it_is(settings: Settings) -> Iterator[Store]:
    """The store to look at, whatever it lacks of the log. For what it was asked before, if it lacks
    nothing, it needs neither the engine nor the folder for itself. Where the engine isn't
    installed, it is the log as it is.

    Raises `BenanzaError` as `Store.open` does.
    """

    def opened() -> Store:
        return Store.open(settings.clickhouse, migrates=False)

    lacks = True
    if settings.kafka is None and settings.event_log.exists():
        with SqliteEventLog(settings.event_log) as log:
            if not is_stored(settings):
                with _remembering(settings, lambda: _log_store(log)) as store:
                    yield store
                return
            lacks = waits(log, SINK)
    with opened() if lacks else _remembering(settings, opened) as store:
        yield store


def _remembering(
    settings: Settings, opened: Callable[[], Store], *, at_once: bool = False
) -> Store:
    """A store that keeps its answers, if it is one that this log alone fills; opened for the first
    question that it hasn't answered, or at once.
    """
    folder = parse_address(settings.clickhouse).folder
    if folder is None:
        return opened()
    store = RememberingStore(opened, KnownAnswers(folder, settings.event_log))
    if at_once:
        store.store()
    return store


def waits(log: SqliteEventLog, service: str) -> bool:
    """Whether there is something for a service to do. Without it, commands that only look need not
    import what does it, which takes a third of a second.
    """
    return any(log.waiting(*CONSUMER_GROUPS[service]).values())


def _take_apart(log: SqliteEventLog, settings: Settings, progress: RunProgress) -> None:
    from benanza_dedupe.step import dedupe_step
    from benanza_ingest.step import ingest_step

    try:
        with ingest_step(log, limits_of(settings), now) as ingest:
            drain_shown(ingest, progress, "ingesting models", 1)
    except CircuitOpenError as error:
        what = str(error).partition(";")[0]
        raise BenanzaError(
            f"{what}; `benanza dead-letters list` has the reasons: mend what they name, or say "
            "this again to go on with the next"
        ) from error
    # The store takes the names of layers from their jobs.
    with dedupe_step(log, now) as dedupe:
        drain_shown(dedupe, progress, "looking for known layers")


def _analyze(log: SqliteEventLog, progress: RunProgress) -> None:
    from benanza_analyzer.step import analyzer_step

    with analyzer_step(log, now) as analyzer:
        drain_shown(analyzer, progress, "computing bounds")


def fill(store: Store, log: SqliteEventLog, progress: RunProgress) -> None:
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
    from benanza_analyzer.sink import sink_step

    with sink_step(log, store, now) as step:
        if store.seal and step.waiting():
            # What the sink is told to read again may change the store, and not the log.
            forget_answers(store.seal.folder)
        drain_shown(step, progress, "storing events")
    if store.seal:
        store.seal.settle(marks(log.path, group.topics))


def analyze(analyzer: Step, progress: RunProgress) -> None:
    """Updates the bounds, but only if events wait for the analyzer.

    It has to read all results again before it takes the first one, which takes seconds.
    """
    if analyzer.waiting():
        drain_shown(analyzer, progress, "computing bounds")


def drain(step: Step) -> None:
    """Turns the step until nothing waits for it."""
    while step.turn(AT_ONCE) or step.waiting():
        pass


def drain_shown(step: Step, progress: RunProgress, what: str, at_once: int = AT_ONCE) -> None:
    """The same; the progress is told what is done, and how many records are."""
    if waiting := step.waiting():
        progress.stage(what, waiting)
    done = step.turn(at_once)
    if done + step.waiting() != waiting:
        # A step may begin before what its group has committed, as that of a new store does.
        progress.stage(what, done + step.waiting())
    progress.advance(done)
    while (done := step.turn(at_once)) or step.waiting():
        progress.advance(done)
