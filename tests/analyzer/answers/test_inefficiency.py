"""Where a framework's run takes longer than the bound."""

from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benanza_analyzer.answers.calls import Call
from benanza_analyzer.answers.inefficiency import inefficiencies
from benanza_analyzer.answers.kinds import Inefficiency
from benanza_schemas.events import FrameworkCall, FrameworkKernel, RunTimes
from tests.analyzer.answers.test_differences import call, covers


def made(us: float, *layers: int, op: str = "Conv") -> FrameworkCall:
    return FrameworkCall(f"{op}{layers}", op, layers, 0.0, us, 0.0)


def took(us: float, iqr_us: float = 0.0) -> RunTimes:
    return RunTimes(us, iqr_us, (us,))


def kinds(found: list[Inefficiency]) -> dict[str, tuple[tuple[int, ...], float, float]]:
    return {each.kind: (each.positions, each.us, each.bound_us) for each in found}


def test_each_kind_has_its_positions() -> None:
    calls = [
        made(2.0, 0),
        made(3.0, 1),
        made(0.5, op="ReorderInput"),
        made(7.0, 2),
        made(1.0, 3, op="Reshape"),
        made(4.0, 4),
    ]
    cover = [call(3.5, 0, 1), call(5.0, 2), call(4.5, 4)]
    assert kinds(inefficiencies(took(20.0), took(20.0), calls, cover)) == {
        "more calls": ((0, 1), 5.0, 3.5),
        "conversions and copies": ((), 0.5, 0.0),
        "slower call": ((2,), 7.0, 5.0),
        "no call needed": ((3,), 1.0, 0.0),
        "not slower": ((4,), 4.0, 4.5),
        "between calls": ((), 2.5, 0.0),
    }


def test_a_call_of_no_layer_is_unmatched_unless_it_converts_or_copies() -> None:
    """Copies are also known by what they start on a GPU."""
    calls = [
        made(1.0, op="Range"),
        made(2.0, op="Cast"),
        at(3.0, 3.0, "Memcpy HtoD (Pageable -> Device)"),
        at(6.0, 4.0, "gemm"),
    ]
    found = inefficiencies(took(10.0), took(10.0), calls, [])
    assert {each.calls: each.kind for each in found} == {
        (0,): "unmatched",
        (1,): "conversions and copies",
        (2,): "conversions and copies",
        (3,): "unmatched",
    }


def test_the_greatest_saving_comes_first_and_names_the_framework_s_calls() -> None:
    calls = [made(2.0, 0), made(9.0, 1), made(1.0, op="ReorderOutput")]
    found = inefficiencies(took(12.0), took(12.0), calls, [call(1.5, 0), call(1.0, 1)])
    assert [(each.calls, each.saved_us) for each in found] == [
        ((1,), 8.0),
        ((2,), 1.0),
        ((0,), 0.5),
    ]


def test_a_call_that_joins_what_the_bound_runs_apart_is_no_slower_call_of_one_layer() -> None:
    (found,) = inefficiencies(took(9.0), took(9.0), [made(9.0, 0, 1)], [call(2.0, 0), call(3.0, 1)])
    assert (found.kind, found.positions, found.bound_calls) == ("slower call", (0, 1), 2)


def test_spreads_add_in_quadrature() -> None:
    slow = FrameworkCall("a", "Conv", (0,), 0.0, 9.0, 3.0)
    best = replace(call(5.0, 0), iqr_us=4.0)
    between, part = inefficiencies(took(20.0, iqr_us=4.0), took(20.0, iqr_us=4.0), [slow], [best])
    assert (between.kind, between.spread_us) == ("between calls", 5.0)
    assert (part.kind, part.spread_us) == ("slower call", 5.0)


def test_what_looking_costs_is_no_time_between_calls() -> None:
    found = inefficiencies(took(10.0), took(13.0), [made(8.0, 0)], [call(8.0, 0)])
    assert {each.kind: each.us for each in found} == {
        "timing each call": 3.0,
        "between calls": 2.0,
    }
    (looking,) = inefficiencies(took(5.0), took(13.0), [made(10.0, 0)], [call(10.0, 0)])
    assert (looking.kind, looking.us) == ("timing each call", 3.0)


def test_what_is_the_same_in_both_is_left_out() -> None:
    assert inefficiencies(took(2.0), took(2.0), [made(2.0, 0)], [call(2.0, 0)]) == []


@given(covers(), covers(), st.integers(0, 8), st.integers(0, 80))
def test_the_parts_add_up(
    own: list[Call], cover: list[Call], conversions: int, between: int
) -> None:
    calls = [made(each.us, *each.positions) for each in own]
    calls += [made(0.5, op="ReorderInput")] * conversions
    run_us = fsum(each.median_us for each in calls) + between / 8
    found = inefficiencies(took(run_us), took(run_us), calls, cover)
    bound_us = fsum(each.us + each.conversion_us for each in cover)
    saved_us = fsum(each.saved_us for each in found)
    assert saved_us == run_us - bound_us


def at(start_us: float, us: float, kernel: str = "gemm", *layers: int) -> FrameworkCall:
    """A call that begins then, and starts one kernel."""
    kernels = (FrameworkKernel(kernel, start_us, us),)
    return FrameworkCall(f"{kernel} at {start_us}", "op", layers, start_us, us, 0.0, kernels)


def test_the_time_after_a_copy_to_the_host_is_that_of_a_synchronisation() -> None:
    """What usually passes between calls passes there as well."""
    calls = [
        at(0.0, 4.0, "gemm", 0),
        at(5.0, 2.0, "Memcpy DtoH (Device -> Pageable)"),
        at(20.0, 4.0, "gemm", 1),
        at(25.0, 4.0, "gemm", 2),
        at(30.0, 4.0, "Memcpy DtoH"),
    ]
    cover = [call(4.0, 0), call(4.0, 1), call(4.0, 2)]
    found = inefficiencies(took(36.0), took(40.0), calls, cover)
    assert {(each.kind, each.calls): each.us for each in found} == {
        ("synchronisation", (1,)): 12.0,
        ("between calls", ()): 6.0,
        ("timing each call", ()): 4.0,
        ("conversions and copies", (1,)): 2.0,
        ("conversions and copies", (4,)): 4.0,
    }


def test_synchronisations_take_no_longer_than_all_that_passes_between_calls() -> None:
    """Looking makes each pause longer."""
    calls = [at(10.0 * n, 2.0, kernel) for n, kernel in enumerate(["a", "Memcpy DtoH", "b"])]
    calls.append(at(90.0, 2.0))
    calls.insert(2, at(18.0, 1.0, "Memcpy DtoH"))
    calls.sort(key=lambda each: each.start_us)
    for run_us in (9.0, 12.0, 100.0):
        found = inefficiencies(took(run_us), took(100.0), calls, [])
        outside = [each.us for each in found if each.kind in ("synchronisation", "between calls")]
        assert fsum(outside) == pytest.approx(max(0.0, run_us - 9.0))
        assert min(outside, default=0.0) >= 0.0
