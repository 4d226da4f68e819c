"""The embedded event log: one SQLite file.

Each topic has one partition, number 0. Offsets are row ids, so one sequence runs through all
topics, and a consumer of several gets their records in the order in which they were appended.
Any number of processes on one machine may append and consume at once. Which consumer of a group
is the active one is decided by a file lock beside the log; the system drops it when a process
dies. Don't fork a process that has a log open.
"""

import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from crc32c import crc32c
from filelock import FileLock, Timeout

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Consumer, EventLog, Message, Partition, Record

APPLICATION_ID = 0x42454E5A
SCHEMA_VERSION = 2
SCHEMA = (
    """
    CREATE TABLE events (
        "offset" INTEGER PRIMARY KEY,
        topic TEXT NOT NULL,
        timestamp_us INTEGER NOT NULL,
        key BLOB NOT NULL,
        value BLOB NOT NULL,
        checksum INTEGER
    )
    """,
    "CREATE INDEX events_by_topic ON events (topic)",
    """
    CREATE TABLE committed (
        consumer_group TEXT NOT NULL,
        topic TEXT NOT NULL,
        next_offset INTEGER NOT NULL,
        PRIMARY KEY (consumer_group, topic)
    ) WITHOUT ROWID
    """,
)
CHECKSUMS = "ALTER TABLE events ADD COLUMN checksum INTEGER"
"""What brings version 1 up to date. Its records have no checksum."""

BUSY_TIMEOUT_S = 30.0
POLL_INTERVAL_S = 0.01

CLAIM = ""
"""The topic under whose name the number of a group's last claim is kept among the offsets."""

MAX_BATCH_BYTES = 64_000_000
"""A poll or read ends with the record that reaches this, so that large events fit in memory."""

RECORD = '"offset", topic, timestamp_us, key, value, checksum'
"""The columns of a record."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class LogMark(NamedTuple):
    """A record that somebody has seen, to be found again."""

    offset: int
    checksum: int


class SqliteEventLog(EventLog):
    """The event log in the file at `path`, made with its folder if it isn't there.

    `append` is all or nothing: where it raises, nothing was appended. Each record has a checksum,
    which is compared whenever the record is read. Raises `BenanzaError` if the file is something
    else, of a newer version, or can't be written, and where a record isn't what was appended.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with explained(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(f"{path}.lock"):
                _create_or_check(path)
            self._db = connect(path)
        self._lock = Lock()

    def append(self, messages: Sequence[Message]) -> None:
        insert = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)"
        with explained(self.path), self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            first = self._db.execute('SELECT coalesce(max("offset") + 1, 1) FROM events').fetchone()
            rows = [
                (offset, m.topic, time.time_ns() // 1000, m.key, m.value)
                for offset, m in enumerate(messages, first[0])
            ]
            self._db.executemany(insert, [(*row, checksum_of(*row)) for row in rows])
        if rows:
            write_end(self.path, rows[-1][0])

    def read(self, partition: Partition, offset: int, limit: int) -> list[Record]:
        if partition.number != 0:
            raise BenanzaError(
                f"{partition.topic} has no partition {partition.number}: "
                "in an embedded log every topic has partition 0 alone"
            )
        with explained(self.path), self._lock:
            return _fetch(self._db, self.path, {partition: offset}, limit)

    def end_offsets(self, topic: str) -> dict[Partition, int]:
        partition = Partition(topic, 0)
        with explained(self.path), self._lock:
            return {partition: _end_offset(self._db, partition)}

    def consumer(self, group: str, topics: Sequence[str], whole: Sequence[str] = ()) -> Consumer:
        # One member holds everything.
        return SqliteConsumer(self.path, group, (*topics, *whole))

    def waiting(
        self, group: str, topics: Sequence[str], whole: Sequence[str] = ()
    ) -> dict[Partition, int]:
        with explained(self.path), self._lock, self._db:
            self._db.execute("BEGIN")
            committed = _committed(self._db, group)
            return {
                Partition(topic, 0): _count_from(self._db, topic, committed.get(topic, 0))
                for topic in (*topics, *whole)
            }

    def copy_to(self, path: Path) -> None:
        """Writes all that is committed now into a new file, whoever appends meanwhile."""
        with explained(path), self._lock, closing(sqlite3.connect(path)) as copy:
            # In one step, so within one transaction.
            self._db.backup(copy)

    def close(self) -> None:
        self._db.close()


class SqliteConsumer(Consumer):
    """One member of a group. The first to come holds every partition until it leaves."""

    def __init__(self, path: Path, group: str, topics: Sequence[str]) -> None:
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,200}", group):
            raise ValueError(f"{group!r} is no name for a group")
        self._path = path
        self._group = group
        self._partitions = [Partition(topic, 0) for topic in topics]
        self._positions: dict[Partition, int] = {}
        self._rebalances = 0
        self._membership = FileLock(f"{path}.{group}.lock", thread_local=False)
        with explained(path):
            self._db = connect(path)
            self._join()

    def poll(self, limit: int, timeout: float) -> list[Record]:
        deadline = time.monotonic() + timeout
        while True:
            with explained(self._path):
                self._join()
                records = _fetch(self._db, self._path, self._positions, limit)
            left = deadline - time.monotonic()
            if records or left <= 0:
                break
            time.sleep(min(POLL_INTERVAL_S, left))
        self._positions |= {record.partition: record.offset + 1 for record in records}
        return records

    def commit(self) -> None:
        rows = [(self._group, p.topic, offset) for p, offset in self._positions.items()]
        with explained(self._path), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT OR REPLACE INTO committed VALUES (?, ?, ?)", rows)

    def claim(self, least: int) -> int | None:
        if not self._positions:
            return None
        with explained(self._path), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            claim = max(least, _committed(self._db, self._group).get(CLAIM, 0) + 1)
            row = (self._group, CLAIM, claim)
            self._db.execute("INSERT OR REPLACE INTO committed VALUES (?, ?, ?)", row)
        return claim

    def position(self) -> dict[Partition, int]:
        return dict(self._positions)

    def seek(self, partition: Partition, offset: int) -> None:
        if partition not in self._positions:
            raise BenanzaError(
                f"this consumer of group {self._group} doesn't hold {partition.topic}, partition "
                f"{partition.number}: stop the other consumers of the group first"
            )
        with explained(self._path):
            end = _end_offset(self._db, partition)
        if not 0 <= offset <= end:
            raise BenanzaError(f"{partition.topic} has offsets from 0 to {end:,}, not {offset:,}")
        self._positions[partition] = offset

    def seek_to_time(self, when: datetime) -> None:
        first = (
            'SELECT "offset" FROM events WHERE topic = ? AND timestamp_us >= ? '
            'ORDER BY "offset" LIMIT 1'
        )
        with explained(self._path):
            for partition in self._positions:
                timestamp_us = (when - EPOCH) // MICROSECOND
                row = self._db.execute(first, (partition.topic, timestamp_us)).fetchone()
                end = _end_offset(self._db, partition)
                self._positions[partition] = row[0] if row else end

    def lag(self) -> dict[Partition, int]:
        with explained(self._path):
            return {
                partition: _count_from(self._db, partition.topic, offset)
                for partition, offset in self._positions.items()
            }

    def rebalances(self) -> int:
        return self._rebalances

    def close(self) -> None:
        self._db.close()
        self._positions = {}
        self._membership.release(force=True)

    def _join(self) -> None:
        """Takes the group's partitions, at what it has committed, if nobody holds them."""
        if self._positions:
            return
        try:
            self._membership.acquire(blocking=False)
        except Timeout:
            return
        committed = _committed(self._db, self._group)
        self._positions = {p: committed.get(p.topic, 0) for p in self._partitions}
        self._rebalances += 1


def connect(path: Path) -> sqlite3.Connection:
    """A connection in autocommit mode, whose commits wait for the disk."""
    db = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    db.execute("PRAGMA synchronous = FULL")
    return db


def _create_or_check(path: Path) -> None:
    """Makes the tables in a new file; raises `BenanzaError` if an old one isn't our log."""
    with closing(connect(path)) as db:
        application_id = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if (application_id, version, tables) == (0, 0, 0):
            db.execute("PRAGMA journal_mode = WAL")
            with db:
                db.execute("BEGIN IMMEDIATE")
                for statement in SCHEMA:
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif application_id != APPLICATION_ID:
            raise BenanzaError(_not_a_log(path))
        elif version == 1:
            with db:
                db.execute("BEGIN IMMEDIATE")
                db.execute(CHECKSUMS)
                db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif version != SCHEMA_VERSION:
            raise BenanzaError(
                f"{path} is an event log of version {version}, and this version of benanza reads "
                f"version {SCHEMA_VERSION}: upgrade benanza, or name another folder"
            )


def _fetch(
    db: sqlite3.Connection, path: Path, positions: Mapping[Partition, int], limit: int
) -> list[Record]:
    """The next records after these positions, in order of append over all their topics."""
    after = f'SELECT {RECORD} FROM events WHERE topic = ? AND "offset" >= ? ORDER BY "offset"'
    records: list[Record] = []
    bytes_left = MAX_BATCH_BYTES
    # A cursor reads a row at a time; closing it ends its hold on the write-ahead log. The
    # transaction gives all of them the same moment: else what is appended between two of them is
    # seen by the second alone.
    with db, ExitStack() as cursors:
        db.execute("BEGIN")
        rows = [
            cursors.enter_context(closing(db.execute(after, (partition.topic, offset))))
            for partition, offset in positions.items()
        ]
        for *row, checksum in islice(merge(*rows), limit):
            if not is_intact(row, checksum):
                raise BenanzaError(damaged(path, f"record {row[0]:,} isn't what was stored"))
            offset, topic, timestamp_us, key, value = row
            timestamp = EPOCH + timestamp_us * MICROSECOND
            records.append(Record(Partition(topic, 0), offset, timestamp, key, value))
            bytes_left -= len(value)
            if bytes_left <= 0:
                break
    return records


def seal_file(path: Path) -> Path:
    """The file beside a log of which `sqlite_seal` says more."""
    return path.with_name(f"{path.name}.seal")


def write_end(path: Path, last: int) -> None:
    """Writes the last offset into the seal, which no longer says what the log's file is."""
    # What was appended is; it is only less certain that its loss would be seen.
    with suppress(OSError), seal_file(path).open("wb", buffering=0) as file:
        file.write(b"%020d\n" % last)


def checksum_of(offset: int, topic: str, timestamp_us: int, key: bytes, value: bytes) -> int:
    """CRC-32C of a whole record."""
    head = f"{offset} {topic} {timestamp_us} {len(key)} ".encode()
    return crc32c(value, crc32c(key, crc32c(head)))


def is_intact(row: Sequence[Any], checksum: object) -> bool:
    """Whether a row is what was appended; one of version 1 has no checksum."""
    if not (isinstance(row[3], bytes) and isinstance(row[4], bytes)):
        return False
    return checksum is None or checksum == checksum_of(*row)


def _committed(db: sqlite3.Connection, group: str) -> dict[str, int]:
    """From where the group goes on in each topic of which it has committed something."""
    rows = "SELECT topic, next_offset FROM committed WHERE consumer_group = ?"
    return dict(db.execute(rows, (group,)).fetchall())


def _count_from(db: sqlite3.Connection, topic: str, offset: int) -> int:
    """How many records of the topic are at this offset or behind it."""
    count = 'SELECT count(*) FROM events WHERE topic = ? AND "offset" >= ?'
    number: int = db.execute(count, (topic, offset)).fetchone()[0]
    return number


def _end_offset(db: sqlite3.Connection, partition: Partition) -> int:
    last = 'SELECT coalesce(max("offset") + 1, 0) FROM events WHERE topic = ?'
    end: int = db.execute(last, (partition.topic,)).fetchone()[0]
    return end


def _not_a_log(path: Path) -> str:
    return f"{path} is not an event log of benanza: move it away, or name another folder"


def damaged(path: Path, what: str) -> str:
    """What to do about a damaged log: nothing else has its records."""
    return (
        f"{path} is damaged ({what}): put back a backup of {path.parent} as a whole, or name "
        "another folder and publish and import again"
    )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns what the disk, the file system and other processes can cause into `BenanzaError`.

    Primary result codes: https://www.sqlite.org/rescode.html
    """
    try:
        yield
    except sqlite3.Error as error:
        reasons = {
            sqlite3.SQLITE_NOTADB: _not_a_log(path),
            sqlite3.SQLITE_CORRUPT: damaged(path, str(error)),
            sqlite3.SQLITE_FULL: f"no room for {path}: free some space on its disk, then repeat",
            sqlite3.SQLITE_IOERR: f"the disk failed on {path} ({error}): check disk and quota",
            sqlite3.SQLITE_BUSY: f"another process has kept {path} locked for over "
            f"{BUSY_TIMEOUT_S:.0f} s: stop it, then repeat",
        } | dict.fromkeys(
            (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM),
            f"can't write {path}: give yourself the right to, or name another folder",
        )
        # The low byte of an extended code is the primary one; misuse has no code at all.
        reason = reasons.get(getattr(error, "sqlite_errorcode", -1) & 0xFF)
        if reason is None:
            raise
        raise BenanzaError(reason) from error
    except OSError as error:
        raise BenanzaError(
            f"can't write {path} ({error.strerror}): name another folder, or mend that"
        ) from error
