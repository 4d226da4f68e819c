"""The seal of an embedded log: what its file was when the last process left it.

Nothing else has what the log has, so a log that isn't as it was left is refused. The seal is a file
of one line beside the log: the last offset and, while nobody is at work, the size and the CRC-32C
of the log's file. Where a process died at work, or an older version left the log, every record is
checked instead.
"""

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from benanza_backbone.checksums import file_crc32c
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.sqlite_log import (
    RECORD,
    LogMark,
    SqliteEventLog,
    checksum_of,
    connect,
    damaged,
    explained,
    is_intact,
    seal_file,
    write_end,
)
from benanza_schemas.topics import COMPACTED, KEPT_FOR

SETTLED_NS = 1_000_000_000


@contextmanager
def sealed_log(path: Path) -> Iterator[SqliteEventLog]:
    """The log in this file, for a process that has its folder to itself; sealed at the end.

    Raises `BenanzaError` if the log isn't what was left, if a record is damaged or if it lacks its
    end, or as `SqliteEventLog` does.
    """
    last, sealed = check_seal(path)
    with SqliteEventLog(path) as log:
        if not sealed:
            verify(path, last)
        write_end(path, _last_offset(path))
        began = _times(path)
        # What was written a moment ago may be written again at the same time by the file system.
        settled = time.time_ns() - began[0] > SETTLED_NS
        try:
            yield log
        finally:
            log.close()
            # While others read, what is new stays beside the file, which is as it was.
            same = settled and began == _times(path) and not _is_beside(path)
            seal(path, sealed if same else "")


def check_seal(path: Path) -> tuple[int, str]:
    """The last offset, and what the file was left as: nothing if somebody is, or died, at work.

    Raises `BenanzaError` if it isn't as it was left.
    """
    with explained(path):
        last, sealed = _read(path)
        now = _state(path) if sealed else ""
    if not path.exists() and seal_file(path).exists():
        raise BenanzaError(lacking(path, "it isn't there"))
    if sealed != now:
        raise BenanzaError(
            f"{path} isn't as benanza left it: put back a backup of {path.parent} as a whole; or, "
            f"if you put this log there yourself, delete {seal_file(path)}, and all is checked"
        )
    return last, sealed


def seal(path: Path, state: str = "") -> None:
    """Seals a log that nobody writes to. `state` is that of its file, if it is known.

    If another process still reads what isn't in the file yet, or the disk refuses, it stays
    unsealed.
    """
    with suppress(BenanzaError, OSError), explained(path):
        last = _last_offset(path)
        if state := state or _state(path):
            seal_file(path).write_text(f"{last:020d} {state}\n")


def verify(path: Path, last: int) -> None:
    """Reads the whole log. Raises `BenanzaError` if something is damaged, or if it ends before the
    record `last`."""
    with closing(connect(path)) as db:
        try:
            (verdict,) = db.execute("PRAGMA integrity_check(1)").fetchone()
            if verdict != "ok":
                raise BenanzaError(damaged(path, verdict.splitlines()[-1]))
            for *row, checksum in db.execute(f"SELECT {RECORD} FROM events"):
                if not is_intact(row, checksum):
                    raise BenanzaError(damaged(path, f"record {row[0]:,} isn't what was stored"))
        except sqlite3.Error as error:
            raise BenanzaError(damaged(path, str(error))) from error
    if _last_offset(path) < last:
        raise BenanzaError(lacking(path, f"it ends before record {last:,}"))


def marks(path: Path, topics: Sequence[str]) -> dict[str, LogMark]:
    """The last record of each topic that has one."""
    asked = f'SELECT {RECORD} FROM events WHERE topic = ? ORDER BY "offset" DESC LIMIT 1'
    with explained(path), closing(connect(path)) as db:
        last_records = {topic: db.execute(asked, (topic,)).fetchone() for topic in topics}
    return {t: LogMark(row[0], checksum_of(*row[:-1])) for t, row in last_records.items() if row}


def check_marks(path: Path, store: Path, seen: Mapping[str, LogMark]) -> None:
    """Raises `BenanzaError` if the store has seen records that this log lacks, but for those that
    may have been pruned."""
    ends = marks(path, list(seen))
    with explained(path), closing(connect(path)) as db:
        for topic, mark in seen.items():
            asked = f'SELECT {RECORD} FROM events WHERE "offset" = ?'
            row = db.execute(asked, (mark.offset,)).fetchone()
            pruned = row is None and (topic in COMPACTED or topic in KEPT_FOR)
            same = pruned or (row is not None and checksum_of(*row[:-1]) == mark.checksum)
            if not same or topic not in ends or ends[topic].offset < mark.offset:
                raise BenanzaError(lacking(path, f"{store} knows others of its {topic}"))


def lacking(path: Path, why: str) -> str:
    """What to do about a log that is older than what is beside it, or that of another folder."""
    return (
        f"{path} isn't the log of this folder, or is an older one ({why}): put back a backup of "
        f"{path.parent} as a whole; or, to go on with this log alone, move all else in "
        f"{path.parent} away"
    )


def _read(path: Path) -> tuple[int, str]:
    """The last offset, and what the file was; 0 and nothing without a seal that can be read."""
    try:
        last, *state = seal_file(path).read_text().split()
        return int(last), " ".join(state)
    except (FileNotFoundError, ValueError):
        return 0, ""


def _state(path: Path) -> str:
    """Size and CRC-32C of the file; empty if some of the log isn't in it, but in the write-ahead
    log beside it."""
    if not path.exists() or _is_beside(path):
        return ""
    return f"{path.stat().st_size} {file_crc32c(path):08x}"


def _is_beside(path: Path) -> bool:
    """Whether some of the log is in the write-ahead log beside it."""
    beside = path.with_name(f"{path.name}-wal")
    return beside.exists() and beside.stat().st_size > 0


def _times(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _last_offset(path: Path) -> int:
    with explained(path), closing(connect(path)) as db:
        last: int = db.execute('SELECT coalesce(max("offset"), 0) FROM events').fetchone()[0]
    return last
