"""Answers of a store: kept while the log is as it was, and never another's."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benanza.installation import answers
from benanza.installation.answers import FOLDER, KnownAnswers, RememberingStore, Rows
from benanza.looking.bounds import known_bounds
from benanza.request import BoundPolicy
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from tests.backbone.sample_events import MODEL, SYSTEM_MEASURED
from tests.benanza.recorded import MODELS, recorded_models

ROWS: Rows = [
    {
        "name": "µ",
        "tuples": [("a", 1.5, None), ("b", float("inf"), {"c": (1,)})],
        "at": datetime(2026, 11, 28, 12, 0, 0, 123456, tzinfo=UTC),
    }
]


class Asked(Store):
    """A store that says the same to every question, and counts them."""

    seal = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.asked: list[tuple[str, Mapping[str, object] | None]] = []

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> Rows:
        self.asked.append((sql, parameters))
        return self.rows

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with a model."""
    path = tmp_path / "events.sqlite"
    append(path, MODEL)
    return path


def append(path: Path, event: Any) -> None:
    with SqliteEventLog(path) as log:
        log.append([as_message(event)])


def looked(log: Path, store: Store, *questions: str) -> list[Rows]:
    """What a look in a process of its own is answered."""
    with RememberingStore(lambda: store, KnownAnswers(log.parent, log)) as remembering:
        return [remembering.query(question, {"of": ["x"]}) for question in questions]


def test_a_question_is_asked_once_and_its_answer_is_what_it_was(log: Path) -> None:
    store = Asked(ROWS)
    assert looked(log, store, "SELECT 1") == [ROWS]
    assert looked(log, store, "SELECT 1") == [ROWS]
    assert store.asked == [("SELECT 1", {"of": ["x"]})]
    looked(log, store, "SELECT 2")
    assert len(store.asked) == 2


def test_a_further_record_makes_former_answers_void_and_deletes_them(log: Path) -> None:
    looked(log, Asked(ROWS), "SELECT 1", "SELECT 2")
    append(log, SYSTEM_MEASURED)
    assert looked(log, Asked([]), "SELECT 1") == [[]]
    assert len(list((log.parent / FOLDER).rglob("*"))) == 2  # a state, and its one answer


def test_so_does_another_migration(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked(log, Asked(ROWS), "SELECT 1")
    monkeypatch.setattr(answers, "shipped", list)
    assert looked(log, Asked([]), "SELECT 1") == [[]]


@pytest.mark.parametrize("damage", [b"", b"00000000\nnonsense", b"\x00" * 40])
def test_a_damaged_answer_is_asked_for_again(log: Path, damage: bytes) -> None:
    looked(log, Asked(ROWS), "SELECT 1")
    (path,) = (path for path in (log.parent / FOLDER).rglob("*") if path.is_file())
    path.write_bytes(damage)
    assert looked(log, Asked(ROWS), "SELECT 1") == [ROWS]
    assert looked(log, Asked([]), "SELECT 1") == [ROWS]


def test_long_answers_and_those_that_cannot_be_written_are_not_kept(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MOST_BYTES", 10)
    assert looked(log, Asked(ROWS), "SELECT 1") == [ROWS]
    assert looked(log, Asked([{"a": object()}]), "SELECT 1")[0] != ROWS
    assert not (log.parent / FOLDER).exists()


def test_the_oldest_answers_make_room(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked(log, Asked([{"a": "x" * 1000}]), "SELECT 1")
    (path,) = (path for path in (log.parent / FOLDER).rglob("*") if path.is_file())
    monkeypatch.setattr(answers, "MOST_KEPT_BYTES", 3 * path.stat().st_size)
    store = Asked([{"a": "x" * 1000}])
    looked(log, store, "SELECT 2", "SELECT 3", "SELECT 4")
    asked = [sql for sql, _ in store.asked]
    assert asked == ["SELECT 2", "SELECT 3", "SELECT 4"]
    looked(log, store, "SELECT 2", "SELECT 3", "SELECT 4")
    assert len(store.asked) == 3
    looked(log, store, "SELECT 1")
    assert len(store.asked) == 4


@pytest.mark.integration
def test_a_second_look_is_the_same_without_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = recorded_models(tmp_path / "data")
    policy = BoundPolicy((), fusion=True, accounting="full")
    first = known_bounds(settings, (), policy, {}, None)
    monkeypatch.setattr(Store, "open", lambda *_, **__: pytest.fail("the engine was started"))
    assert known_bounds(settings, (), policy, {}, None) == first
    assert {bound.model for bound in first.bounds} == set(MODELS)
