"""A log that isn't what was left is refused in one line; a crash is no damage."""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Message, Partition
from benanza_backbone.event_log.sqlite_log import LogMark, SqliteEventLog, seal_file
from benanza_backbone.event_log.sqlite_seal import check_marks, marks, sealed_log
from tests.backbone.event_log.event_log_contract import numbered


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log of a hundred records, closed."""
    path = tmp_path / "data" / "events.sqlite"
    with sealed_log(path) as log:
        log.append(numbered("results", 100))
    return path


@pytest.fixture
def crashed(path: Path, tmp_path: Path) -> Path:
    """A copy of the log as a process left it that was killed after another hundred."""
    copy = tmp_path / "crashed" / "events.sqlite"
    with sealed_log(path) as log:
        log.append(numbered("results", 100))
        shutil.copytree(path.parent, copy.parent)
    return copy


def opened(path: Path) -> int:
    with sealed_log(path) as log:
        return len(log.read(Partition("results", 0), 0, 1000))


def test_a_closed_log_is_opened_again(path: Path) -> None:
    assert [opened(path) for _ in range(3)] == [100] * 3
    assert len(seal_file(path).read_text().split()) == 3


def test_a_crash_is_no_damage(crashed: Path) -> None:
    assert seal_file(crashed).read_text() == f"{200:020d}\n"
    assert opened(crashed) == 200
    assert len(seal_file(crashed).read_text().split()) == 3


def test_what_is_written_while_another_reads_is_no_damage(path: Path) -> None:
    """It stays beside the file until the reader is done."""
    old = time.time() - 60
    os.utime(path, (old, old))
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        with sealed_log(path) as log:
            log.append(numbered("results", 1))
    assert [opened(path) for _ in range(2)] == [101] * 2
    assert len(seal_file(path).read_text().split()) == 3


def test_a_log_without_a_seal_is_checked(path: Path) -> None:
    seal_file(path).unlink()
    assert opened(path) == 100


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0x10
    path.write_bytes(content)


def forged(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute('DELETE FROM events WHERE "offset" = 50')


DAMAGES: dict[str, Callable[[Path], object]] = {
    "flipped": lambda path: flip(path, -3),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:8192]),
    "gone": lambda path: path.unlink(),
    "another program's": forged,
    "a foreign write-ahead log": lambda path: path.with_name(f"{path.name}-wal").write_bytes(b"x"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_log_is_refused(damage: str, path: Path) -> None:
    DAMAGES[damage](path)
    for _ in range(2):
        with pytest.raises(BenanzaError, match=r"^[^\n]*put back a backup[^\n]*$"):
            opened(path)


@pytest.mark.parametrize("place", range(-20_000, 0, 1_999))
def test_damage_after_a_crash_is_seen(place: int, crashed: Path) -> None:
    """If it isn't refused it was where nothing is stored."""
    with closing(sqlite3.connect(crashed)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    flip(crashed, place)
    with suppress(BenanzaError):
        assert opened(crashed) == 200


def test_a_lost_write_ahead_log_is_seen(crashed: Path) -> None:
    crashed.with_name(f"{crashed.name}-wal").unlink()
    with pytest.raises(BenanzaError, match=r"ends before record 200\): put back"):
        opened(crashed)


def test_a_log_that_the_store_was_not_filled_from(path: Path, tmp_path: Path) -> None:
    seen = marks(path, ["results", "jobs"])
    assert seen.keys() == {"results"}
    with SqliteEventLog(path) as log:
        log.append(numbered("results", 5))
    check_marks(path, tmp_path, seen)
    for other in (LogMark(100, 1), LogMark(106, seen["results"].checksum)):
        with pytest.raises(BenanzaError, match="isn't the log of this folder"):
            check_marks(path, tmp_path, {"results": other})


def test_what_was_pruned_is_not_missed(path: Path, tmp_path: Path) -> None:
    with SqliteEventLog(path) as log:
        log.append([Message("bounds", b"k", b"1"), Message("bounds", b"k", b"2")])
        seen = {"bounds": LogMark(101, 5)}
        with pytest.raises(BenanzaError):
            check_marks(path, tmp_path, seen)
        log._db.execute('DELETE FROM events WHERE "offset" = 101')
    check_marks(path, tmp_path, seen)
