"""The view finds what sorting all variants would, whatever was tried and however often stored."""

import random
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benanza_backbone.clickhouse.store import Store
from benanza_schemas.events import MARK, LayerMeasured, Variant, event_id, identified
from benanza_schemas.vocabulary import SUBMITTED, StoppedBy
from tests.backbone.sample_events import (
    BOUNDS,
    CHECKPOINT,
    CONV_ID,
    CONV_MEASURED,
    RELU_ID,
    RELU_MEASURED,
    SYSTEM,
    SYSTEM_MEASURED,
    after,
)

GPU = identified(
    msgspec.structs.replace(SYSTEM, accelerator="Some GPU", driver="580", cuda="13.2", cudnn="9.19")
)
UPDATED = identified(msgspec.structs.replace(GPU, driver="590"))

BY_SORTING = """
SELECT
    fingerprint, system_id, precision, library, algorithm, layout,
    minimum_us, median_us, iqr_us, failure, measured_at, event_id, slowed_by
FROM measurements FINAL
WHERE cache = 'warm'
ORDER BY
    multiIf(isNull(median_us), 1, stopped_by = 'hopeless', 2, 0), median_us,
    iqr_us ASC NULLS LAST, measured_at, event_id, variant
LIMIT 1 BY fingerprint, system_id, precision
"""

few_times = st.sampled_from([0.0, 1.0, 2.5])
variants = st.builds(
    lambda number, cache, time, stopped_by: Variant(
        library="a library",
        algorithm=f"algorithm {number}",
        layout=("", "NCHW", "NHWC")[number % 3],
        cache=cache,
        samples_us=time[:1],
        minimum_us=time[0] if time else None,
        median_us=time[0] if time else None,
        iqr_us=time[1] if time else None,
        stopped_by=stopped_by,
        failure="" if time else f"reason {number}",
    ),
    st.integers(0, 99),
    st.sampled_from(["warm", "warm", "weights cold"]),
    st.one_of(st.just(()), st.tuples(few_times, few_times)),
    st.sampled_from([StoppedBy.CONVERGED, StoppedBy.CONVERGED, StoppedBy.PRUNED]),
)
slowed = st.sampled_from([{}, {"stable": "yes"}, {"stable": "no", "slowed_by": "power"}])
results = st.builds(
    lambda of, system, precision, at, number, tried, environment: LayerMeasured(
        event_id=event_id("LayerMeasured", of, system.system_id, precision, str(number)),
        fingerprint=of,
        system=system,
        precision=precision,
        measured_at=after(at),
        variants=tuple(tried),
        environment=environment,
        failure="" if tried else "nothing to try",
    ),
    st.sampled_from([CONV_ID, RELU_ID]),
    st.sampled_from([SYSTEM, GPU]),
    st.sampled_from(["fp32", "fp16"]),
    st.integers(0, 3),
    st.integers(0, 3),
    st.lists(variants, max_size=4),
    slowed,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(f"chdb://{tmp_path_factory.mktemp('store')}") as store:
        yield store


@settings(max_examples=12, deadline=None)
@given(
    # The time, too, is part of a fact: what has the same one is the same.
    st.lists(
        results, min_size=1, max_size=8, unique_by=lambda event: (event.event_id, event.measured_at)
    ),
    st.randoms(use_true_random=False),
)
def test_it_has_the_rows_that_sorting_all_variants_finds(
    store: Store, events: list[LayerMeasured], rng: random.Random
) -> None:
    store.query("TRUNCATE TABLE measurements")
    deliveries = [*events, *rng.choices(events, k=len(events))]
    rng.shuffle(deliveries)
    while deliveries:
        size = rng.randint(1, 4)
        store.insert(deliveries[:size])
        del deliveries[:size]
    columns = BY_SORTING.partition("SELECT")[2].partition("FROM")[0]
    by_key = "ORDER BY fingerprint, system_id, precision"
    expected = store.query(f"SELECT * FROM ({BY_SORTING}) {by_key}")
    assert store.query(f"SELECT {columns} FROM best_measurements {by_key}") == expected
    for row in expected[:1]:
        chosen = "fingerprint = {fingerprint:String} AND system_id = {system_id:String}"
        found = store.query(f"SELECT {columns} FROM best_measurements WHERE {chosen}", row)
        assert row in found


def test_a_submitted_kernel_counts_beside_what_was_measured_here(store: Store) -> None:
    """As in bounds; what was imported otherwise doesn't."""
    store.query("TRUNCATE TABLE measurements")
    store.insert([RELU_MEASURED, *(_imported(library) for library in ("a library", SUBMITTED))])
    (row,) = store.query("SELECT library, median_us FROM best_measurements")
    assert row == {"library": SUBMITTED, "median_us": 0.01}


def _imported(library: str) -> LayerMeasured:
    fast = Variant(
        library=library,
        algorithm="a",
        samples_us=(0.01,),
        minimum_us=0.01,
        median_us=0.01,
        iqr_us=0.0,
    )
    return msgspec.structs.replace(
        RELU_MEASURED,
        event_id=event_id("LayerMeasured", library),
        variants=(fast,),
        environment={MARK: "a" * 64},
    )


def test_what_slowed_a_device_down_counts_where_no_try_was_without(store: Store) -> None:
    store.query("TRUNCATE TABLE measurements")
    again = {"stable": "yes", "slowed_by": "power"}
    never = {"stable": "no", "slowed_by": "power, heat"}
    store.insert(
        [
            msgspec.structs.replace(CONV_MEASURED, environment=again),
            msgspec.structs.replace(RELU_MEASURED, environment=never),
        ]
    )
    found = store.query("SELECT fingerprint, slowed_by FROM best_measurements")
    assert {row["fingerprint"]: row["slowed_by"] for row in found} == {
        CONV_ID: "",
        RELU_ID: "power, heat",
    }


def test_systems_are_told_apart_by_what_is_installed(store: Store) -> None:
    store.query("TRUNCATE TABLE measurements")
    store.insert([CHECKPOINT])
    for system in (SYSTEM, GPU, UPDATED):
        store.insert(
            [
                msgspec.structs.replace(SYSTEM_MEASURED, system=system),
                msgspec.structs.replace(CONV_MEASURED, system=system),
                msgspec.structs.replace(BOUNDS[-1], system_id=system.system_id),
            ]
        )
    for view in ("best_measurements", "current_bounds"):
        found = store.query(
            f"SELECT system, runtime, driver, cuda, cudnn, threads FROM {view} ORDER BY driver"
        )
        assert [tuple(row.values()) for row in found] == [
            ("Some CPU", "onnxruntime", "", "", "", 2),
            ("Some GPU", "onnxruntime", "580", "13.2", "9.19", 2),
            ("Some GPU", "onnxruntime", "590", "13.2", "9.19", 2),
        ]
