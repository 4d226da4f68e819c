"""Bounds and layers belong to architectures; each model of one has them, under its own names."""

import msgspec
import pytest

from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_events import (
    stored_bound_id,
    stored_measurements,
    stored_model,
    stored_profiles,
)
from benanza_schemas.events import (
    MOST_LEAST_KNOWN,
    CheckpointIngested,
    RecordingWithdrawn,
    event_id,
)
from tests.backbone.sample_events import (
    BOUNDS,
    CHECKPOINT,
    CONV_MEASURED,
    EVERY_KIND,
    MODEL,
    MODEL_ID,
    PROFILED,
    SYSTEM,
    WITNESSED,
    after,
)

ARCHITECTURE = event_id("architecture")
GRAPH = msgspec.structs.replace(MODEL, architecture_id=ARCHITECTURE)
OF_BOTH = [msgspec.structs.replace(bound, architecture_id=ARCHITECTURE) for bound in BOUNDS]


def checkpoint(name: str) -> CheckpointIngested:
    """A fine-tune of the model, whose layers have other names."""
    return msgspec.structs.replace(
        CHECKPOINT,
        event_id=event_id("CheckpointIngested", name),
        model_id=event_id("model", name),
        architecture_id=ARCHITECTURE,
        name=name,
        sha256="1" * 64,
        dims={"width": 8},
        layer_names=tuple(f"{name}/{use.name}" for use in MODEL.layers),
    )


FIRST = msgspec.structs.replace(CHECKPOINT, architecture_id=ARCHITECTURE)
TUNED = checkpoint("Tuned")
MODELS = (FIRST, TUNED)
REST = [event for event in EVERY_KIND if event not in (MODEL, CHECKPOINT, *BOUNDS)]


@pytest.fixture(autouse=True)
def filled(store: Store) -> None:
    """A store with an architecture of two models."""
    store.insert([GRAPH, *REST, *OF_BOTH, *MODELS])


def test_a_checkpoint_adds_a_row_to_models_and_nothing_else(store: Store) -> None:
    tables = [
        row["name"]
        for row in store.query(
            "SELECT name FROM system.tables WHERE database = 'benanza' AND engine LIKE '%MergeTree'"
        )
    ]

    def sizes() -> dict[str, int]:
        return {t: store.query(f"SELECT count() AS n FROM {t} FINAL")[0]["n"] for t in tables}

    before = sizes()
    store.insert([checkpoint("Another")])
    assert sizes() == before | {"models": before["models"] + 1}
    assert [bound.model for bound in store.bounds(["Another"])] == ["Another"]


def test_each_model_has_the_bounds_of_its_architecture(store: Store) -> None:
    of_first, of_tuned = store.bounds(["Net"]), store.bounds(["Tuned"])
    assert [bound.sequential_us for bound in of_first] == [15.25]
    for one, other in zip(of_first, of_tuned, strict=True):
        own = {"model": TUNED.name, "model_id": TUNED.model_id, "dims": TUNED.dims}
        path = tuple(f"Tuned/{name}" for name in one.critical_path)
        missing = tuple(
            msgspec.structs.replace(layer, name=f"Tuned/{layer.name}")
            for layer in one.coverage.missing
        )
        coverage = msgspec.structs.replace(one.coverage, missing=missing)
        assert other == msgspec.structs.replace(one, **own, critical_path=path, coverage=coverage)


def test_a_call_that_was_slowed_down_counts_once_for_each_model(store: Store) -> None:
    slowed = msgspec.structs.replace(
        CONV_MEASURED,
        measured_at=after(90),
        environment={"stable": "no", "slowed_by": "power"},
        event_id=event_id("slowed"),
        variants=tuple(
            each if each.median_us is None else msgspec.structs.replace(each, median_us=0.5)
            for each in CONV_MEASURED.variants
        ),
    )
    covered = msgspec.structs.replace(
        OF_BOTH[-1], cover=(CONV_MEASURED.fingerprint,), computed_at=after(91)
    )
    store.insert([slowed, covered])
    assert [bound.slowed.calls for bound in store.bounds()] == [1, 1]


def test_each_model_has_their_history_under_its_own_names(store: Store) -> None:
    moves = store.history("Tuned")
    assert [move.computed_at for move in moves] == [
        move.computed_at for move in store.history("Net")
    ]
    assert {move.model_id for move in moves} == {TUNED.model_id}
    assert {move.layer for move in moves} == {"", "Tuned/conv", "Tuned/relu"}
    assert {move.moved_by for move in moves} == {"model", "measurement"}


def test_a_model_comes_back_with_its_names(store: Store) -> None:
    tuned = stored_model(store, TUNED.model_id)
    assert (tuned.name, tuned.sha256, tuned.dims) == (TUNED.name, TUNED.sha256, TUNED.dims)
    assert tuple(use.name for use in tuned.layers) == TUNED.layer_names
    assert (tuned.summaries, tuned.edges, tuned.groups) == (
        GRAPH.summaries,
        GRAPH.edges,
        GRAPH.groups,
    )
    found = stored_measurements(store, ARCHITECTURE, SYSTEM, "fp32")
    assert CONV_MEASURED.event_id in {event.event_id for event in found}


def test_runs_count_for_all_models_of_the_architecture(store: Store) -> None:
    (profile,) = stored_profiles(store, TUNED.model_id)
    assert profile == msgspec.structs.replace(PROFILED, model_id=TUNED.model_id)
    fused = msgspec.structs.replace(
        OF_BOTH[-1], event_id=WITNESSED.bound_id, fusion=True, missing=()
    )
    store.insert([fused])
    at = (SYSTEM.system_id, WITNESSED.precision)
    assert stored_bound_id(store, TUNED.model_id, *at) == stored_bound_id(store, MODEL_ID, *at)
    for view in ("witnesses_beside_bounds", "profiles_beside_bounds"):
        rows = store.query(f"SELECT model, model_id FROM {view} ORDER BY model")
        assert [(row["model"], row["model_id"]) for row in rows] == [
            (each.name, each.model_id) for each in MODELS
        ], view


def test_an_imported_witness_stands_beside_the_bound_that_it_ran(store: Store) -> None:
    """That bound isn't in this store, though a bound here may have the same id."""
    digest = "ab" * 32
    imported = msgspec.structs.replace(
        WITNESSED,
        event_id="d" * 32,
        predicted_us=15.0,
        imported_from=digest,
    )
    store.insert([imported])
    query = (
        "SELECT DISTINCT bound_us, of_the_bound FROM witnesses_beside_bounds WHERE bound_us = 15"
    )
    assert store.query(query) == [{"bound_us": 15.0, "of_the_bound": 1.1}]
    withdrawn = RecordingWithdrawn(
        event_id="f" * 32, digest=digest, withdrawn_at=after(9), model_id=imported.model_id
    )
    store.insert([withdrawn])
    assert store.query(query) == []


def test_what_is_in_tables_by_architecture_is_in_views_by_model(store: Store) -> None:
    for view, wanted in (
        ("model_layers", len(MODEL.layers)),
        ("model_edges", len(MODEL.edges)),
        ("model_groups", len(MODEL.groups)),
        ("bounds", len(BOUNDS)),
        ("bound_moves", len(BOUNDS)),
    ):
        rows = store.query(f"SELECT model_id, count() AS n FROM {view} GROUP BY model_id")
        assert {row["model_id"]: row["n"] for row in rows} == {
            each.model_id: wanted for each in MODELS
        }, view
    names = store.query(
        "SELECT name FROM model_layers WHERE model_id = {id:String} ORDER BY position",
        {"id": TUNED.model_id},
    )
    assert tuple(row["name"] for row in names) == TUNED.layer_names
    lacking = store.query("SELECT DISTINCT layer FROM missing_layers WHERE model = 'Tuned'")
    assert [row["layer"] for row in lacking] == ["Tuned/last"]
    (conv,) = store.query("SELECT models, uses FROM layer_reuse WHERE title = 'Relu'")
    assert conv == {"models": 2, "uses": 4}


def test_a_model_that_is_ingested_again_has_the_bounds_of_its_new_architecture(
    store: Store,
) -> None:
    other = event_id("another architecture")
    store.insert(
        [
            msgspec.structs.replace(GRAPH, architecture_id=other),
            msgspec.structs.replace(TUNED, architecture_id=other, event_id=event_id("again")),
        ]
    )
    assert store.bounds(["Tuned"]) == []
    assert [bound.sequential_us for bound in store.bounds(["Net"])] == [15.25]
    moved = msgspec.structs.replace(
        OF_BOTH[-1], architecture_id=other, computed_at=after(60), sequential_us=1.0
    )
    store.insert([moved])
    assert [bound.sequential_us for bound in store.bounds(["Tuned"])] == [1.0]


def test_an_event_of_an_older_version_takes_no_model_back_to_its_own_architecture(
    store: Store,
) -> None:
    """Its topic may be read later than that of the checkpoints."""
    store.insert([msgspec.structs.replace(MODEL, name="Another")])
    own = {"id": MODEL_ID}
    query = "SELECT architecture_id FROM model_architectures WHERE model_id = {id:String}"
    assert store.query(query, own) == [{"architecture_id": ARCHITECTURE}]
    assert stored_model(store, MODEL_ID).architecture_id == ARCHITECTURE


def test_a_model_of_two_names_has_the_architecture_that_was_ingested_last(store: Store) -> None:
    other = event_id("another architecture")
    alias = msgspec.structs.replace(TUNED, name="Alias", event_id=event_id("alias"))
    store.insert([alias])
    store.insert(
        [
            msgspec.structs.replace(GRAPH, architecture_id=other),
            msgspec.structs.replace(OF_BOTH[-1], architecture_id=other, sequential_us=1.0),
            msgspec.structs.replace(TUNED, architecture_id=other, event_id=event_id("again")),
        ]
    )
    for name in ("Alias", "Tuned"):
        assert [bound.sequential_us for bound in store.bounds([name])] == [1.0]
    assert stored_model(store, TUNED.model_id).architecture_id == other


@pytest.mark.parametrize("together", [True, False])
def test_an_event_of_an_older_version_takes_no_least_work_away(
    store: Store, together: bool
) -> None:
    """Both have one architecture, as an ingest of before says the same of its layers."""
    before = tuple(
        msgspec.structs.replace(of, least_flops=0, least_weights=0) for of in GRAPH.summaries
    )
    groups = tuple(msgspec.structs.replace(of, least_flops=0) for of in GRAPH.groups)
    older = msgspec.structs.replace(
        GRAPH, summaries=before, groups=groups, event_id=event_id("older")
    )
    if together:
        store.insert([GRAPH, older])
    else:
        store.insert([older])
    found = stored_model(store, MODEL_ID)
    assert found.least_known() == MOST_LEAST_KNOWN
    assert {of.least_flops for of in found.summaries} == {of.least_flops for of in GRAPH.summaries}
