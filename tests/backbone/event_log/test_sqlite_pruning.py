"""Pruning: what goes of an embedded log, and what every reader still finds."""

import sqlite3
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log import sqlite_log
from benanza_backbone.event_log.event_log import Message, Record
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.event_log.sqlite_pruning import prune
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, OF_SYSTEMS
from benanza_schemas.topics import (
    BOUNDS,
    GRAPHS,
    JOBS,
    KEPT_FOR,
    LAYERS,
    TOPICS,
)

NOW = datetime.now(UTC)
LATER = NOW + timedelta(days=8)

GROUPS = [group for service, group in CONSUMER_GROUPS.items() if service not in OF_SYSTEMS]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.sqlite"


def _append(log: SqliteEventLog, topic: str, keys: str) -> None:
    """An event for each letter, which is its key."""
    log.append([Message(topic, key.encode(), f"{key}{n}".encode()) for n, key in enumerate(keys)])


def _process(log: SqliteEventLog, events: int = 1000, groups: list[str] | None = None) -> None:
    """Lets each group read so many events, and commit."""
    for group in GROUPS:
        if groups is None or group.name in groups:
            with log.consumer(group.name, group.topics, group.whole) as consumer:
                consumer.poll(events, 0)
                consumer.commit()


def _values(log: SqliteEventLog, topic: str) -> list[bytes]:
    return [record.value for record in log.records(topic)]


@pytest.mark.parametrize("topic", [BOUNDS, GRAPHS, JOBS])
def test_the_last_event_of_each_key_stays(path: Path, topic: str) -> None:
    with SqliteEventLog(path) as log:
        _append(log, topic, "abacab")
        _process(log)
        assert prune(path, NOW).events == 3
        assert _values(log, topic) == [b"c3", b"a4", b"b5"]
        assert prune(path, LATER).events == 0


def test_layers_stay_for_a_week(path: Path) -> None:
    with SqliteEventLog(path) as log:
        _append(log, LAYERS, "aab")
        _process(log)
        assert prune(path, NOW + KEPT_FOR[LAYERS] - timedelta(minutes=1)).events == 0
        assert prune(path, LATER).events == 2
        assert _values(log, LAYERS) == [b"b2"]


@pytest.mark.parametrize("topic", sorted({*TOPICS} - {BOUNDS, GRAPHS, JOBS, *KEPT_FOR}))
def test_of_other_topics_everything_stays(path: Path, topic: str) -> None:
    """Of checkpoints as well: a model has an event for each of its names, under one key."""
    with SqliteEventLog(path) as log:
        _append(log, topic, "aaa")
        _process(log)
        assert prune(path, LATER).events == 0


@pytest.mark.parametrize("topic", [GRAPHS, JOBS, BOUNDS, LAYERS])
def test_what_a_group_has_still_to_read_stays(path: Path, topic: str) -> None:
    readers = [group.name for group in GROUPS if topic in group.topics]
    with SqliteEventLog(path) as log:
        _append(log, topic, "aaaa")
        assert prune(path, LATER).events == 0
        _process(log, groups=readers[:-1])
        assert prune(path, LATER).events == 0
        _process(log, events=2, groups=readers)
        assert prune(path, LATER).events == 2
        assert _values(log, topic)[-1] == b"a3"


def test_offsets_grow_on_and_groups_go_on_where_they_were(path: Path) -> None:
    with SqliteEventLog(path) as log:
        _append(log, GRAPHS, "aa")
        _append(log, LAYERS, "aaa")
        _process(log)
        before = {topic: log.end_offsets(topic) for topic in TOPICS}
        prune(path, LATER)
        assert {topic: log.end_offsets(topic) for topic in TOPICS} == before
        _append(log, LAYERS, "b")
        _append(log, BOUNDS, "c")
        for group in GROUPS:
            with log.consumer(group.name, group.topics, group.whole) as consumer:
                read = {record.value for record in consumer.poll(10, 0)}
                due = {LAYERS: {b"b0"}, BOUNDS: {b"c0"}}
                assert read == set().union(*(due.get(topic, set()) for topic in group.topics))


def test_the_file_becomes_smaller(path: Path) -> None:
    with SqliteEventLog(path) as log:
        for n in range(20):
            log.append([Message(BOUNDS, b"key", bytes([n]) * 100_000)])
        _process(log)
        found = prune(path, NOW)
    assert found.events == 19
    assert found.bytes_before > 2_000_000 > 500_000 > found.bytes_after
    assert path.stat().st_size == found.bytes_after


def test_a_log_that_is_locked_is_left_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_log, "BUSY_TIMEOUT_S", 0.1)
    with SqliteEventLog(path) as log:
        _append(log, GRAPHS, "aa")
        _process(log)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(BenanzaError, match="locked"):
                prune(path, NOW)
        assert len(_values(log, GRAPHS)) == 2


EVENTS = st.lists(st.tuples(st.sampled_from(TOPICS), st.sampled_from("abc")), max_size=30)


@given(
    events=EVENTS,
    more=EVENTS,
    read=st.lists(st.integers(0, 30), min_size=len(GROUPS), max_size=len(GROUPS)),
)
def test_what_a_compacted_log_says_stays(
    events: list[tuple[str, str]], more: list[tuple[str, str]], read: list[int]
) -> None:
    """The last event of each key of a compacted topic, all that a group hasn't read, and all that
    is appended afterwards, in order.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.sqlite"
        with SqliteEventLog(path) as log:
            _append_all(log, events)
            for group, count in zip(GROUPS, read, strict=True):
                if count:
                    _process(log, count, [group.name])
            waiting = {group.name: _waiting(log, group.name) for group in GROUPS}
            last = _last(log)
            prune(path, LATER)
            assert _last(log) == last
            assert {group.name: _waiting(log, group.name) for group in GROUPS} == waiting
            former = max((r.offset for topic in TOPICS for r in log.records(topic)), default=-1)
            _append_all(log, more)
            new = [r for topic in TOPICS for r in log.records(topic) if r.offset > former]
            assert len(new) == len(more)


def _append_all(log: SqliteEventLog, events: list[tuple[str, str]]) -> None:
    for number, (topic, key) in enumerate(events):
        log.append([Message(topic, key.encode(), str(number).encode())])


def _waiting(log: SqliteEventLog, name: str) -> list[Record]:
    (group,) = (group for group in GROUPS if group.name == name)
    with log.consumer(name, group.topics, group.whole) as consumer:
        return consumer.poll(1000, 0)


def _last(log: SqliteEventLog) -> dict[tuple[str, bytes], Record]:
    topics = [topic for topic in TOPICS if topic not in KEPT_FOR]
    return {(topic, record.key): record for topic in topics for record in log.records(topic)}
