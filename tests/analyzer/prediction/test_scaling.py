"""What a call takes on another GPU."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benanza_analyzer.core import Analyzer
from benanza_analyzer.prediction.bound import predicted_bound
from benanza_analyzer.prediction.gpu import Rates
from benanza_analyzer.prediction.scaling import (
    LEAST_SHARE,
    CallWork,
    held_us,
    scaled_measurement,
    scaled_us,
    works,
)
from benanza_schemas.layer import Precision
from benanza_schemas.vocabulary import CacheState
from tests.analyzer.events import NOW, fingerprint, group, measured, model, summary, the, variant

HERE = Rates(0.7, 7e12, 60e6, 4.8e12, {"fp32": 67e12, "fp16": 990e12}, 132 * 1.98e9)

rates = st.builds(
    Rates,
    launch_us=st.floats(0.1, 10),
    cache=st.floats(1e11, 1e13),
    cache_bytes=st.floats(1e6, 1e8),
    memory=st.floats(1e11, 1e13),
    flops=st.fixed_dictionaries({"fp32": st.floats(1e12, 1e14), "fp16": st.floats(1e12, 1e15)}),
    issue=st.floats(1e10, 1e12),
)
calls = st.tuples(
    st.floats(0.0, 1e4),
    st.builds(CallWork, bytes=st.floats(0, 1e9), flops=st.floats(0, 1e13), product=st.booleans()),
    st.sampled_from(["fp32", "fp16"]),
)


@given(calls, rates)
def test_a_gpu_predicts_itself(call: tuple[float, CallWork, Precision], there: Rates) -> None:
    us, work, precision = call
    assert scaled_us(us, work, there, there, precision) == pytest.approx(us)


def faster(gpu: Rates, times: float) -> Rates:
    """All but the launches so many times as fast."""
    return gpu._replace(
        cache=gpu.cache * times,
        memory=gpu.memory * times,
        flops={precision: rate * times for precision, rate in gpu.flops.items()},
        issue=gpu.issue * times,
    )


@given(calls, rates, rates)
def test_twice_the_ceilings_halve_all_but_launches(
    call: tuple[float, CallWork, Precision], source: Rates, target: Rates
) -> None:
    us, work, precision = call
    launch_us = min(us, source.launch_us) / source.launch_us * target.launch_us
    once, twice = (
        scaled_us(us, work, source, gpu, precision) for gpu in (target, faster(target, 2))
    )
    assert twice - launch_us == pytest.approx((once - launch_us) / 2, abs=1e-6)


@given(calls, rates, rates, st.sampled_from(Rates._fields), st.floats(1, 10))
def test_a_higher_ceiling_never_takes_longer(
    call: tuple[float, CallWork, Precision],
    source: Rates,
    target: Rates,
    which: str,
    times: float,
) -> None:
    us, work, precision = call
    if which == "flops":
        flops = {name: rate * times for name, rate in target.flops.items()}
        better = target._replace(flops=flops)
    elif which == "launch_us":
        better = target._replace(launch_us=target.launch_us / times)
    else:
        better = target._replace(**{which: getattr(target, which) * times})
    before, after = (scaled_us(us, work, source, gpu, precision) for gpu in (target, better))
    assert after <= before * (1 + 1e-9)


@pytest.mark.parametrize(
    ("work", "us", "slower"),
    [
        (CallWork(100e6, 0.0, False), 100e6 / 4.8e12 * 1e6, {"memory": 2.4e12}),
        (CallWork(10e6, 0.0, False), 10e6 / 7e12 * 1e6, {"cache": 3.5e12}),
        (CallWork(1e3, 67e9, True), 1000.0, {"flops": {"fp32": 33.5e12}}),
        (CallWork(1e3, 67e9, False), 1000.0, {"flops": {"fp32": 33.5e12}}),
    ],
)
def test_a_call_is_held_by_its_own_ceiling_alone(
    work: CallWork, us: float, slower: Mapping[str, object]
) -> None:
    """One that reaches all of it, or three quarters, takes twice as long at half of it."""
    assert held_us(work, HERE, "fp32") == pytest.approx(us)
    there = HERE._replace(**slower)  # type: ignore[arg-type]
    for share in (1, LEAST_SHARE):
        taken_us = HERE.launch_us + us / share
        expected_us = HERE.launch_us + 2 * us / share
        assert scaled_us(taken_us, work, HERE, there, "fp32") == pytest.approx(expected_us)


def test_operations_that_are_no_product_are_done_by_vector_units() -> None:
    work = CallWork(0.0, 67e9, product=False)
    assert held_us(work, HERE, "fp16") == pytest.approx(1000.0)
    assert held_us(work._replace(product=True), HERE, "fp16") == pytest.approx(67e9 / 990e6)


def test_what_fits_only_the_larger_cache_is_read_from_the_memory() -> None:
    work = CallWork(55e6, 0.0, product=False)
    there = HERE._replace(cache_bytes=50e6)
    us = HERE.launch_us + held_us(work, HERE, "fp32")
    expected_us = HERE.launch_us + 55e6 / 4.8e12 * 1e6
    assert scaled_us(us, work, HERE, there, "fp32") == pytest.approx(expected_us)


def test_a_call_far_from_its_ceilings_goes_by_multiprocessors_and_clock() -> None:
    work = CallWork(1.0, 1.0, product=True)
    there = HERE._replace(issue=HERE.issue / 2, memory=1e9)
    us = scaled_us(HERE.launch_us + 10, work, HERE, there, "fp32")
    assert us == pytest.approx(HERE.launch_us + 20, rel=1e-3)


def test_a_measurement_keeps_its_variants_and_warm_times_alone() -> None:
    tried = (
        variant(10.0, 1.0, layout="NHWC", change_us=3.0, write_conversion_us=2.0),
        variant(12.0, cache=CacheState.WEIGHTS_COLD),
        variant(None, failure="it failed"),
    )
    event = measured("a", *tried)
    work = {fingerprint("a"): CallWork(0.0, 0.0, product=False)}
    there = HERE._replace(launch_us=2 * HERE.launch_us, issue=HERE.issue / 2)
    found, failed = scaled_measurement(event, work, HERE, there).variants
    assert found.median_us == pytest.approx(20.0)
    assert found.iqr_us == pytest.approx(2.0)
    assert found.layout_change_us == pytest.approx(6.0)
    assert found.write_change_us == pytest.approx(4.0)
    assert (found.layout, found.algorithm) == ("NHWC", "algo")
    assert failed == tried[-1]


LAYERS = summary("Conv", flops=10**9, bytes_moved=10**6, least_flops=10**9), summary("Relu")
MODEL = model(LAYERS, groups=[group("both", (0, 1), flops=10**9, bytes_moved=10**6)])
EVENTS = measured("Conv", 30.0), measured("Relu", 1.0), measured("both", 32.0)


def test_the_work_of_layers_is_at_the_precision_and_without_integers() -> None:
    integers = summary("Conv", "other", flops=4, bytes_moved=8)
    found = works(model([replace(integers, op="MatMulInteger")]), "fp16")
    assert found == {fingerprint("other"): CallWork(4.0, 0.0, product=False)}


def test_a_predicted_bound_of_the_same_gpu_is_the_measured_one() -> None:
    analyzer = Analyzer()
    for event in EVENTS:
        analyzer.restore(event)
    bound = the(analyzer.handle(MODEL, NOW), fusion=True)
    found = predicted_bound(MODEL, EVENTS, (HERE, HERE), "full", fusion=True)
    assert found.sequential_us == pytest.approx(bound.sequential_us)
    assert (found.cover, found.missing) == (bound.cover, bound.missing)


def test_the_cover_is_the_cheapest_there() -> None:
    """The group takes longer here; where launches take longer, it takes less than two calls."""
    there = HERE._replace(launch_us=10.0)
    found = predicted_bound(MODEL, EVENTS, (HERE, there), "full", fusion=True)
    assert found.cover == (fingerprint("both"),)
    alone = predicted_bound(MODEL, EVENTS, (HERE, there), "full", fusion=False)
    assert alone.sequential_us is not None
    assert found.sequential_us is not None
    assert found.sequential_us < alone.sequential_us


def test_a_view_that_was_measured_for_another_model_does_not_count() -> None:
    viewing = model([*LAYERS, summary("Reshape")])
    events = *EVENTS, measured("Reshape", 5.0)
    found = predicted_bound(viewing, events, (HERE, HERE), "full", fusion=False)
    assert found.sequential_us == pytest.approx(31.0)


def test_what_was_not_measured_is_missing() -> None:
    found = predicted_bound(MODEL, EVENTS[1:2], (HERE, HERE), "full", fusion=True)
    assert [missing.layers for missing in found.missing] == [(0,)]
    assert found.roofline_us is None
    assert found.attainable_us is None
