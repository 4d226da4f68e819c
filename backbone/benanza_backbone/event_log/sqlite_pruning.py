"""Takes out of the embedded log what Kafka would drop of the same topics.

Of a compacted topic that is each event but the last of its key, of a topic that isn't kept for
ever what is too old. Unlike Kafka, this leaves what a group has still to read, and the names of
models.
"""

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from benanza_backbone.event_log.sqlite_log import EPOCH, MICROSECOND, connect, explained
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, OF_SYSTEMS
from benanza_schemas.topics import CHECKPOINTS, COMPACTED, KEPT_FOR

# The key of a checkpoint is its model, which may have several names, each in an event of its own.
LAST_OF_KEY = sorted(COMPACTED - {CHECKPOINTS})

# The last event of a topic stays: its end is told by it, and a new event gets the offset behind
# the last of all.
SUPERSEDED = """
    DELETE FROM events WHERE topic = :topic AND "offset" < :processed
    AND "offset" NOT IN (SELECT max("offset") FROM events WHERE topic = :topic GROUP BY key)
"""
OUTDATED = """
    DELETE FROM events WHERE topic = :topic AND "offset" < :processed
    AND timestamp_us < :since_us
    AND "offset" < (SELECT max("offset") FROM events WHERE topic = :topic)
"""


class Pruning(NamedTuple):
    """How many events went, and the bytes of the log's file before and after."""

    events: int
    bytes_before: int
    bytes_after: int


def prune(path: Path, now: datetime) -> Pruning:
    """Prunes the log in this file, and gives the room back to the disk.

    Meanwhile it takes as much room again. Raises `BenanzaError` if the file can't be written, or
    another process keeps it locked.
    """
    with explained(path), closing(connect(path)) as db:
        bytes_before = _file_bytes(db, path)
        with db:
            db.execute("BEGIN IMMEDIATE")
            events = sum(_superseded(db, topic) for topic in LAST_OF_KEY)
            for topic, kept_for in KEPT_FOR.items():
                since_us = (now - kept_for - EPOCH) // MICROSECOND
                events += _outdated(db, topic, since_us)
        db.execute("VACUUM")
        return Pruning(events, bytes_before, _file_bytes(db, path))


def _file_bytes(db: sqlite3.Connection, path: Path) -> int:
    """The size of the file, after what stands beside it in the write-ahead log is written there."""
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size


def _superseded(db: sqlite3.Connection, topic: str) -> int:
    bound = {"topic": topic, "processed": _processed(db, topic)}
    return db.execute(SUPERSEDED, bound).rowcount


def _outdated(db: sqlite3.Connection, topic: str, since_us: int) -> int:
    bound = {"topic": topic, "processed": _processed(db, topic), "since_us": since_us}
    return db.execute(OUTDATED, bound).rowcount


def _processed(db: sqlite3.Connection, topic: str) -> int:
    """The offset up to which all groups that read the topic have committed it.

    Embedded, jobs are taken from the log itself: a runner's group commits nothing. No agents are.
    """
    groups = [
        group.name
        for service, group in CONSUMER_GROUPS.items()
        if service not in OF_SYSTEMS and topic in (*group.topics, *group.whole)
    ]
    asked = "SELECT next_offset FROM committed WHERE consumer_group = ? AND topic = ?"
    rows = [db.execute(asked, (group, topic)).fetchone() for group in groups]
    return min((row[0] if row else 0 for row in rows), default=0)
