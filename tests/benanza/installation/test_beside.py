"""A folder is looked at while another process is at work in it."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from filelock import FileLock

from benanza.installation import beside, embedded
from benanza.installation.answers import Rows
from benanza.installation.beside import copy_store, store_beside
from benanza.installation.configured import known_store
from benanza.installation.embedded import LOCK_FILE, opened_log
from benanza_backbone.clickhouse import connection
from benanza_backbone.clickhouse.connection import LOCK_FILE as STORE_LOCK_FILE
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.holder import write_holder
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from tests.backbone.sample_events import SYSTEM_MEASURED
from tests.benanza.conftest import PROGRAM, Benanza, environment, without_progress
from tests.benanza.data_folder import settings_in
from tests.benanza.embedded_run import FoundBounds, comparable, run_embedded
from tests.benanza.processes import until
from tests.shared import copied

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one model's bounds."""
    folder = tmp_path_factory.mktemp("measured") / "data"
    run_embedded(["zoo:squeezenet"], folder)
    return folder


@pytest.fixture
def settings(measured: Path, tmp_path: Path) -> Settings:
    """A copy of that folder, for one test."""
    copied(measured, tmp_path / "data")
    return settings_in(tmp_path / "data")


@pytest.fixture
def taken(settings: Settings) -> Iterator[None]:
    with FileLock(settings.data / LOCK_FILE):
        yield


def bounds(settings: Settings) -> FoundBounds:
    with known_store(settings) as store:
        return comparable(store)


def results(data: Path) -> int:
    """How many there are, read past the program."""
    with closing(sqlite3.connect(data / "events.sqlite")) as db:
        (found,) = db.execute("SELECT count() FROM events WHERE topic = 'results'").fetchone()
        return int(found)


def files(folder: Path) -> dict[Path, bytes]:
    return {
        path: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if not path.is_symlink()
        if path.is_file() and path.suffix not in (".lock", ".sqlite-shm")
    }


def test_the_bounds_are_the_same_whoever_has_the_folder(settings: Settings) -> None:
    alone = bounds(settings)
    assert {bound.model for bound in alone.bounds} == {"squeezenet"}
    before = files(settings.data)
    with FileLock(settings.data / LOCK_FILE):
        assert bounds(settings) == alone
        # The store is in use as well: so it can't be copied, and a new one is filled.
        with FileLock(settings.data / "clickhouse" / STORE_LOCK_FILE):
            assert bounds(settings) == alone
        shutil.rmtree(settings.data / "clickhouse")
        assert bounds(settings) == alone
        assert not (settings.data / "clickhouse").exists()
    kept = {path: content for path, content in before.items() if "clickhouse" not in path.parts}
    assert files(settings.data) == kept


LAYERS = "SELECT count() AS n FROM layers"
SYSTEMS = "SELECT count() AS n FROM systems FINAL"


def answered(settings: Settings, sql: str) -> Rows:
    with known_store(settings) as store:
        return store.query(sql)


def test_what_was_answered_before_needs_neither_the_engine_nor_a_copy(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = answered(settings, LAYERS)
    kept = files(settings.data)
    monkeypatch.setattr(beside, "MOST_REREAD", 0)
    store_lock = settings.data / "clickhouse" / STORE_LOCK_FILE
    with FileLock(settings.data / LOCK_FILE):
        with FileLock(store_lock):
            write_holder(store_lock)
            assert answered(settings, LAYERS) == layers
            in_use = (
                rf"in use by process {os.getpid()}\b.*, and a store would be filled from \d+ "
                "records; try again when it has ended$"
            )
            with pytest.raises(BenanzaError, match=in_use):
                answered(settings, SYSTEMS)
        assert answered(settings, SYSTEMS) == [{"n": 1}]
    assert files(settings.data) == kept


def test_where_there_is_no_store_the_holder_of_the_folder_is_named(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "MOST_REREAD", 0)
    shutil.rmtree(settings.data / "clickhouse")
    with FileLock(settings.data / LOCK_FILE):
        write_holder(settings.data / LOCK_FILE)
        in_use = rf"^{settings.data} is in use by process {os.getpid()}\b"
        with pytest.raises(BenanzaError, match=in_use):
            answered(settings, LAYERS)


def test_answers_of_two_states_are_never_put_together(settings: Settings) -> None:
    layers = answered(settings, LAYERS)
    with FileLock(settings.data / LOCK_FILE), known_store(settings) as store:
        assert store.query(LAYERS) == layers
        with SqliteEventLog(settings.event_log) as log:
            log.append([as_message(SYSTEM_MEASURED)])
        with pytest.raises(BenanzaError, match="while this looked; say it again"):
            store.query(SYSTEMS)


@pytest.mark.usefixtures("taken")
def test_what_the_store_lacks_comes_from_the_log(settings: Settings, measured: Path) -> None:
    """The store as it was before the second model was run, and the log as it is after that."""
    both = settings_in(settings.data.parent / "both")
    copied(measured, both.data)
    run_embedded(["zoo:squeezenet", "zoo:shufflenet"], both.data)
    shutil.copy(both.event_log, settings.event_log)
    assert {bound.model for bound in bounds(settings).bounds} == {"shufflenet", "squeezenet"}
    with closing(sqlite3.connect(settings.event_log)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_store_that_is_opened_meanwhile_is_not_copied(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = settings.data / "clickhouse"
    target = tmp_path / "copy"
    assert copy_store(folder, target)
    shutil.rmtree(target)
    copytree = shutil.copytree

    def while_opened(source: Path, copy: Path, *, symlinks: bool) -> None:
        with Store.open(settings.clickhouse):
            copytree(source, copy, symlinks=symlinks)

    def while_files_go(source: Path, copy: Path, *, symlinks: bool) -> None:
        copytree(source, copy, symlinks=symlinks)
        raise shutil.Error

    for copy in (while_opened, while_files_go):
        monkeypatch.setattr(beside, "copytree", copy)
        assert not copy_store(folder, target)
        assert not target.exists()
    monkeypatch.undo()
    with FileLock(folder / STORE_LOCK_FILE):
        assert not copy_store(folder, target)


@pytest.mark.usefixtures("taken")
def test_no_room_for_a_copy_is_said(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(beside, "copy_store", full)
    with (
        pytest.raises(BenanzaError, match=r"No space left on device\); .*TMPDIR"),
        store_beside(settings),
    ):
        pass


def test_who_looks_whether_a_folder_is_taken_keeps_nobody_out(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the moment of the look, the lock is held. On a busy machine moments are long."""
    monkeypatch.setattr(embedded, "LOOK_S", 10.0)
    monkeypatch.setattr(connection, "LOOK_S", 10.0)
    for lock, opened in (
        (settings.data / LOCK_FILE, lambda: opened_log(settings)),
        (settings.data / "clickhouse" / STORE_LOCK_FILE, lambda: Store.open(settings.clickhouse)),
    ):
        look = FileLock(lock, thread_local=False)
        look.acquire()
        Timer(0.05, look.release).start()
        with opened():
            pass


@pytest.mark.timeout(600)
def test_bounds_history_and_sql_answer_while_a_run_is_at_work(
    benanza: Benanza, data: Path, tmp_path: Path
) -> None:
    """And the run takes no notice."""
    model = "zoo:densenet121"

    def said(*command: str) -> dict[str, Any]:
        done = benanza(*command, "--data", data, "--format", "json")
        assert done.returncode in (0, 3), done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def measured() -> int:
        with known_store(settings_in(data)) as store:
            (row,) = store.query("SELECT count() AS layers FROM best_measurements")
            return int(row["layers"])

    layers, events = measured(), results(data)
    first = said("status")["runners"][0]["done"]
    run = subprocess.Popen(
        [PROGRAM, "run", model, "--data", data, "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
    )
    until(lambda: results(data) >= events + 2 or run.poll() is not None, every_s=0.1)
    assert run.poll() is None, run.communicate()
    status = said("status")
    assert status["at_work"] is True
    assert status["runners"][0]["done"] >= first + 2
    found = {each["model"]: each for each in said("bounds")["bounds"]}
    assert found["squeezenet"]["partial"] is False
    assert found["densenet121"]["partial"] is True
    assert said("history", model)["history"]
    times = [time for layer in said("layers", model)["layers"] for time in layer["times"]]
    assert {time["us"] is None for time in times} == {True, False}
    assert measured() > layers
    assert run.poll() is None, "it should have been at work all the while"
    run.send_signal(signal.SIGINT)
    output, errors = run.communicate(timeout=480)
    assert (run.returncode, output) == (1, "")
    interrupted = "error: interrupted; the same command again goes on from here\n"
    assert without_progress(errors) == interrupted
    kept = {each["model"]: each["coverage"]["measured"] for each in said("bounds")["bounds"]}
    assert kept["densenet121"] >= found["densenet121"]["coverage"]["measured"]
