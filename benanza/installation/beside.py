"""Looks at an embedded installation that may be at work: beside the process that has its folder."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from shutil import copytree

from filelock import FileLock, Timeout

from benanza.installation.answers import KnownAnswers, RememberingStore
from benanza.installation.embedded import LOCK_FILE, current_store, is_stored, waits
from benanza_backbone.clickhouse import connection
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.event_log.sqlite_seal import check_seal, seal
from benanza_backbone.holder import holder
from benanza_backbone.settings import Settings
from benanza_schemas.consumer_groups import ANALYZER, CONSUMER_GROUPS, INGEST, SINK

NOBODY = ""
"""A group for which all records wait."""

MOST_REREAD = 4000
"""Records of which a store is made while one looks: some six seconds."""


@contextmanager
def log_beside(settings: Settings) -> Iterator[SqliteEventLog]:
    """The event log to read, whoever has the folder: SQLite shows what is committed.

    Raises `BenanzaError` if there is none, as `SqliteEventLog` does, and if nobody is at work and
    it isn't as it was left.
    """
    if not settings.event_log.exists():
        raise BenanzaError(
            f"nothing is known yet: there is no {settings.event_log}; "
            "name another folder, or say: benanza run MODEL"
        )
    with suppress(Timeout), FileLock(settings.data / LOCK_FILE, blocking=False, thread_local=False):
        check_seal(settings.event_log)
    with SqliteEventLog(settings.event_log) as log:
        yield log


def is_at_work(settings: Settings) -> bool:
    """Whether another process has the folder."""
    return _is_taken(settings.data / LOCK_FILE)


@contextmanager
def store_beside(settings: Settings) -> Iterator[Store]:
    """The store that the folder would have if it were brought up to date now, whoever has it.

    What the folder's own store has answered in this state, it answers again. For all else it is
    made in a folder of its own, of copies of the log and, unless it is in use, of the store;
    without the latter it is filled from the log. A server is asked as it is: the process that has
    the folder fills it. Raises `BenanzaError` if there is no room for a copy, if the store is in
    use and to fill another would take long, if others have appended to the log between two answers,
    or as `current_store` does.
    """
    folder = connection.parse_address(settings.clickhouse).folder
    if folder is None:
        with Store.open(settings.clickhouse, migrates=False) as store:
            yield store
        return
    with log_beside(settings) as log:
        settled = not any(waits(log, service) for service in (INGEST, ANALYZER))
    answers = KnownAnswers(folder, settings.event_log)
    with ExitStack() as held:
        if not (settled and answers.are_there()):
            yield held.enter_context(_store_of_copies(settings, folder))
            return

        def opened() -> Store:
            copied = held.enter_context(_store_of_copies(settings, folder))
            if KnownAnswers(folder, settings.event_log).state != answers.state:
                raise BenanzaError(
                    f"another benanza changed {settings.data} while this looked; say it again"
                )
            return copied

        yield RememberingStore(opened, answers, keeps=False)


@contextmanager
def _store_of_copies(settings: Settings, folder: Path) -> Iterator[Store]:
    with tempfile.TemporaryDirectory(prefix="benanza-", ignore_cleanup_errors=True) as name:
        copy = replace(settings, data=Path(name), clickhouse=f"chdb://{name}/clickhouse")
        try:
            # Before the log: a store that knows of later records would not take those that the
            # copy of the log gets now.
            is_copied = copy_store(folder, Path(name) / "clickhouse")
            with log_beside(settings) as log:
                records = sum(log.waiting(NOBODY, CONSUMER_GROUPS[SINK].topics).values())
                if is_stored(settings) and not is_copied and records > MOST_REREAD:
                    raise BenanzaError(
                        f"{settings.data} is in use by {_who(settings, folder)}, and a store would "
                        f"be filled from {records} records; try again when it has ended"
                    )
                log.copy_to(copy.event_log)
            seal(copy.event_log)
        except OSError as error:
            raise BenanzaError(
                f"another benanza is at work in {settings.data}, and a copy of it can't be made in "
                f"{name} ({error.strerror}); name a folder with more room in TMPDIR"
            ) from error
        with current_store(copy) as store:
            yield store


def _who(settings: Settings, folder: Path) -> str:
    """The process that keeps the store from being copied: where nobody has that, it isn't made yet,
    by whoever has the data folder.
    """
    lock = folder / connection.LOCK_FILE
    return holder(lock if _is_taken(lock) else settings.data / LOCK_FILE)


def copy_store(folder: Path, target: Path) -> bool:
    """Copies the engine's files, if no process has them before, while and after that.

    It takes no lock, for which whoever wants to store would have to wait. Returns whether there is
    a copy; `target` is not there otherwise.
    """
    lock = folder / connection.LOCK_FILE
    try:
        if not _is_taken(lock):
            # Whoever opens the store writes into this file.
            before = lock.stat()
            copytree(folder, target, symlinks=True)
            after = lock.stat()
            same = (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
            if same and not _is_taken(lock):
                return True
    except (FileNotFoundError, shutil.Error):
        pass  # It is new, or files went while they were copied: somebody merges or stores.
    shutil.rmtree(target, ignore_errors=True)
    return False


def _is_taken(lock: Path) -> bool:
    """Whether another process has this lock.

    Tried for a moment, which those wait out who want it in earnest.
    """
    if not lock.exists():
        return False
    try:
        with FileLock(lock, blocking=False, thread_local=False):
            return False
    except Timeout:
        return True
