"""The store filled from a real log: it gets everything once, whatever was lost on either side."""

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from benanza.installation.embedded import drain
from benanza_analyzer.sink import sink_step
from benanza_analyzer.step import analyzer_step
from benanza_backbone.clickhouse.rows import TABLES
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.event_log.event_log import EventLog, Message
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from benanza_backbone.telemetry import BOUNDS_BEATEN, DEAD_LETTERS_OPEN
from benanza_dedupe.step import dedupe_step
from benanza_ingest.limits import Limits
from benanza_ingest.step import ingest_step
from benanza_runner.step import runner_step
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, SINK
from benanza_schemas.events import AnyEvent, DeadLetter, DeadLetterSettled, event_id, identified
from benanza_schemas.layer import Precision
from benanza_schemas.topics import DEAD_LETTERS, MODELS, RESULTS
from tests.backbone.sample_events import (
    BOUNDS,
    MODEL,
    REQUESTED,
    SYSTEM,
    SYSTEM_MEASURED,
    WITNESSED,
    bound,
)
from tests.runner.fake_runtime import FakeRuntime
from tests.steps import clock, ingested, written

pytestmark = pytest.mark.integration

SINKED = CONSUMER_GROUPS[SINK].topics


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with SqliteEventLog(tmp_path / "events.sqlite") as opened:
        yield opened


def measured_everything(log: EventLog, *models: str) -> None:
    """All that there is to know of these models, on a system that measures nothing."""
    ingested(log, *models)
    with dedupe_step(log, clock) as step:
        drain(step)
    with runner_step(log, FakeRuntime(), "fp32", clock) as step:
        drain(step)
    with analyzer_step(log, clock) as step:
        drain(step)


def fill(log: EventLog, store: Store) -> None:
    with sink_step(log, store, clock) as step:
        drain(step)


def contents(store: Store) -> dict[str, list[dict[str, object]]]:
    """What is in the tables, without the times at which rows were written."""
    tables = {table: store.query(f"SELECT * FROM {table} FINAL ORDER BY ALL") for table in TABLES}
    for row in tables["models"] + tables["architectures"] + tables["stored_bounds"]:
        del row["stored_at"]
    tables["models"].sort(key=lambda row: str(row["model_id"]))
    tables["architectures"].sort(key=lambda row: str(row["architecture_id"]))
    return tables


def test_the_store_knows_how_far_it_is(log: EventLog, tmp_path: Path) -> None:
    measured_everything(log, "zoo:squeezenet")
    with Store.open(f"chdb://{tmp_path}/store") as store:
        fill(log, store)
        ends = {p: end for topic in SINKED for p, end in log.end_offsets(topic).items()}
        assert store.offsets("store") == ends


def test_a_store_that_is_new_or_behind_gets_what_it_lacks(log: EventLog, tmp_path: Path) -> None:
    """Also where the group has committed more: the store was lost, or restored from a copy."""
    measured_everything(log, "zoo:squeezenet")
    with Store.open(f"chdb://{tmp_path}/store") as store:
        fill(log, store)
    shutil.copytree(tmp_path / "store", tmp_path / "copy", symlinks=True)
    measured_everything(log, "zoo:zfnet512")
    with Store.open(f"chdb://{tmp_path}/store") as store:
        fill(log, store)
        expected = contents(store)
    for folder in ("copy", "new"):
        with Store.open(f"chdb://{tmp_path}/{folder}") as store:
            fill(log, store)
            assert contents(store) == expected


def test_a_store_of_another_log_gets_all_of_this_one(log: EventLog, tmp_path: Path) -> None:
    """What the store remembers is of a longer log, which somebody has removed."""
    measured_everything(log, "zoo:squeezenet", "zoo:zfnet512")
    with (
        Store.open(f"chdb://{tmp_path}/store") as store,
        SqliteEventLog(tmp_path / "other.sqlite") as other,
    ):
        fill(log, store)
        measured_everything(other, "zoo:alexnet")
        fill(other, store)
        names = {row["name"] for row in store.query("SELECT name FROM models")}
    assert names == {"squeezenet", "zfnet512", "alexnet"}


def test_a_store_that_fails_before_its_offsets_are_stored_is_told_again(
    log: EventLog, tmp_path: Path
) -> None:
    measured_everything(log, "zoo:squeezenet")
    with Store.open(f"chdb://{tmp_path}/other") as store:
        fill(log, store)
        expected = contents(store)
    with Store.open(f"chdb://{tmp_path}/store") as store:
        for method in ("set_offsets", "insert"):
            with (
                sink_step(log, store, clock) as step,
                pytest.MonkeyPatch.context() as patch,
            ):
                patch.setattr(store, method, stop)
                with pytest.raises(KeyboardInterrupt):
                    drain(step)
        fill(log, store)
        assert contents(store) == expected
    assert written(log, DEAD_LETTERS) == []


def test_what_the_store_cannot_hold_becomes_a_dead_letter_and_the_rest_is_stored(
    log: EventLog, tmp_path: Path
) -> None:
    large = msgspec.structs.replace(
        SYSTEM_MEASURED,
        event_id=event_id("large"),
        system=identified(msgspec.structs.replace(SYSTEM, threads=99)),
    )
    events: list[AnyEvent] = [SYSTEM_MEASURED, large, *REQUESTED, MODEL, *BOUNDS]
    log.append([as_message(event) for event in events])
    with Store.open(f"chdb://{tmp_path}/store") as store:
        # The engine itself refuses the event: no limit of the schemas does.
        store.query("ALTER TABLE measured_systems ADD CONSTRAINT few CHECK threads < 99")
        fill(log, store)
        assert [row["threads"] for row in store.query("SELECT threads FROM systems")] == [2]
        assert len(store.layers_with_jobs()) == len(REQUESTED)
        assert len(store.history(MODEL.name)) == len(BOUNDS)
        assert store.open_dead_letters() == {("store", RESULTS): 1}
    (letter,) = written(log, DEAD_LETTERS)
    assert isinstance(letter, DeadLetter)
    message = as_message(large)
    assert (letter.key, letter.value, letter.service) == (message.key, message.value, "store")
    assert "the store can't hold it" in letter.reason
    assert "few" in letter.reason


def stop(*arguments: object) -> None:
    raise KeyboardInterrupt


def test_open_dead_letters_are_shown_until_they_are_settled(log: EventLog, tmp_path: Path) -> None:
    log.append([Message(MODELS, b"key", b"no event")])
    with ingest_step(log, Limits(), clock) as step:
        drain(step)
    (letter,) = written(log, DEAD_LETTERS)
    assert isinstance(letter, DeadLetter)
    with Store.open(f"chdb://{tmp_path}/store") as store, sink_step(log, store, clock) as step:
        drain(step)
        step.check()
        assert shown() == {("ingest", "models"): 1.0}
        settled = DeadLetterSettled(
            event_id=event_id("DeadLetterSettled", "test"),
            dead_letter_id=letter.event_id,
            action="dropped",
            settled_at=letter.failed_at + timedelta(seconds=1),
        )
        log.append([as_message(settled)])
        drain(step)
        step.check()
        assert shown() == {}


def test_bounds_that_a_run_is_below_are_shown(log: EventLog, tmp_path: Path) -> None:
    with Store.open(f"chdb://{tmp_path}/store") as store, sink_step(log, store, clock) as step:
        for at, us, beaten in ((4, 20.0, 1.0), (5, 16.0, 0.0)):
            cause = event_id("a cause", str(us))
            found = bound(cause=cause, at=at, sequential_us=us, fusion=True)
            log.append([as_message(event) for event in (MODEL, WITNESSED, found)])
            drain(step)
            step.check()
            (metric,) = BOUNDS_BEATEN.collect()
            by_precision = {s.labels["precision"]: s.value for s in metric.samples}
            assert by_precision == dict.fromkeys(get_args(Precision), 0.0) | {"fp32": beaten}


def shown() -> dict[tuple[str, str], float]:
    """The metric, by service and topic."""
    (metric,) = DEAD_LETTERS_OPEN.collect()
    return {(s.labels["service"], s.labels["topic"]): s.value for s in metric.samples}
