"""The SQLite adapter: the contract, and what it promises or refuses beyond it."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

import pytest

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log import sqlite_log
from benanza_backbone.event_log.event_log import EventLog, Message, Partition, Record
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from tests.backbone.event_log.event_log_contract import (
    EventLogContract,
    drain,
    numbered,
    values,
    values_of,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "events.sqlite"


class TestSqliteEventLog(EventLogContract):
    @pytest.fixture
    def open_log(self, path: Path) -> Callable[[], EventLog]:
        return lambda: SqliteEventLog(path)


def test_append_is_all_or_nothing(path: Path) -> None:
    with SqliteEventLog(path) as log:
        log.append(numbered("a", 2))
        not_bytes = cast(bytes, None)
        with pytest.raises(TypeError):
            log.append([*numbered("a", 2), *numbered("b", 2), Message("b", b"k", not_bytes)])
        log.append(numbered("b", 1))
        assert values(log.read(Partition("a", 0), 0, 10)) == values_of(2)
        assert values(log.read(Partition("b", 0), 0, 10)) == values_of(1)


def test_topics_come_in_the_order_in_which_they_were_appended(path: Path) -> None:
    messages = [Message(f"topic-{n % 3}", b"", str(n).encode()) for n in range(100)]
    with SqliteEventLog(path) as log:
        log.append(messages)
        with log.consumer("g", ["topic-2", "topic-0", "topic-1"]) as consumer:
            polls = [values(consumer.poll(limit=9, timeout=0)) for _ in range(12)]
    assert [v for polled in polls for v in polled] == values_of(100)


def test_what_is_appended_amid_a_poll_does_not_come_before_what_was_appended_first(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came out of order where the first topic's turn was over before the append."""

    def amid(db: sqlite3.Connection, *rest: object) -> list[Record]:
        looks = []

        def look(statement: str) -> None:
            looks.append(statement)
            if "topic = 'b'" in statement and len(looks) <= 3:
                log.append([*numbered("a", 1), *numbered("b", 1)])

        db.set_trace_callback(look)
        return fetch(db, *rest)  # type: ignore[arg-type]

    fetch = sqlite_log._fetch
    monkeypatch.setattr(sqlite_log, "_fetch", amid)
    with SqliteEventLog(path) as log, log.consumer("g", ["a", "b"]) as consumer:
        polled = [record for _ in range(3) for record in consumer.poll(9, timeout=0)]
    assert [record.partition.topic for record in polled[:2]] == ["a", "b"]


def test_large_events_come_a_few_at_a_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_log, "MAX_BATCH_BYTES", 2_500)
    with SqliteEventLog(path) as log:
        log.append([Message("a", b"", bytes(1_000))] * 7)
        with log.consumer("g", ["a"]) as consumer:
            assert [len(consumer.poll(10, timeout=0)) for _ in range(4)] == [3, 3, 1, 0]
        assert len(log.read(Partition("a", 0), 0, 10)) == 3


def test_every_commit_waits_for_the_disk(path: Path) -> None:
    with SqliteEventLog(path) as log, log.consumer("g", ["a"]) as consumer:
        assert isinstance(consumer, sqlite_log.SqliteConsumer)
        for db in (log._db, consumer._db):
            assert db.execute("PRAGMA synchronous").fetchone() == (2,)
            assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


APPENDER = """
import sys
from pathlib import Path
from benanza_backbone.event_log.event_log import Message
from benanza_backbone.event_log.sqlite_log import SqliteEventLog

with SqliteEventLog(Path(sys.argv[1])) as log:
    for number in range(100):
        log.append([Message("a", sys.argv[2].encode(), str(number).encode())])
"""


@pytest.mark.integration
def test_processes_append_and_consume_at_once(path: Path) -> None:
    """They open the file at the same moment as well: the first of them makes it."""
    appenders = [subprocess.Popen([sys.executable, "-c", APPENDER, path, str(n)]) for n in range(4)]
    records: list[Record] = []
    deadline = time.monotonic() + 30
    with SqliteEventLog(path) as log, log.consumer("g", ["a"]) as consumer:
        while len(records) < 400 and time.monotonic() < deadline:
            records += consumer.poll(limit=50, timeout=0.2)
            consumer.commit()
    assert [appender.wait(10) for appender in appenders] == [0, 0, 0, 0]
    for n in range(4):
        assert values(r for r in records if r.key == str(n).encode()) == values_of(100)


@pytest.mark.slow
def test_hundreds_of_thousands_of_events(path: Path) -> None:
    count, batch = 200_000, 10_000
    start = time.process_time()
    with SqliteEventLog(path) as log, log.consumer("g", ["layers", "jobs"]) as consumer:
        for first in range(0, count, batch):
            log.append([Message("layers", b"k" * 32, b"v" * 230)] * batch)
            assert sum(consumer.lag().values()) == first + batch
        polled = 0
        while records := consumer.poll(limit=500, timeout=0):
            polled += len(records)
            consumer.commit()
    assert polled == count
    # 2 s here; a scan for each poll, or a transaction for each event, takes minutes.
    assert time.process_time() - start < 20


# Files that are no log of ours


def test_a_file_that_is_no_database(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"These are my notes, not a database. " * 100)
    with pytest.raises(BenanzaError, match=f"{path} is not an event log .* move it away"):
        SqliteEventLog(path)
    assert path.read_bytes().startswith(b"These are my notes")


def test_a_database_of_something_else(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE events (id INTEGER)")
    before = path.read_bytes()
    with pytest.raises(BenanzaError, match="is not an event log"):
        SqliteEventLog(path)
    assert path.read_bytes() == before


def test_a_log_of_another_version(path: Path) -> None:
    SqliteEventLog(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(BenanzaError, match=r"version 99, and .* reads version 2: upgrade"):
        SqliteEventLog(path)


def test_a_damaged_log(path: Path) -> None:
    with SqliteEventLog(path) as log:
        log.append([Message("a", b"k", bytes(500))] * 100)
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xa5" * len(content[8192:])
    path.write_bytes(content)
    with (
        pytest.raises(BenanzaError, match=r"is damaged .*put back a backup"),
        SqliteEventLog(path) as log,
    ):
        log.read(Partition("a", 0), 0, 100)


@pytest.mark.parametrize(
    "change",
    [
        "value = x'00'",
        "value = 'text'",
        "key = x'00'",
        "timestamp_us = timestamp_us + 1",
        '"offset" = 7',
        "topic = 'b'",
        "checksum = checksum + 1",
    ],
)
def test_a_changed_record_is_not_read(change: str, path: Path) -> None:
    with SqliteEventLog(path) as log, log.consumer("g", ["a", "b"]) as consumer:
        log.append(numbered("a", 3))
        log._db.execute(f'UPDATE events SET {change} WHERE "offset" = 3')
        says = r"is damaged \(record \d isn't what .*put back a backup"
        with pytest.raises(BenanzaError, match=says):
            log.read(Partition("a", 0), 0, 10) + log.read(Partition("b", 0), 0, 10)
        with pytest.raises(BenanzaError, match=says):
            consumer.poll(10, timeout=0)


def test_a_log_of_version_1_gets_checksums_from_then_on(path: Path) -> None:
    SqliteEventLog(path).close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("ALTER TABLE events DROP COLUMN checksum")
        db.execute("INSERT INTO events VALUES (1, 'a', 5, x'00', x'01')")
        db.execute("PRAGMA user_version = 1")
    with SqliteEventLog(path) as log:
        log.append([Message("a", b"k", b"later")])
        assert values(log.read(Partition("a", 0), 0, 10)) == [b"\1", b"later"]
        checksums = log._db.execute("SELECT checksum IS NULL FROM events ORDER BY 1").fetchall()
    assert checksums == [(0,), (1,)]


# What the system refuses


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Without root's right to write everywhere."""
    nobody = 65534
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(nobody)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    # pytest's own folders are closed to other users.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        yield Path(folder)
        Path(folder).chmod(0o755)


def test_a_folder_that_may_not_be_written(read_only_folder: Path) -> None:
    for path in (read_only_folder / "events.sqlite", read_only_folder / "new" / "events.sqlite"):
        with (
            as_ordinary_user(),
            pytest.raises(BenanzaError, match=f"can't write {path} .*name another folder"),
        ):
            SqliteEventLog(path)


def test_a_log_that_may_not_be_written(read_only_folder: Path) -> None:
    path = read_only_folder / "events.sqlite"
    read_only_folder.chmod(0o755)
    SqliteEventLog(path).close()
    for file in read_only_folder.iterdir():
        file.chmod(0o444)
    (read_only_folder / "events.sqlite.lock").chmod(0o666)
    read_only_folder.chmod(0o555)
    with as_ordinary_user(), pytest.raises(BenanzaError, match=f"can't write {path}"):
        SqliteEventLog(path).append(numbered("a", 1))


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BenanzaError, match=r"can't write .* name another folder"):
        SqliteEventLog(tmp_path / "file" / "events.sqlite")


def test_a_full_disk_loses_nothing_and_the_log_goes_on_when_there_is_room(path: Path) -> None:
    with SqliteEventLog(path) as log:
        log.append(numbered("a", 3))
        pages = log._db.execute("PRAGMA page_count").fetchone()[0]
        log._db.execute(f"PRAGMA max_page_count = {pages + 4}")
        with pytest.raises(BenanzaError, match=f"no room for {path}: free some space"):
            log.append([Message("a", b"k", bytes(50_000))] * 2)
        log._db.execute("PRAGMA max_page_count = 1000000")
        log.append([Message("a", b"k", b"later")])
        assert values(log.read(Partition("a", 0), 0, 10)) == [*values_of(3), b"later"]


LIMITED_APPENDER = """
import resource, sys
from pathlib import Path
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Message
from benanza_backbone.event_log.sqlite_log import SqliteEventLog

log = SqliteEventLog(Path(sys.argv[1]))
log.append([Message("a", b"k", b"small")])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    log.append([Message("a", b"k", bytes(1_000_000))])
except BenanzaError as error:
    sys.exit(str(error))
"""


def test_a_disk_that_takes_no_more(path: Path) -> None:
    """The system refuses the write itself, as it does beyond a quota."""
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED_APPENDER, path], capture_output=True, text=True, timeout=60
    )
    assert ran.stderr.startswith(f"the disk failed on {path} ("), ran.stderr
    assert ran.stderr.endswith("): check disk and quota\n")
    with SqliteEventLog(path) as log:
        assert values(log.read(Partition("a", 0), 0, 10)) == [b"small"]


def test_a_lock_that_is_never_given_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_log, "BUSY_TIMEOUT_S", 0.1)
    with SqliteEventLog(path) as log, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BenanzaError, match=r"another process has kept .* locked"):
            log.append(numbered("a", 1))
        other.rollback()
        log.append(numbered("a", 1))
        with log.consumer("g", ["a"]) as consumer:
            assert values(drain(consumer)) == values_of(1)
