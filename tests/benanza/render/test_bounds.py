"""Bounds as people read them."""

import io
from typing import Any

import msgspec
import pytest

from benanza.render.bounds import LAYERS_SHOWN, print_bounds, print_lower_bounds
from benanza.render.notebook import show_tables
from benanza.render.table import console
from benanza.results.bounds import Bounds, LayerCounts, LowerBounds
from benanza_analyzer.measurements import NOT_MEASURED
from benanza_backbone.clickhouse.bounds import (
    Coverage,
    FasterRun,
    MissingLayer,
    ModelBound,
    Slowed,
    States,
)

BOUND = ModelBound(
    model="alexnet",
    model_id="a" * 32,
    batch=8,
    dims={},
    system="A CPU",
    system_id="b" * 32,
    runtime="onnxruntime",
    precision="fp32",
    accounting="full",
    fusion=True,
    layout="",
    sequential_us=12_345.6,
    sequential_spread_us=78.9,
    parallel_us=10_000.0,
    parallel_spread_us=50.0,
    roofline_us=None,
    limited_by="",
    attainable_us=None,
    attainable_error_us=0.0,
    partial=False,
    layers=24,
    unique_layers=20,
    coverage=Coverage(measured=22, free=2, not_counted=0, missing=()),
    states=States(in_place=0, copied=0, why_copied=()),
    slowed=Slowed(calls=0, by=(), layers=()),
    beaten_by=(),
    critical_path=("conv1",),
)


def but(**changes: Any) -> ModelBound:
    return msgspec.structs.replace(BOUND, **changes)


def partial(*reasons: str) -> ModelBound:
    """A bound that lacks a layer for each of these reasons."""
    missing = tuple(
        MissingLayer(name=f"layer{at}", op="Conv", reason=reason)
        for at, reason in enumerate(reasons)
    )
    coverage = Coverage(measured=22, free=2, not_counted=0, missing=missing)
    return but(partial=True, coverage=coverage)


def lines(*bounds: ModelBound) -> list[str]:
    stream = io.StringIO()
    print_bounds(console(stream), Bounds(bounds=bounds))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_an_estimate_has_a_column_where_there_is_one() -> None:
    title, first, second, _ = lines(but(attainable_us=14_000.0), but(model="other"))
    assert "attainable ms" in title
    assert "14.00" in first
    assert first.index("14.00") > first.index("10.00")
    assert "-" in second
    assert "attainable" not in lines(BOUND)[0]


def test_an_estimate_from_warm_times_says_how_far_off_it_may_be() -> None:
    *_, row, _ = lines(but(attainable_us=14_000.0, attainable_error_us=700.0))
    assert "14.00 ± 0.70" in row


def test_a_full_bound() -> None:
    title, row, system = lines(BOUND)
    assert "sequential ms" in title
    assert row.split("  ")[0] == "alexnet"
    assert "12.35 ± 0.08" in row
    assert "10.00 ± 0.05" in row
    assert row.endswith("-  full")
    assert system == "measured on A CPU with onnxruntime at fp32"


def test_all_times_of_a_table_have_one_unit() -> None:
    title, quick, slow, _ = lines(but(sequential_us=500.0), BOUND)
    assert "sequential µs" in title
    assert "500.0 ± 78.9" in quick
    assert "12,345.6 ± 78.9" in slow


def test_a_system_of_another_speed_has_a_table_and_a_unit_of_its_own() -> None:
    slow, _, _, quick, _, _ = lines(BOUND, but(system_id="1" * 32, sequential_us=500.0))
    assert "sequential ms" in slow
    assert "sequential µs" in quick


def test_a_partial_bound_says_what_it_lacks() -> None:
    _, row, _, said = lines(partial("too large"))
    assert row.endswith("partial: 22 of 23")
    assert said == (
        "alexnet, batch 8, fp32: the bound is partial; it lacks 1 layer, layer0 (Conv): too large"
    )


def test_a_cause_that_all_missing_layers_share_is_one_line() -> None:
    """As on a CPU without kernels for fp16."""
    missing = tuple(
        MissingLayer(name=f"n{at}", op=op, reason=f"onnxruntime-cpu {op}: it casts and back")
        for at, op in enumerate(["Conv", "Relu", "Conv", "MaxPool"])
    )
    coverage = Coverage(measured=0, free=2, not_counted=0, missing=missing)
    assert lines(but(partial=True, precision="fp16", coverage=coverage))[3:] == [
        "alexnet, batch 8, fp16: the bound is partial; it lacks 4 layers, n0 (Conv), n1 (Relu), "
        "n2 (Conv) and 1 more: onnxruntime-cpu: it casts and back",
        "--format json names all missing layers",
    ]


def test_a_missing_layer_without_a_name_goes_by_its_operator() -> None:
    missing = (MissingLayer(name="", op="Conv", reason="too large"),)
    coverage = Coverage(measured=22, free=2, not_counted=0, missing=missing)
    assert lines(but(partial=True, coverage=coverage))[-1].endswith(
        "it lacks 1 layer, Conv: too large"
    )


def test_where_nothing_is_measured_there_is_no_figure() -> None:
    found = partial("too large", "too large", "too large")
    nothing = msgspec.structs.replace(
        found,
        coverage=msgspec.structs.replace(found.coverage, measured=0),
        sequential_us=None,
        sequential_spread_us=None,
        parallel_us=None,
        parallel_spread_us=None,
    )
    _, row, *_ = lines(nothing)
    assert row.split()[4:] == ["-", "-", "-", "partial:", "0", "of", "3"]


def test_missing_layers_are_told_by_reason() -> None:
    """The most frequent reason first. Of what nobody has measured yet, no layer is named."""
    reasons = ("too large", *["no memory"] * 5, *[NOT_MEASURED] * 1000, "too large")
    assert lines(partial(*reasons))[3:] == [
        "alexnet, batch 8, fp32: the bound is partial; it lacks 1,007 layers:",
        f"  1,000 layers: {NOT_MEASURED}",
        "  5 layers, layer1 (Conv), layer2 (Conv), layer3 (Conv) and 2 more: no memory",
        "  2 layers, layer0 (Conv), layer1006 (Conv): too large",
        "--format json names all missing layers",
    ]


def test_many_reasons_are_not_all_told() -> None:
    shown = lines(partial("one", "one", *(f"reason {at}" for at in range(20))))[4:]
    assert shown[0] == "  2 layers, layer0 (Conv), layer1 (Conv): one"
    assert shown[1] == "  1 layer, layer2 (Conv): reason 0"
    assert shown[10:] == [
        "  11 layers for 11 other reasons",
        "--format json names all missing layers",
    ]


def test_a_speed_of_light_above_the_bound_is_explained() -> None:
    (line,) = lines(but(roofline_us=2_000.0, sequential_us=1_000.0))[3:]
    assert line.startswith("alexnet, batch 8, fp32: the speed of light is above the bound; rates")
    assert lines(but(roofline_us=900.0, sequential_us=1_000.0))[3:] == []
    assert lines(but(roofline_us=None))[3:] == []


def test_the_ceiling_that_holds_stands_beside_the_speed_of_light() -> None:
    titles, row, *_ = lines(but(roofline_us=900.0, limited_by="latency"))
    assert "speed of light" in titles
    assert "held by" in titles
    assert "latency" in row


def test_a_bound_of_a_device_that_was_slowed_down_says_so() -> None:
    slowed = Slowed(calls=2, by=("heat", "power"), layers=("Conv", "Relu"))
    assert lines(but(slowed=slowed))[3:] == [
        "alexnet, batch 8, fp32: 2 calls were timed while the device was slowed down "
        "(heat, power), and may take less: Conv, Relu"
    ]
    many = Slowed(calls=1, by=("power",), layers=tuple(f"layer{at}" for at in range(9)))
    (line,) = lines(but(slowed=many))[3:]
    assert "1 call was timed" in line
    assert line.endswith(f"layer{LAYERS_SHOWN - 1} and {9 - LAYERS_SHOWN} more")


def test_a_bound_that_a_run_is_below_is_wrong() -> None:
    runs = (
        FasterRun(run_as="with weights prefetched", run_us=1234.56),
        FasterRun(run_as="one call after the other", run_us=1300.0),
    )
    assert lines(but(beaten_by=runs))[3:] == [
        "alexnet, batch 8, fp32: the bound is wrong: the model ran in 1,234.6 µs "
        "(with weights prefetched); measure it again with --again, or report it"
    ]


def test_of_several_systems_it_is_said_which_lacks_layers() -> None:
    """Else the bounds of one model on two systems lack the same in the same words."""
    one = partial("too large")
    other = msgspec.structs.replace(one, system="A GPU", system_id="c" * 32, runtime="cuda")
    assert [line.partition(":")[0] for line in lines(one, other) if "is partial" in line] == [
        "alexnet, batch 8, fp32, on A CPU with onnxruntime",
        "alexnet, batch 8, fp32, on A GPU with cuda",
    ]


def test_dimensions_have_a_column_where_there_are_any() -> None:
    title, short, long, none, *_ = lines(
        but(dims={"sequence": 64}), but(dims={"sequence": 128, "width": 8}), BOUND
    )
    assert title.split()[:4] == ["model", "batch", "dims", "layers"]
    assert short.split()[:4] == ["alexnet", "8", "sequence=64", "24"]
    assert long.split()[:5] == ["alexnet", "8", "sequence=128,", "width=8", "24"]
    assert none.split()[:3] == ["alexnet", "8", "24"]
    assert "dims" not in lines(BOUND)[0]


def test_a_partial_bound_says_at_which_dimensions() -> None:
    bound = msgspec.structs.replace(partial("too large"), dims={"sequence": 64})
    assert lines(bound)[3].startswith("alexnet, batch 8, sequence=64, fp32: the bound is partial;")


def test_each_system_and_precision_has_a_table_of_its_own() -> None:
    shown = lines(BOUND, but(system="A GPU", system_id="c" * 32), but(precision="fp16"))
    assert [line for line in shown if line.startswith("measured")] == [
        "measured on A CPU with onnxruntime at fp32",
        "measured on A CPU with onnxruntime at fp16",
        "measured on A GPU with onnxruntime at fp32",
    ]
    assert len([line for line in shown if line.startswith("model ")]) == 3


def test_no_bounds_say_how_to_get_some() -> None:
    assert lines() == [
        "no bounds are known; say: benanza run MODEL, "
        "or benanza publish MODEL where its layers are measured already"
    ]


def test_precisions_of_a_system_are_in_one_unit_and_in_one_order() -> None:
    half = but(precision="fp16", sequential_us=900.0)
    shown = lines(half, BOUND)
    assert [line for line in shown if line.startswith("measured on")] == [
        "measured on A CPU with onnxruntime at fp32",
        "measured on A CPU with onnxruntime at fp16",
    ]
    assert [line for line in shown if "sequential ms" in line] == []


def test_how_a_bound_is_counted_is_said_where_it_is_unusual() -> None:
    (line,) = lines(but(accounting="paper", fusion=False))[2:]
    assert line.endswith("at fp32, accounting paper, without fusion")


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        (
            (91, 55, 0, 49, 3, 3),
            "91 layers and groups, 55 unique: 0 known, 49 benchmarked, 3 failed; "
            "3 groups count layer by layer: nothing here runs them as one call; "
            "reuse saved 36 benchmarks",
        ),
        (
            (1, 1, 1, 0, 0, 0),
            "1 layer, 1 unique: 1 known, 0 benchmarked; reuse saved 1 benchmark",
        ),
        (
            (0, 0, 0, 0, 0, 0),
            "0 layers and groups, 0 unique: 0 known, 0 benchmarked; reuse saved 0 benchmarks",
        ),
    ],
)
def test_what_reuse_saved(counts: tuple[int, int, int, int, int, int], line: str) -> None:
    names = ("total", "unique", "known", "benchmarked", "split", "failed")
    known = dict(zip(names, counts, strict=True))
    layers = LayerCounts(models=1, unique_of_model=counts[1], of_one_model=counts[1], **known)
    found = LowerBounds(bounds=(BOUND,), layers=layers, seconds={}, errors=())
    stream = io.StringIO()
    print_lower_bounds(console(stream), found)
    assert stream.getvalue().splitlines()[-1] == line
    show_tables()
    assert line in found._repr_html_()


def test_what_the_points_of_a_sweep_share() -> None:
    counts = {"total": 40, "unique": 25, "known": 0, "benchmarked": 25, "split": 0, "failed": 0}
    layers = LayerCounts(models=2, unique_of_model=15, of_one_model=20, **counts)
    found = LowerBounds(bounds=(BOUND, but(batch=32)), layers=layers, seconds={}, errors=())
    stream = io.StringIO()
    print_lower_bounds(console(stream), found)
    assert stream.getvalue().splitlines()[-1] == (
        "2 points: one has up to 15 unique layers and groups, all together 1.7 times as many; "
        "20 are in one point alone"
    )
    of_two_models = msgspec.structs.replace(found, bounds=(BOUND, but(model="vgg19")))
    stream = io.StringIO()
    print_lower_bounds(console(stream), of_two_models)
    assert "points" not in stream.getvalue()


@pytest.mark.parametrize(
    ("in_place", "copied", "shown"),
    [(8, 0, "full; states: 8 in place"), (6, 2, "full; states: 6 in place, 2 copied")],
)
def test_states_stand_beside_coverage(in_place: int, copied: int, shown: str) -> None:
    why = ("its sequences are reordered",) if copied else ()
    states = States(in_place=in_place, copied=copied, why_copied=why)
    said = lines(but(states=states))
    assert any(shown in line for line in said)
    assert any("2 states are copied, not in place: its" in line for line in said) == bool(copied)
