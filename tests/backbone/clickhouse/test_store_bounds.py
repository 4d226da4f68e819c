"""Bounds in the store, and what moved them: now, as they were, and after a replay."""

from datetime import timedelta

import msgspec
import pytest

from benanza_backbone.clickhouse.bounds import Coverage, FasterRun, MissingLayer, Slowed
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_events import stored_bound_id
from benanza_schemas.events import RunTimes, event_id
from tests.backbone.sample_events import (
    BOUNDS,
    CHECKPOINT,
    CONV_ID,
    EVERY_KIND,
    GROUP_MEASURED,
    MODEL,
    MODEL_ID,
    OTHER_SYSTEM,
    PROFILED,
    RELU_ID,
    RELU_MEASURED,
    SYSTEM,
    SYSTEM_MEASURED,
    UNKNOWN,
    WITNESSED,
    after,
    bound,
    measured,
    variant,
)


def test_a_bound_has_the_names_of_model_system_and_layers(store: Store) -> None:
    store.insert(EVERY_KIND)
    (found,) = store.bounds()
    assert (found.model, found.batch, found.dims) == ("Net", 1, {"height": 8})
    assert (found.system, found.runtime, found.system_id) == (
        "Some CPU",
        "onnxruntime",
        SYSTEM.system_id,
    )
    assert (found.layers, found.unique_layers) == (5, 3)
    assert found.partial
    last = MissingLayer(name="last", op="Custom", reason=UNKNOWN.reason)
    assert found.coverage == Coverage(measured=3, free=1, not_counted=0, missing=(last,))
    assert found.critical_path == ("conv", "relu", "relu again")
    (row,) = store.query("SELECT * FROM current_bounds")
    assert row["zoo"] == "tests"
    assert [row[kind] for kind in ("measured", "free", "not_counted")] == [[0, 1, 2], [3], []]
    assert row["missing"] == [{"reason": UNKNOWN.reason, "layers": [4]}]
    assert row["cover"] == [CONV_ID, RELU_ID, RELU_ID]
    assert row["cause"] == RELU_MEASURED.event_id


def test_a_figure_that_no_ceiling_holds_is_no_speed_of_light(store: Store) -> None:
    """Rows from before had rooflines there, and models from before have no least work."""
    before = msgspec.structs.replace(BOUNDS[0], roofline_us=7.5, limited_by="")
    store.insert([MODEL, SYSTEM_MEASURED, before])
    (found,) = store.bounds()
    assert (found.roofline_us, found.limited_by) == (None, "")
    held = msgspec.structs.replace(before, computed_at=after(99), limited_by="memory")
    store.insert([held])
    (found,) = store.bounds()
    assert (found.roofline_us, found.limited_by) == (7.5, "memory")


def test_missing_layers_are_listed_each_with_its_reason(store: Store) -> None:
    store.insert([MODEL, SYSTEM_MEASURED, BOUNDS[0]])
    (found,) = store.bounds()
    assert [(layer.name, layer.reason) for layer in found.coverage.missing] == [
        ("conv", "not measured"),
        ("relu", "not measured"),
        ("relu again", "not measured"),
        ("last", UNKNOWN.reason),
    ]


def test_a_bound_is_shown_once_its_model_is_there_even_without_its_system(store: Store) -> None:
    store.insert([BOUNDS[0]])
    assert store.bounds() == []
    store.insert([CHECKPOINT])
    (found,) = store.bounds()
    assert (found.model, found.system, found.sequential_us) == ("Net", "", None)
    assert [(layer.name, layer.op) for layer in found.coverage.missing] == [("", "")] * 4
    (row,) = store.query("SELECT missing FROM current_bounds")
    assert sorted(at for why in row["missing"] for at in why["layers"]) == [0, 1, 2, 4]


def test_where_nothing_is_measured_the_figures_are_null_in_tables_and_views(store: Store) -> None:
    store.insert(EVERY_KIND)
    figures = ("sequential_us", "sequential_spread_us", "parallel_us", "parallel_spread_us")
    for source in ("bounds", f"bounds_at(at = '{BOUNDS[0].computed_at:%Y-%m-%d %H:%M:%S.%f}')"):
        first, *_ = store.query(f"SELECT * FROM {source} ORDER BY computed_at")
        assert first["event_id"] == BOUNDS[0].event_id
        assert [first[figure] for figure in figures] == [None] * 4
    (now,) = store.query("SELECT * FROM current_bounds")
    assert [now[figure] for figure in figures] == [15.25, 0.1525, 15.25, 0.1525]


def test_bounds_are_found_by_name_and_by_id(store: Store) -> None:
    other_id = event_id("model", "Other", "1")
    other = msgspec.structs.replace(
        MODEL, event_id=other_id, model_id=other_id, architecture_id=other_id, name="Other"
    )
    store.insert(
        [*EVERY_KIND, other, bound(cause=other_id, at=0, sequential_us=1, architecture_id=other_id)]
    )
    assert [found.model for found in store.bounds()] == ["Net", "Other"]
    assert [found.model for found in store.bounds(["Other"])] == ["Other"]
    assert [found.model for found in store.bounds([MODEL_ID])] == ["Net"]
    assert [found.model for found in store.bounds(["Other", MODEL_ID])] == ["Net", "Other"]


def test_bounds_are_found_by_their_accounting(store: Store) -> None:
    of_full = bound(cause=event_id("cause"), at=0, sequential_us=1)
    of_paper = msgspec.structs.replace(of_full, accounting="paper")
    store.insert([*EVERY_KIND, of_paper])
    assert [found.accounting for found in store.bounds()] == ["full", "paper"]
    assert [found.accounting for found in store.bounds(accounting="full")] == ["full"]
    (found,) = store.bounds(["Net"], accounting="paper")
    assert (found.accounting, found.sequential_us) == ("paper", 1.0)
    assert store.bounds(["nobody's"]) == []


def test_bounds_of_a_model_are_in_the_order_of_its_dimensions(store: Store) -> None:
    sizes = (256, 64, 128)
    ids = [event_id("model", "Net", str(size)) for size in sizes]
    assert sorted(ids) != [identity for _, identity in sorted(zip(sizes, ids, strict=True))]
    for size, identity in zip(sizes, ids, strict=True):
        model = msgspec.structs.replace(
            MODEL,
            event_id=identity,
            model_id=identity,
            architecture_id=identity,
            dims={"height": 8, "width": size},
        )
        store.insert(
            [model, bound(cause=identity, at=0, sequential_us=1, architecture_id=identity)]
        )
    assert [found.dims["width"] for found in store.bounds()] == [64, 128, 256]


def test_a_file_with_two_names_is_found_under_both(store: Store) -> None:
    alias = msgspec.structs.replace(MODEL, name="Alias", event_id=event_id("again"))
    store.insert([*EVERY_KIND, alias])
    assert [found.model for found in store.bounds()] == ["Alias", "Net"]
    assert [found.model for found in store.bounds(["Net"])] == ["Net"]
    assert len(store.history("Alias")) == len(store.history(MODEL_ID)) == len(BOUNDS)
    assert {row["models"] for row in store.query("SELECT models FROM layer_reuse")} == {1}


def test_bounds_as_they_were(store: Store) -> None:
    store.insert(EVERY_KIND)
    assert store.bounds(at=after(0.4)) == []
    figures = [
        (time, [found.sequential_us for found in store.bounds(["Net"], at=after(time))])
        for time in (0.5, 1.4, 1.5, 2.4, 2.5, 1000)
    ]
    assert figures == [
        (0.5, [None]),
        (1.4, [None]),
        (1.5, [10.25]),
        (2.4, [10.25]),
        (2.5, [15.25]),
        (1000, [15.25]),
    ]
    a_moment_before = BOUNDS[2].computed_at - timedelta(microseconds=1)
    assert [found.sequential_us for found in store.bounds(at=a_moment_before)] == [10.25]


def test_a_bound_says_which_calls_were_timed_on_a_device_that_was_slowed_down(
    store: Store,
) -> None:
    slowed = {"stable": "no", "slowed_by": "power"}
    relu = msgspec.structs.replace(RELU_MEASURED, environment=slowed)
    store.insert([relu if event is RELU_MEASURED else event for event in EVERY_KIND])
    assert store.query("SELECT cover FROM current_bounds") == [
        {"cover": [CONV_ID, RELU_ID, RELU_ID]}
    ]
    (found,) = store.bounds()
    assert found.slowed == Slowed(calls=2, by=("power",), layers=("Relu",))
    (before,) = store.bounds(at=after(1.5))
    assert before.slowed == Slowed(calls=0, by=(), layers=())
    conv = measured(CONV_ID, variant("gemm", 10.0), at=3)
    hot = {"stable": "no", "slowed_by": "heat, power"}
    store.insert([msgspec.structs.replace(conv, environment=hot)])
    (found,) = store.bounds()
    assert found.slowed == Slowed(calls=3, by=("heat", "power"), layers=("Conv", "Relu"))
    store.insert([measured(CONV_ID, variant("gemm", 10.1), at=3.5)])
    (found,) = store.bounds()
    assert found.slowed == Slowed(calls=2, by=("power",), layers=("Relu",))
    store.insert([measured(CONV_ID, variant("gemm", 9.0), at=4)])
    fastest = variant("better", 1.0)
    store.insert([measured(RELU_ID, fastest, at=4)])
    (found,) = store.bounds()
    assert found.slowed == Slowed(calls=0, by=(), layers=())


@pytest.mark.parametrize(
    ("error", "allowed_error", "beats"),
    [(0.01, 0.02, True), (0.02, 0.02, True), (0.021, 0.02, False), (None, None, True)],
)
def test_a_run_with_wrong_results_beats_no_bound(
    store: Store, error: float | None, allowed_error: float | None, *, beats: bool
) -> None:
    higher = bound(cause=event_id("a cause"), at=4, sequential_us=20.0, fusion=True)
    run = msgspec.structs.replace(WITNESSED, error=error, allowed_error=allowed_error)
    store.insert([*(event for event in EVERY_KIND if event != WITNESSED), higher, run])
    _, fused = store.bounds()
    assert bool(fused.beaten_by) is beats
    assert bool(store.beaten_bounds()) is beats


def test_a_bound_that_a_run_is_below_is_named_until_it_is_lower(store: Store) -> None:
    higher, lower = (
        bound(cause=event_id("a cause", str(us)), at=at, sequential_us=us, fusion=True)
        for us, at in ((20.0, 4), (16.6, 6))
    )
    store.insert([*EVERY_KIND, higher])
    parallel = msgspec.structs.replace(
        WITNESSED,
        event_id=event_id("ModelWitnessed", "on streams"),
        witnessed_at=after(5),
        sequential=RunTimes(21.0, 0.1, (21.0,)),
        read_ahead=RunTimes(19.9, 0.1, (19.9,)),
        parallel=RunTimes(15.0, 0.1, (15.0,)),
    )
    failed = msgspec.structs.replace(
        WITNESSED, event_id=event_id("ModelWitnessed", "failed"), sequential=None, failure="why"
    )
    store.insert([parallel, parallel, failed])
    without, fused = store.bounds()
    assert without.beaten_by == ()
    assert fused.beaten_by == (
        FasterRun(run_as="on several streams", run_us=15.0),
        FasterRun(run_as="one call after the other", run_us=16.5),
    )
    assert store.beaten_bounds() == {"fp32": 1}
    (_, before) = store.bounds(at=after(4))
    assert [run.run_us for run in before.beaten_by] == [16.5]
    assert store.query(
        "SELECT model, system, bound_us, run_id FROM beaten_bounds WHERE run_us > 16"
    )
    store.insert([lower])
    (_, fused) = store.bounds()
    assert [run.run_us for run in fused.beaten_by] == [15.0]
    store.insert([msgspec.structs.replace(lower, parallel_us=15.1, computed_at=after(7))])
    (_, fused) = store.bounds()
    assert fused.beaten_by == ()
    assert store.beaten_bounds() == {}


def test_a_bound_that_a_framework_is_below_on_the_same_device_is_named(store: Store) -> None:
    higher = bound(cause=event_id("a cause"), at=4, sequential_us=40.0, fusion=True)
    store.insert([*(event for event in EVERY_KIND if event != WITNESSED), higher])
    _, fused = store.bounds()
    run = FasterRun(run_as="onnxruntime 1.31.1, default options", run_us=30.5)
    assert fused.beaten_by == (run,)
    lower = bound(cause=event_id("another cause"), at=5, sequential_us=30.0, fusion=True)
    store.insert([lower])
    _, fused = store.bounds()
    assert fused.beaten_by == ()
    (found,) = store.query(
        "SELECT model, framework, configuration, median_us, sequential_us, ratio "
        "FROM profiles_beside_bounds"
    )
    assert found == {
        "model": "Net",
        "framework": "onnxruntime",
        "configuration": "default options",
        "median_us": 30.5,
        "sequential_us": 30.0,
        "ratio": 30.5 / 30.0,
    }


def test_a_framework_on_another_device_beats_no_bound(store: Store) -> None:
    higher = bound(cause=event_id("a cause"), at=4, sequential_us=40.0, fusion=True)
    elsewhere = msgspec.structs.replace(PROFILED, system=OTHER_SYSTEM)
    others = (event for event in EVERY_KIND if event not in (WITNESSED, PROFILED))
    store.insert([*others, higher, elsewhere])
    assert store.beaten_bounds() == {}
    assert store.query("SELECT * FROM profiles_beside_bounds") == []


@pytest.mark.parametrize("late_first", [False, True])
def test_what_an_analyzer_writes_that_was_taken_for_dead_is_shown_nowhere(
    store: Store, *, late_first: bool
) -> None:
    """Its clock is ahead of that of the analyzer that took over, which read more of the results."""
    own = [event for event in EVERY_KIND if event not in BOUNDS]
    fused = bound(cause=RELU_MEASURED.event_id, at=2.5, sequential_us=15.0, fusion=True)
    newest = [msgspec.structs.replace(each, claim=2) for each in (*BOUNDS, fused)]
    late = [
        msgspec.structs.replace(
            bound(cause=event_id("late"), at=60, sequential_us=99.0, fusion=fusion), claim=1
        )
        for fusion in (False, True)
    ]
    store.insert(own)
    for versions in (late, newest) if late_first else (newest, late):
        store.insert(versions)
    wanted = {newest[2].event_id, fused.event_id}
    assert {row["event_id"] for row in store.query("SELECT * FROM current_bounds")} == wanted
    assert [found.sequential_us for found in store.bounds()] == [15.25, 15.0]
    assert [found.sequential_us for found in store.bounds(at=after(70))] == [15.25, 15.0]
    history = [change.sequential_us for change in store.history("Net")]
    assert history == [None, 10.25, 15.25, 15.0]
    for view in ("bounds", "bound_moves"):
        found = store.query(f"SELECT * FROM {view} ORDER BY fusion, computed_at")
        assert [row["sequential_us"] for row in found] == history
    assert store.beaten_bounds() == {}
    assert stored_bound_id(store, MODEL_ID, SYSTEM.system_id, "fp32") == fused.event_id


def test_history_says_what_moved_a_bound(store: Store) -> None:
    store.insert(EVERY_KIND)
    first, second, third = store.history("Net")
    assert (first.model, first.batch, first.dims) == ("Net", 1, {"height": 8})
    assert (first.moved_by, first.layer, first.layer_us) == ("model", "", None)
    assert (first.sequential_before_us, first.sequential_us) == (None, None)
    assert (first.missing_before, first.missing) == (None, 4)
    assert (second.moved_by, second.layer, second.op) == ("measurement", "conv", "Conv")
    assert (second.library, second.algorithm, second.layer_us) == ("onnxruntime", "gemm", 10.25)
    assert (second.sequential_before_us, second.sequential_us) == (None, 10.25)
    assert (second.parallel_before_us, second.parallel_us) == (None, 10.25)
    assert (third.layer, third.algorithm, third.layer_us) == ("relu", "default", 2.5)
    assert (third.sequential_before_us, third.sequential_us) == (10.25, 15.25)
    assert (third.missing_before, third.missing) == (3, 1)
    assert [change.computed_at for change in (first, second, third)] == [
        version.computed_at for version in BOUNDS
    ]
    causes = store.query("SELECT cause FROM bounds ORDER BY computed_at")
    assert [row["cause"] for row in causes] == [version.cause for version in BOUNDS]
    assert BOUNDS[2].cause == RELU_MEASURED.event_id


def test_history_names_groups_failures_systems_and_the_unknown(store: Store) -> None:
    causes = (GROUP_MEASURED.event_id, SYSTEM_MEASURED.event_id, event_id("elsewhere"))
    store.insert(
        [
            *EVERY_KIND[:-1],
            *(
                bound(cause=cause, at=10 + n, sequential_us=20 + n, fusion=True)
                for n, cause in enumerate(causes)
            ),
        ]
    )
    group, system, unknown = (change for change in store.history("Net") if change.fusion)
    assert (group.moved_by, group.op, group.layer) == ("measurement", "Conv+Relu", "conv")
    assert (group.failure, group.layer_us) == ("the runtime can't fuse it", None)
    assert (group.sequential_before_us, group.sequential_us) == (None, 20)
    assert (system.moved_by, system.sequential_before_us) == ("system", 20)
    assert (unknown.moved_by, unknown.sequential_us) == ("unknown", 22)


def test_each_measurement_of_a_system_is_a_cause(store: Store) -> None:
    """A recording may bring its layers and its ceilings apart."""
    bare = msgspec.structs.replace(
        SYSTEM_MEASURED, event_id="1" * 32, ceilings=(), measured_at=after(20)
    )
    causes = SYSTEM_MEASURED.event_id, bare.event_id
    moved = [bound(cause=of, at=n, sequential_us=5.0 + n) for n, of in enumerate(causes)]
    store.insert([MODEL, CHECKPOINT, SYSTEM_MEASURED, bare, *moved])
    assert [change.moved_by for change in store.history("Net")] == ["system", "system"]


def test_a_run_stands_beside_the_bound_that_it_ran_after_a_replay(store: Store) -> None:
    """A replay computes the same bound again, by what is known then."""
    again = msgspec.structs.replace(BOUNDS[-1], computed_at=after(50), claim=7, sequential_us=12.0)
    beside = "SELECT bound_us, of_the_bound FROM witnesses_beside_bounds"
    store.insert([MODEL, CHECKPOINT, SYSTEM_MEASURED, *BOUNDS, WITNESSED])
    once = store.query(beside)
    assert once == [{"bound_us": BOUNDS[-1].sequential_us, "of_the_bound": 1.08}]
    store.insert([again])
    assert store.query(beside) == once


def test_a_bound_that_was_beaten_is_known_to_have_been(store: Store) -> None:
    """Also once it is below the run."""
    fused = [
        bound(cause=event_id("a cause", str(us)), at=at, sequential_us=us, fusion=True)
        for at, us in ((4, 20.0), (200, 16.0))
    ]
    profiled = msgspec.structs.replace(
        PROFILED, precision="fp32", times=RunTimes(17.0, 0.1, (17.0,)), profiled_at=after(5)
    )
    store.insert([MODEL, CHECKPOINT, SYSTEM_MEASURED, fused[0], WITNESSED, profiled])

    def beaten() -> list[float]:
        found = [of for of in store.bounds(at=after(100)) if of.fusion]
        return [run.run_us for of in found for run in of.beaten_by]

    assert beaten() == [16.5, 17.0]
    store.insert([fused[1]])
    assert beaten() == [16.5, 17.0]
    assert [of.beaten_by for of in store.bounds() if of.fusion] == [()]


def test_a_replay_leaves_the_past_and_the_history_as_they_were(store: Store) -> None:
    store.insert(EVERY_KIND)
    before = store.history("Net")
    store.insert(
        [
            msgspec.structs.replace(version, computed_at=version.computed_at + timedelta(days=1))
            for version in BOUNDS
        ]
    )
    assert store.history("Net") == before
    assert [found.sequential_us for found in store.bounds(at=after(1.5))] == [10.25]
    assert [found.sequential_us for found in store.bounds()] == [15.25]


def test_a_replay_that_comes_to_another_figure_is_a_new_version(store: Store) -> None:
    store.insert(EVERY_KIND)
    store.insert([msgspec.structs.replace(BOUNDS[2], computed_at=after(9), sequential_us=14.0)])
    assert [found.sequential_us for found in store.bounds()] == [14.0]
    assert [found.sequential_us for found in store.bounds(at=after(8))] == [15.25]
    assert [change.sequential_us for change in store.history("Net")] == [None, 10.25, 15.25, 14.0]
