"""What the store counts of imports, own measurements and withdrawals, on the real engine."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_events import (
    stored_measurements,
    stored_profiles,
    stored_system,
)
from benanza_schemas.events import (
    MARK,
    AnyEvent,
    Ceiling,
    LayerMeasured,
    ModelForgotten,
    RecordingWithdrawn,
    SystemMeasured,
    Variant,
    event_id,
)
from benanza_schemas.layer import Precision
from benanza_schemas.vocabulary import StoppedBy
from tests.backbone.sample_events import (
    BOUNDS,
    CHECKPOINT,
    CONV_ID,
    CONV_MEASURED,
    MODEL,
    MODEL_ID,
    PROFILED,
    RELU_ID,
    RELU_MEASURED,
    SYSTEM,
    SYSTEM_MEASURED,
    WITHDRAWN,
    after,
)

pytestmark = pytest.mark.integration

FILE, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(f"chdb://{tmp_path_factory.mktemp('store')}") as store:
        yield store


def timed(event: LayerMeasured, us: float, seconds: int, recording: str = "") -> LayerMeasured:
    """A measurement of this time, so many seconds later, made here or imported."""
    variant = Variant(
        library="lib",
        algorithm=f"{us}",
        samples_us=(us,),
        minimum_us=us,
        median_us=us,
        iqr_us=0.0,
    )
    return replace(
        event,
        event_id=event_id("LayerMeasured", event.event_id, str(us), recording),
        measured_at=after(seconds),
        variants=(variant,),
        environment={MARK: recording} if recording else {},
    )


def withdrawn(digest: str, model_id: str = "") -> RecordingWithdrawn:
    identity = event_id("RecordingWithdrawn", digest, model_id)
    return replace(WITHDRAWN, event_id=identity, digest=digest, model_id=model_id)


def best(store: Store) -> dict[str, float | None]:
    """The best times by layer; None for one that failed."""
    found = store.query("SELECT fingerprint, median_us FROM best_measurements")
    return {row["fingerprint"]: row["median_us"] for row in found}


def counted(store: Store) -> list[Any]:
    """The times that explanations are made of."""
    found = stored_measurements(store, MODEL_ID, SYSTEM, CONV_MEASURED.precision)
    return [variant.median_us for event in found for variant in event.variants]


def test_what_was_measured_here_counts_whichever_came_first(store: Store) -> None:
    own, imported = timed(CONV_MEASURED, 5.0, 1), timed(CONV_MEASURED, 1.0, 2, FILE)
    other = timed(RELU_MEASURED, 2.0, 1, FILE)
    store.insert([MODEL, imported, other])
    assert best(store) == {CONV_ID: 1.0, RELU_ID: 2.0}
    assert sorted(counted(store)) == [1.0, 2.0]
    store.insert([own])
    assert best(store) == {CONV_ID: 5.0, RELU_ID: 2.0}
    assert sorted(counted(store)) == [2.0, 5.0]
    failed = replace(own, event_id="0" * 32, variants=(), failure="no memory")
    elsewhere = [replace(each, precision="bf16") for each in (failed, imported)]
    store.insert(elsewhere)
    found = store.query("SELECT median_us, failure FROM best_measurements WHERE precision = 'bf16'")
    assert found == [{"median_us": None, "failure": "no memory"}]
    assert store.failed_layers() == {CONV_ID: [failed.event_id]}


def test_what_was_given_up_as_hopeless_is_no_time_where_all_else_failed(store: Store) -> None:
    slow = Variant(
        library="a library",
        algorithm="slow",
        samples_us=(500.0,),
        minimum_us=500.0,
        median_us=500.0,
        iqr_us=0.0,
        stopped_by=StoppedBy.PRUNED,
    )
    fails = Variant(library="a library", algorithm="greedy", failure="out of memory")
    found = replace(CONV_MEASURED, variants=(slow, fails))
    store.insert([MODEL, found])
    assert store.failed_layers(reason="out of memory") == {CONV_ID: [found.event_id]}
    (row,) = store.query("SELECT median_us, failure FROM best_measurements")
    assert row == {"median_us": None, "failure": "out of memory"}


def test_a_withdrawal_takes_back_what_stands_before_it(store: Store) -> None:
    """Of that file alone; whether it comes in the same batch or not, and also if the sink reads
    some events again.
    """
    own, imported = timed(CONV_MEASURED, 5.0, 1), timed(CONV_MEASURED, 1.0, 2, FILE)
    relu, relu_too = timed(RELU_MEASURED, 2.0, 1, FILE), timed(RELU_MEASURED, 3.0, 1, OTHER)
    events: list[AnyEvent] = [imported, relu, relu_too, withdrawn(FILE), own]
    store.insert(events)
    for _ in range(2):
        assert best(store) == {CONV_ID: 5.0, RELU_ID: 3.0}
        store.insert(events[1:])
    store.insert([relu])
    assert best(store) == {CONV_ID: 5.0, RELU_ID: 2.0}
    store.insert([withdrawn(FILE), withdrawn(OTHER)])
    assert best(store) == {CONV_ID: 5.0}


def test_a_systems_own_ceilings_count_and_imported_ones_are_taken_back(store: Store) -> None:
    """A system that nothing else describes keeps its name, without ceilings."""
    imported = replace(
        SYSTEM_MEASURED,
        event_id="1" * 32,
        measured_at=after(60),
        ceilings=SYSTEM_MEASURED.ceilings[:1],
        imported_from=FILE,
    )
    store.insert([imported])
    assert stored_system(store, SYSTEM.system_id).ceilings == imported.ceilings
    store.insert([withdrawn(FILE)])
    left = stored_system(store, SYSTEM.system_id)
    assert (left.system, left.ceilings, left.cache_bytes) == (SYSTEM, (), 0)
    store.insert([imported])
    assert stored_system(store, SYSTEM.system_id).ceilings == imported.ceilings
    store.insert([SYSTEM_MEASURED])
    assert stored_system(store, SYSTEM.system_id) == SYSTEM_MEASURED
    store.insert([withdrawn(FILE)])
    assert stored_system(store, SYSTEM.system_id) == SYSTEM_MEASURED
    assert store.query("SELECT count() AS systems FROM systems FINAL") == [{"systems": 1}]


ALL: tuple[Precision, ...] = ("fp32", "tf32", "fp16")


def described(seconds: int, recording: str, *precisions: Precision) -> SystemMeasured:
    """The system, measured so many seconds later; each rate tells when and where."""
    return replace(
        SYSTEM_MEASURED,
        event_id=event_id("SystemMeasured", str(seconds), recording),
        measured_at=after(seconds),
        ceilings=tuple(
            Ceiling(name, precision, seconds + len(recording), 0.0)
            for precision in precisions
            for name in ("bandwidth", "flops")
        ),
        imported_from=recording,
    )


@pytest.mark.parametrize("order", [1, -1])
def test_facts_of_a_system_are_merged_in_any_order(store: Store, order: int) -> None:
    """A recording, or a run, that has fewer ceilings hides none."""
    events = [
        described(1, "", "fp32"),
        described(2, FILE, *ALL),
        described(3, OTHER),
        described(4, OTHER, "fp16"),
        described(5, "", "tf32"),
        described(6, ""),
    ]
    for event in events[::order]:
        store.insert([event])
    found = stored_system(store, SYSTEM.system_id)
    rates = {(each.precision, each.name): each.value for each in found.ceilings}
    expected = {"fp32": 1, "tf32": 5, "fp16": 4 + len(OTHER)}
    assert rates == {(at, name): expected[at] for at in ALL for name in ("bandwidth", "flops")}
    assert (found.measured_at, found.cache_bytes) == (after(5), SYSTEM_MEASURED.cache_bytes)
    store.insert([withdrawn(OTHER)])
    found = stored_system(store, SYSTEM.system_id)
    assert {each.value for each in found.ceilings} == {1, 5, 2 + len(FILE)}


def test_profiles_are_taken_back_model_by_model(store: Store) -> None:
    imported = replace(PROFILED, environment={MARK: FILE})
    own = replace(PROFILED, event_id="2" * 32, configuration="own")
    store.insert([MODEL, imported, own, withdrawn(FILE), withdrawn(FILE, "3" * 32)])
    assert len(stored_profiles(store, MODEL_ID)) == 2
    store.insert([withdrawn(FILE, MODEL_ID)])
    assert stored_profiles(store, MODEL_ID) == [own]
    calls = "SELECT DISTINCT event_id FROM profile_calls"
    assert store.query(calls) == [{"event_id": own.event_id}]
    store.insert([imported])
    assert len(stored_profiles(store, MODEL_ID)) == 2


def test_the_history_says_that_a_withdrawal_moved_a_bound(store: Store) -> None:
    event = withdrawn(FILE)
    store.insert([MODEL, SYSTEM_MEASURED, replace(BOUNDS[-1], cause=event.event_id), event])
    (version,) = store.history(MODEL_ID)
    assert version.moved_by == "withdrawal"


def test_a_forgotten_model_is_shown_again_once_it_is_ingested_again(store: Store) -> None:
    forgotten = ModelForgotten(
        event_id="e" * 32, model_id=CHECKPOINT.model_id, forgotten_at=after(9)
    )
    store.insert([MODEL, CHECKPOINT, *BOUNDS])
    before = store.bounds([CHECKPOINT.name])
    assert before
    store.insert([CHECKPOINT, forgotten])
    assert store.bounds([CHECKPOINT.name]) == []
    store.insert([forgotten, CHECKPOINT])
    assert store.bounds([CHECKPOINT.name]) == before
