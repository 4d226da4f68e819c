"""The store on the real engine, embedded."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benanza_backbone.clickhouse.rows import rows
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.telemetry import REGISTRY
from benanza_schemas.events import AnyEvent, event_id
from tests.backbone.sample_events import (
    BOUNDS,
    CONV_ID,
    CONV_MEASURED,
    CONV_RELU_ID,
    DEAD,
    EVERY_KIND,
    MODEL,
    MODEL_ID,
    NOON,
    RELU_ID,
    REQUESTED,
    SEEN,
    SETTLED,
    SYSTEM_MEASURED,
    WITNESSED,
    after,
    failed,
    measured,
    variant,
)


def layers(store: Store) -> list[dict[str, Any]]:
    """The model's layers in the order of their positions."""
    query = "SELECT * FROM model_layers WHERE model_id = {id:String} ORDER BY position"
    return store.query(query, {"id": MODEL_ID})


VIEWS = ("bounds", "model_layers", "model_edges", "model_groups")


def count(store: Store, table: str) -> int:
    final = "" if table in VIEWS else "FINAL"
    (row,) = store.query(f"SELECT count() AS n FROM {table} {final}")
    return int(row["n"])


@pytest.mark.parametrize("event", EVERY_KIND, ids=lambda event: type(event).__name__)
def test_an_event_of_any_kind_counts_once(store: Store, event: AnyEvent) -> None:
    expected = {table: len(of_table) for table, of_table in rows(event).items()}
    store.insert([event])
    store.insert([event])
    store.insert([event, event])
    assert {table: count(store, table) for table in expected} == expected


def test_an_insert_counts_as_one_only_where_something_got_there(store: Store) -> None:
    """An alert asks for this while events wait: a batch that fails comes again and again."""

    def inserts() -> float:
        return REGISTRY.get_sample_value("benanza_store_insert_duration_seconds_count") or 0

    before = inserts()
    store.insert([WITNESSED])
    assert inserts() == before + 1
    store.insert(SEEN)
    store.insert([])
    store._client.command("DROP TABLE witnesses")
    with pytest.raises(BenanzaError, match="witnesses"):
        store.insert([WITNESSED])
    assert inserts() == before + 1


def test_the_engine_drops_no_insert_as_a_repeat(store: Store) -> None:
    """A killed process may leave the mark of an insert whose rows are lost: with insert tokens,
    3 of 960 kills lost a batch whose repeat had been acknowledged. The tables' keys make
    repeats count once."""
    for _ in range(3):
        store.insert(EVERY_KIND)
    (raw,) = store.query("SELECT count() AS n FROM architecture_bounds")
    assert raw["n"] > len(BOUNDS)
    assert count(store, "bounds") == len(BOUNDS)
    assert count(store, "measurements") == 6
    assert len(store.bounds()) == 1
    assert len(store.history("Net")) == len(BOUNDS)
    assert {row["uses"] for row in store.query("SELECT * FROM layer_reuse")} == {1, 2}


def test_a_bound_that_is_stored_again_was_stored_the_first_time(store: Store) -> None:
    before = datetime.now(UTC)
    store.insert(BOUNDS)
    first = store.bounds_stored({BOUNDS[0].architecture_id})
    assert first.keys() == {bound.event_id for bound in BOUNDS}
    assert all(before <= at <= datetime.now(UTC) for at in first.values())
    store.insert(BOUNDS)
    assert store.bounds_stored({BOUNDS[0].architecture_id}) == first
    assert store.bounds_stored({"0" * 32}) == {}


def test_what_a_model_had_before_it_was_ingested_again_is_no_use_of_a_layer(store: Store) -> None:
    another = msgspec.structs.replace(MODEL.summaries[0], fingerprint=CONV_RELU_ID)
    group = msgspec.structs.replace(MODEL.groups[0], fingerprint=RELU_ID)
    again = msgspec.structs.replace(
        MODEL,
        event_id=event_id("ModelIngested", "again"),
        summaries=(another, *MODEL.summaries[1:]),
        groups=(group,),
    )
    store.insert([MODEL])
    store.insert([again])
    uses = store.query("SELECT fingerprint, uses FROM layer_reuse")
    found = {row["fingerprint"]: row["uses"] for row in uses}
    assert CONV_ID not in found
    assert (found[CONV_RELU_ID], found[RELU_ID]) == (1, 3)


def test_what_was_not_measured_of_a_witness_is_null(store: Store) -> None:
    store.insert([WITNESSED])
    (row,) = store.query("SELECT * FROM witnesses FINAL")
    assert (row["sequential_us"], row["sequential_samples_us"]) == (16.5, [16.5, 16.75])
    assert (row["read_ahead_us"], row["read_ahead_samples_us"]) == (None, [])
    assert (row["parallel_us"], row["parallel_iqr_us"], row["parallel_samples_us"]) == (
        None,
        None,
        [],
    )
    assert (row["error"], row["allowed_error"]) == (None, None)
    assert row["witnessed_at"] == WITNESSED.witnessed_at


def test_a_change_of_layout_and_the_layout_of_a_bound_come_back(store: Store) -> None:
    variant = msgspec.structs.replace(
        CONV_MEASURED.variants[1], layout="NHWC", layout_change_us=1.5
    )
    kept = msgspec.structs.replace(BOUNDS[-1], layout="NHWC")
    store.insert([MODEL, SYSTEM_MEASURED, kept, measured(CONV_ID, variant, at=0)])
    (row,) = store.query("SELECT layout, layout_change_us FROM measurements FINAL")
    assert row == {"layout": "NHWC", "layout_change_us": 1.5}
    (found,) = store.bounds()
    assert found.layout == "NHWC"
    (shown,) = store.query("SELECT layout FROM current_bounds")
    assert shown == {"layout": "NHWC"}


def test_what_a_heuristic_would_take_comes_back(store: Store) -> None:
    store.insert([CONV_MEASURED])
    found = store.query(
        "SELECT algorithm FROM measurements FINAL WHERE chosen_by_heuristic ORDER BY variant"
    )
    assert found == [{"algorithm": v.algorithm} for v in CONV_MEASURED.variants[1:2]]


def test_the_largest_numbers_of_an_event_come_back(store: Store) -> None:
    many = msgspec.structs.replace(SYSTEM_MEASURED.system, threads=2**32 - 1)
    store.insert([msgspec.structs.replace(MODEL, opset=2**32 - 1)])
    store.insert([msgspec.structs.replace(SYSTEM_MEASURED, system=many)])
    store.insert([measured(CONV_ID, *[failed("any", "no")] * 2**16, at=0)])
    assert store.query("SELECT opset FROM models") == [{"opset": 2**32 - 1}]
    assert store.query("SELECT threads FROM systems") == [{"threads": 2**32 - 1}]
    assert count(store, "measurements") == 2**16


def test_nothing_to_store_is_no_error(store: Store) -> None:
    store.insert([])
    assert store.bounds() == []
    assert store.history("Net") == []
    assert layers(store) == []


def test_figures_and_times_come_back_as_they_were(store: Store) -> None:
    exact = msgspec.structs.replace(
        BOUNDS[0], sequential_us=0.1 + 0.2, roofline_us=None, attainable_us=1e-9
    )
    samples = (0.1, 1 / 3, 1e9 + 1e-6)
    sampled = msgspec.structs.replace(CONV_MEASURED.variants[1], samples_us=samples)
    store.insert([MODEL, SYSTEM_MEASURED, exact, measured(CONV_ID, sampled, at=0)])
    (found,) = store.bounds()
    assert found.sequential_us == 0.1 + 0.2
    assert found.roofline_us is None
    assert found.attainable_us == 1e-9
    (version,) = store.history("Net")
    assert version.computed_at == exact.computed_at
    assert version.computed_at.tzinfo is not None
    (row,) = store.query("SELECT samples_us, measured_at FROM measurements")
    assert row == {"samples_us": list(samples), "measured_at": NOON}


def test_the_best_measurement_is_the_least_warm_median_of_all_that_were_taken(
    store: Store,
) -> None:
    again = measured(CONV_ID, variant("direct", 9.0), variant("gemm", 12.0), at=60)
    store.insert(EVERY_KIND)
    store.insert([again])
    best = {row["fingerprint"]: row for row in store.query("SELECT * FROM best_measurements")}
    assert set(best) == {CONV_ID, RELU_ID, CONV_RELU_ID}
    assert (best[CONV_ID]["algorithm"], best[CONV_ID]["median_us"]) == ("direct", 9.0)
    assert best[CONV_ID]["measured_at"] == again.measured_at
    assert (best[RELU_ID]["title"], best[RELU_ID]["system"]) == ("Relu", "Some CPU")
    assert best[CONV_RELU_ID]["median_us"] is None
    assert best[CONV_RELU_ID]["failure"] == "the runtime can't fuse it"


def test_reuse_counts_models_and_uses_of_layers_and_groups(store: Store) -> None:
    other_id = event_id("model", "Other", "1")
    other = msgspec.structs.replace(
        MODEL,
        event_id=event_id("ModelIngested", other_id),
        model_id=other_id,
        architecture_id=other_id,
        name="Other",
        layers=MODEL.layers[:2],
        edges=((0, 1),),
    )
    store.insert([MODEL, other, *REQUESTED])
    reuse = {row["title"]: row for row in store.query("SELECT * FROM layer_reuse")}
    assert {title: (row["models"], row["uses"]) for title, row in reuse.items()} == {
        "Conv": (2, 2),
        "Relu": (2, 3),
        "Reshape": (1, 1),
        "Conv+Relu": (2, 2),
    }
    assert reuse["Conv"]["fingerprint"] == CONV_ID


def test_layers_of_a_model_come_in_order(store: Store) -> None:
    store.insert([MODEL])
    found = layers(store)
    assert [layer["name"] for layer in found] == ["conv", "relu", "relu again", "flat", "last"]
    assert (
        found[0].items()
        >= {
            "position": 0,
            "op": "Conv",
            "domain": "",
            "kind": "compute",
            "fingerprint": CONV_ID,
            "flops": 7776,
            "bytes": 1776,
            "parameters": 108,
            "reason": "",
        }.items()
    )
    skipped = found[4]
    assert (skipped["kind"], skipped["reason"]) == ("skipped", "no shape: say --dim width=8")


def test_a_query_takes_parameters_and_gives_times_in_utc(store: Store) -> None:
    (row,) = store.query(
        "SELECT {text:String} AS text, {list:Array(UInt8)} AS list, "
        "{time:DateTime64(6, 'UTC')} AS time",
        {"text": "it's; {odd}", "list": [1, 2], "time": NOON},
    )
    assert row == {"text": "it's; {odd}", "list": [1, 2], "time": NOON}


def test_a_wrong_query_is_one_line_that_names_the_mistake(store: Store) -> None:
    with pytest.raises(BenanzaError, match="`nothing`") as caught:
        store.query("SELECT nothing\nFROM models")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_large_model_is_stored_whole(store: Store) -> None:
    size = 20_000
    large = msgspec.structs.replace(
        MODEL,
        layers=tuple(msgspec.structs.replace(MODEL.layers[0], name=f"n{i}") for i in range(size)),
        edges=tuple((i, i + 1) for i in range(size - 1)),
    )
    store.insert([large])
    assert [layer["name"] for layer in layers(store)] == [f"n{i}" for i in range(size)]
    assert count(store, "model_edges") == size - 1


@pytest.mark.integration
def test_a_store_is_reopened_with_what_it_held(tmp_path: Path) -> None:
    dsn = f"chdb://{tmp_path}/store"
    for _ in range(2):
        with Store.open(dsn) as store:
            store.insert(EVERY_KIND)
    with Store.open(dsn) as store:
        assert len(store.bounds()) == 1
        newest = store.query("SELECT max(applied_at) AS at FROM schema_migrations")[0]["at"]
        assert newest <= datetime.now(UTC)


def test_dead_letters_are_open_until_they_are_settled_and_when_they_fail_again(
    store: Store,
) -> None:
    def now() -> list[dict[str, Any]]:
        return store.query("SELECT state, service, reason, failed_at FROM current_dead_letters")

    store.insert([DEAD, DEAD])
    assert store.open_dead_letters() == {("ingest", "models"): 1}
    store.insert([SETTLED])
    assert store.open_dead_letters() == {}
    assert now() == [
        {
            "state": "dropped",
            "service": "ingest",
            "reason": "not MessagePack",
            "failed_at": DEAD.failed_at,
        }
    ]
    elsewhere = msgspec.structs.replace(SETTLED, dead_letter_id="f" * 32)
    at_once = msgspec.structs.replace(SETTLED, settled_at=DEAD.failed_at)
    store.insert([elsewhere, at_once])
    assert [row["state"] for row in now()] == ["dropped"]
    again = msgspec.structs.replace(DEAD, reason="too large", failed_at=after(9))
    store.insert([again, SETTLED, DEAD])
    assert store.open_dead_letters() == {("ingest", "models"): 1}
    assert [(row["state"], row["reason"]) for row in now()] == [("open", "too large")]


def test_layers_with_jobs_are_those_requested(store: Store) -> None:
    store.insert([MODEL, *SEEN, *REQUESTED[:2], *REQUESTED[:2]])
    assert store.layers_with_jobs() == sorted(job.fingerprint for job in REQUESTED[:2])
