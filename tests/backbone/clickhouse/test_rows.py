"""Rows without a database; `test_store` puts them into one."""

from datetime import UTC, datetime, timedelta, timezone

import msgspec

from benanza_backbone.clickhouse.rows import TABLES, rows, utc
from tests.backbone.sample_events import (
    BOUNDS,
    CONV_ID,
    CONV_MEASURED,
    CONV_RELU_ID,
    DEAD,
    EVALUATED,
    EVALUATION_TAKEN,
    EVERY_KIND,
    GROUP_MEASURED,
    MODEL,
    MODEL_ID,
    NOON,
    PROFILED,
    PUBLISHED,
    REQUESTED,
    SEEN,
    SETTLED,
)


def test_a_model_is_a_row_for_each_layer_edge_and_group() -> None:
    of_model = rows(MODEL)
    assert [row["op"] for row in of_model["architecture_layers"]] == [
        "Conv",
        "Relu",
        "Relu",
        "Reshape",
        "Custom",
    ]
    assert [row["position"] for row in of_model["architecture_layers"]] == [0, 1, 2, 3, 4]
    assert of_model["architecture_edges"][1] == {
        "architecture_id": MODEL_ID,
        "source": 1,
        "target": 2,
    }
    assert [group["fingerprint"] for group in of_model["architecture_groups"]] == [CONV_RELU_ID]
    assert [model["layers"] for model in of_model["models"]] == [5]


def test_a_layer_that_was_only_seen_has_no_row_yet() -> None:
    """What is in the table has a job."""
    for seen, requested in zip(SEEN, REQUESTED, strict=True):
        assert rows(seen) == {}
        assert [row["fingerprint"] for row in rows(requested)["layers"]] == [seen.fingerprint]


def test_a_layer_shows_its_inputs_outputs_and_attributes() -> None:
    (row,) = rows(REQUESTED[2])["layers"]
    assert row["title"] == "Conv+Relu"
    assert row["input_shapes"] == [(1, 3, 8, 8), (4, 3, 3, 3)]
    assert row["input_constants"] == [False, True]
    assert row["output_shapes"] == [(1, 4, 6, 6)]
    assert row["attributes"] == [
        {"auto_pad": "NOTSET", "group": "1", "kernel_shape": "[3, 3]", "mask": "int64[2]"},
        {},
    ]


def test_every_variant_is_a_row_with_failures_and_cold_ones_among_them() -> None:
    measured = rows(CONV_MEASURED)["measurements"]
    assert [(row["variant"], row["algorithm"], row["median_us"]) for row in measured] == [
        (0, "winograd", None),
        (1, "direct", 20.0),
        (2, "gemm", 10.25),
        (3, "gemm", 3.0),
    ]
    assert measured[0]["failure"] == "not for this shape"
    assert {row["fingerprint"] for row in measured} == {CONV_ID}


def test_a_layer_that_could_not_be_tried_is_a_row_with_the_reason() -> None:
    (row,) = rows(GROUP_MEASURED)["measurements"]
    assert row["failure"] == "the runtime can't fuse it"
    assert row["median_us"] is None
    assert row["samples_us"] == ()


def test_what_is_read_from_the_event_log_has_no_rows() -> None:
    assert rows(PUBLISHED) == {}
    assert rows(SEEN[0]) == {}


def test_a_dead_letter_is_a_row_without_what_it_holds_and_another_when_it_is_settled() -> None:
    (row,) = rows(DEAD)["dead_letters"]
    assert (row["dead_letter_id"], row["state"], row["changed_at"]) == (DEAD.event_id, "open", NOON)
    assert (row["service"], row["topic"], row["offset"]) == ("ingest", "models", 7)
    assert (row["reason"], row["bytes"]) == ("not MessagePack", 1)
    (settled,) = rows(SETTLED)["dead_letters"]
    assert (settled["dead_letter_id"], settled["state"]) == (DEAD.event_id, "dropped")
    assert (settled["changed_at"], settled["service"]) == (SETTLED.settled_at, "")


def test_a_profile_is_a_row_and_one_for_each_call() -> None:
    found = rows(PROFILED)
    (row,) = found["profiles"]
    assert (row["framework"], row["version"], row["median_us"]) == ("onnxruntime", "1.31.1", 30.5)
    assert (row["device"], row["calls"]) == ("Some CPU, threads: 2", 2)
    assert [(each["position"], each["op"], each["layers"]) for each in found["profile_calls"]] == [
        (0, "ReorderInput", ()),
        (1, "Conv", (0, 1)),
    ]
    failed = msgspec.structs.replace(PROFILED, times=None, calls=(), failure="why")
    (row,) = rows(failed)["profiles"]
    assert (row["median_us"], row["samples_us"], row["failure"]) == (None, (), "why")


def test_an_evaluation_is_a_row_with_its_system_and_so_is_who_began_with_it() -> None:
    (row,) = rows(EVALUATED)["evaluations"]
    assert (row["model"], row["framework"], row["version"]) == ("resnet50", "onnxruntime", "1.31.1")
    assert (row["device"], row["figures"]) == ("Some CPU, threads: 2", EVALUATED.figures)
    (taken,) = rows(EVALUATION_TAKEN)["taken_evaluations"]
    assert (taken["evaluation_id"], taken["agent"]) == (row["evaluation_id"], row["agent"])


def test_every_row_of_a_table_has_the_same_columns_in_the_same_order() -> None:
    columns: dict[str, set[tuple[str, ...]]] = {}
    for event in EVERY_KIND:
        for table, of_table in rows(event).items():
            columns.setdefault(table, set()).update(tuple(row) for row in of_table)
    assert set(columns) == set(TABLES)
    assert all(len(orders) == 1 for orders in columns.values())


def test_times_are_in_utc_and_those_without_a_zone_are_taken_for_it() -> None:
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert utc(noon.replace(tzinfo=None)) == noon
    assert utc(noon.astimezone(timezone(timedelta(hours=5)))) == noon
    assert utc(noon.astimezone(timezone(timedelta(hours=5)))).hour == 12
    (row,) = rows(BOUNDS[0])["architecture_bounds"]
    assert row["computed_at"] == BOUNDS[0].computed_at
