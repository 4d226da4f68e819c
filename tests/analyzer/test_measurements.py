import math
from datetime import timedelta
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.measurements import (
    BLOCKS,
    BY_LIBRARY,
    FIRST,
    LAST,
    NO_LIBRARY_RUNS_IT,
    NOT_MEASURED,
    WHICHEVER,
    Best,
    Measurements,
    bests,
    fastest,
)
from benanza_schemas.events import LayerMeasured
from benanza_schemas.vocabulary import GENERATED, CacheState, StoppedBy
from tests.analyzer.events import NOW, everywhere, measured, variant


def best(event: LayerMeasured) -> Best | str:
    """What is best where layouts make no difference."""
    found = bests(event)
    if isinstance(found, str):
        return found
    assert len(set(found)) == 1
    return found[0]


def test_the_least_median_wins_with_its_own_spread() -> None:
    event = measured("a", variant(3.0, 0.1), variant(2.0, 0.5), variant(2.5, 0.0))
    assert best(event) == Best(2.0, 0.5)


def test_of_equal_medians_the_lesser_spread_wins() -> None:
    assert best(measured("a", variant(2.0, 0.5), variant(2.0, 0.25))) == Best(2.0, 0.25)


def test_failed_and_cold_variants_have_no_time() -> None:
    event = measured(
        "a", variant(None, failure="no memory"), variant(1.0, cache=CacheState.COLD), variant(4.0)
    )
    assert best(event) == Best(4.0, 0.0)


def test_the_reason_is_the_runners_or_that_of_each_variant_once() -> None:
    assert best(measured("a", failure="the worker crashed")) == "the worker crashed"
    tried = [variant(None, failure=text) for text in ("no memory", "no memory", "no engine")]
    assert best(measured("a", *tried)) == "lib algo: no memory; lib algo: no engine"
    assert best(measured("a", variant(1.0, cache=CacheState.COLD))) == "lib algo: no warm time"
    assert best(measured("a")) == "no variant was tried"


def test_a_reason_fits_into_an_event() -> None:
    reason = best(measured("a", variant(None, failure="x" * 8192)))
    assert isinstance(reason, str)
    assert len(reason) == 8192


def test_outcomes_are_joined_in_any_order() -> None:
    outcomes: list[Best | str] = ["no memory", "crashed"]
    outcomes += [Best(2.0, 0.5), Best(1.0, 0.25), Best(1.0, 0.125)]
    for order in permutations(outcomes):
        measurements = Measurements()
        for outcome in order:
            measurements.add(7, everywhere(outcome), NOW)
        assert (measurements.median_us[0, 7], measurements.iqr_us[0, 7]) == (1.0, 0.125)


def test_a_quiet_measurement_narrows_the_spread_of_a_disturbed_one() -> None:
    """Whose median is the least, and whose samples were all over the place."""
    measurements = Measurements()
    measurements.add(1, everywhere(Best(2.0, 8.0)), NOW)
    assert measurements.iqr_us[WHICHEVER, 1] == 8.0
    assert measurements.add(1, everywhere(Best(2.5, 0.25)), NOW)
    assert (measurements.median_us[WHICHEVER, 1], measurements.iqr_us[WHICHEVER, 1]) == (2.0, 0.75)
    measurements.add(1, everywhere(Best(1.0, 4.0)), NOW)
    assert (measurements.median_us[WHICHEVER, 1], measurements.iqr_us[WHICHEVER, 1]) == (1.0, 1.75)


microseconds = st.floats(0.0, 1e6)


@given(st.lists(st.tuples(microseconds, microseconds), min_size=1, max_size=5), st.randoms())
def test_the_spread_is_that_of_all_measurements_in_any_order(
    times: list[tuple[float, float]], random: Random
) -> None:
    median_us, iqr_us = min(times)
    upper_us = min(median + iqr for median, iqr in times)
    narrowed_us = upper_us - median_us if upper_us < median_us + iqr_us else math.inf
    for _ in range(3):
        random.shuffle(times)
        measurements = Measurements()
        for each in times:
            measurements.add(3, everywhere(Best(*each)), NOW)
        assert measurements.median_us[WHICHEVER, 3] == median_us
        assert measurements.iqr_us[WHICHEVER, 3] == min(iqr_us, narrowed_us)


@pytest.mark.parametrize("last", ["no memory", "crashed"])
def test_of_several_failures_the_last_one_s_reason_counts(last: str) -> None:
    """A cause that was mended is not shown any more."""
    failures = [("no engine", NOW), (last, NOW + timedelta(seconds=1))]
    for order in permutations(failures):
        measurements = Measurements()
        for reason, at in order:
            measurements.add(7, everywhere(reason), at)
        assert measurements.why_missing(7) == last


def test_add_says_whether_anything_changed() -> None:
    measurements = Measurements()
    assert measurements.add(1, everywhere("no memory"), NOW)
    assert not measurements.add(1, everywhere("no memory"), NOW)
    assert measurements.add(1, everywhere(Best(2.0, 0.5)), NOW)
    assert not measurements.add(1, everywhere(Best(2.0, 0.5)), NOW)
    assert not measurements.add(1, everywhere(Best(3.0, 0.0)), NOW)
    assert not measurements.add(1, everywhere("no memory"), NOW)
    assert measurements.add(1, everywhere(Best(1.0, 0.5)), NOW)


def test_what_is_not_known_has_no_time_and_a_reason() -> None:
    measurements = Measurements()
    measurements.reach(100)
    assert measurements.median_us[0, 99] == math.inf
    assert measurements.median_us[0, 0] == 0.0
    assert measurements.why_missing(99) == NOT_MEASURED


def test_a_library_s_best_variant_is_apart_from_generated_kernels() -> None:
    generated = variant(2.0, algorithm="a", library=GENERATED)
    found = bests(measured("a", generated, variant(3.0, 0.5), variant(4.0)))
    assert not isinstance(found, str)
    assert (found[WHICHEVER], found[BY_LIBRARY]) == (Best(2.0, 0.0), Best(3.0, 0.5))
    for selection, us in ((WHICHEVER, 2.0), (BY_LIBRARY, 3.0)):
        chosen = fastest([measured("a", generated), measured("a", 3.0)], selection)
        assert chosen is not None
        assert chosen[1].median_us == us


def test_a_layer_without_a_library_s_time_says_so() -> None:
    measurements = Measurements()
    measurements.add(1, bests(measured("a", variant(2.0, library=GENERATED))), NOW)
    assert measurements.generated_matter
    assert math.isinf(measurements.median_us[BY_LIBRARY, 1])
    assert measurements.why_missing(1) == NO_LIBRARY_RUNS_IT


def test_in_each_layout_another_variant_is_best() -> None:
    first = variant(3.0, algorithm="a", layout="NCHW", change_us=2.0)
    last = variant(2.0, algorithm="b", layout="NHWC", change_us=2.5, write_conversion_us=1.0)
    found = bests(measured("a", first, last))
    assert not isinstance(found, str)
    best_last = Best(
        2.0, 0.0, conversion_us=2.5, interleaved_conversion_us=2.5, write_conversion_us=1.0
    )
    assert (
        found[WHICHEVER] == found[LAST] == best_last._replace(interleaved_write_conversion_us=1.0)
    )
    assert (found[FIRST].median_us, found[FIRST].conversion_us) == (3.0, 2.0)
    only_last = bests(measured("a", last))
    assert not isinstance(only_last, str)
    assert [best.median_us for best in only_last] == [2.0, math.inf, 2.0, math.inf, 2.0]


def test_a_variant_without_layout_conversions_is_the_same_in_both_layouts() -> None:
    found = bests(measured("a", variant(3.0, layout="weights transposed", change_us=1.0)))
    assert not isinstance(found, str)
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("change_us", "write_conversion_us", "wanted"),
    [(2.0, 0.5, 0.5), (2.0, None, math.inf), (None, 0.0, 0.0), (None, None, math.inf)],
)
def test_the_conversion_of_a_result_may_not_be_known(
    change_us: float | None, write_conversion_us: float | None, wanted: float
) -> None:
    """Measurements of old don't say it."""
    of = variant(3.0, layout="NHWC", change_us=change_us, write_conversion_us=write_conversion_us)
    found = bests(measured("a", of))
    assert not isinstance(found, str)
    assert found[LAST].write_conversion_us == wanted


def test_the_conversion_of_a_result_is_known_from_any_measurement() -> None:
    """Also from one whose times are not the best, whichever comes first."""
    old = measured("a", variant(1.5))
    new = measured("a", variant(1.75, write_conversion_us=1.0))
    for order in ((old, new), (new, old)):
        measurements = Measurements()
        for event in order:
            assert measurements.add(1, bests(event), event.measured_at)
        assert not measurements.add(1, bests(new), new.measured_at)
        assert measurements.median_us[WHICHEVER, 1] == 1.5
        assert measurements.of("write_conversion_us")[WHICHEVER, 1] == 1.0


def test_what_only_writes_feature_maps_stays_so_when_it_is_measured_again() -> None:
    """Its conversions are then a little longer or shorter, and those of the best time count."""
    made = [
        measured("a", variant(us, layout="NHWC", change_us=change, write_conversion_us=change))
        for us, change in ((0.01, 2.31), (0.02, 2.25))
    ]
    around = variant(1.0, layout="NHWC", change_us=4.0, write_conversion_us=2.0)
    for order in permutations(made):
        measurements = Measurements()
        for event in order:
            measurements.add(1, bests(event), event.measured_at)
        assert measurements.of("only_writes")[LAST, 1] == 1
    measurements.add(2, bests(measured("b", around)), NOW)
    measurements.add(3, bests(measured("c", variant(1.0))), NOW)
    assert measurements.of("only_writes")[LAST, 2:4].tolist() == [0, 0]


def test_interleaved_times_are_those_of_the_same_variant() -> None:
    found = bests(
        measured(
            "a",
            variant(3.0, algorithm="a", layout="NHWC", change_us=0.5, write_conversion_us=0.25),
            variant(
                3.25,
                algorithm="a",
                layout="NHWC",
                cache=CacheState.INTERLEAVED,
                change_us=1.0,
                write_conversion_us=0.5,
            ),
            variant(3.5, algorithm="a", layout="NHWC", cache=CacheState.WEIGHTS_COLD),
            variant(1.0, algorithm="b", layout="NHWC", cache=CacheState.INTERLEAVED),
            variant(
                None,
                algorithm="a",
                layout="NHWC",
                cache=CacheState.INTERLEAVED,
                failure="no memory",
            ),
        )
    )
    assert not isinstance(found, str)
    assert found[LAST] == found[WHICHEVER] == Best(3.0, 0.0, 3.25, 3.5, 0.5, 1.0, 0.25, 0.5)


def test_what_was_pruned_is_in_no_layout() -> None:
    """Its time holds the launch from the host, and its layout conversions were not measured."""
    last = variant(2.0, algorithm="b", layout="NHWC", change_us=2.5, write_conversion_us=1.0)
    pruned = variant(40.0, algorithm="a", layout="NCHW", stopped_by=StoppedBy.PRUNED)
    assert bests(measured("a", last, pruned)) == bests(measured("a", last))
    assert fastest([measured("a", last, pruned)], FIRST) is None


def test_blocks_of_channels_are_a_layout_of_their_own() -> None:
    """ONNX Runtime's layout on CPUs begins with the letters of channels first."""
    event = measured(
        "a",
        variant(3.0, algorithm="a", layout="NCHW", change_us=2.0),
        variant(2.0, algorithm="a", layout="NCHWc", change_us=2.5),
        variant(1.0, algorithm="a", layout="NHWC", change_us=4.0),
    )
    found = bests(event)
    assert not isinstance(found, str)
    assert [found[layout].median_us for layout in (FIRST, LAST, BLOCKS)] == [3.0, 1.0, 2.0]


def test_the_layouts_of_a_system_are_those_that_take_conversions() -> None:
    measurements = Measurements()
    measurements.know_layouts(measured("b", variant(1.0, layout="NHWC")))
    assert list(measurements.layouts) == [FIRST, LAST]
    measurements.know_layouts(measured("b", variant(1.0, layout="NCHWc")))
    assert list(measurements.layouts) == [FIRST, BLOCKS]
    measurements.know_layouts(measured("b", variant(1.0, layout="NHWC", change_us=1.0)))
    assert list(measurements.layouts) == [FIRST, LAST, BLOCKS]


def test_what_takes_any_layout_says_how_long_blocks_take_to_be_converted() -> None:
    """Of channels last, only what has these says that."""
    measurements = Measurements()
    last = variant(1.0, layout="NHWC", change_us=4.0, write_conversion_us=3.0)
    events = (
        measured("a", variant(2.0, layout="NCHWc", change_us=2.0, write_conversion_us=1.0), last),
        measured("b", variant(2.0, write_conversion_us=0.5)),
    )
    for number, event in enumerate(events, start=1):
        measurements.know_layouts(event)
        measurements.add(number, bests(event), NOW)
    found = measurements.conversions_us("write_conversion_us")[:, 1:3]
    assert found.tolist() == [[0.0, 0.0], [3.0, math.inf], [1.0, 0.5]]


def test_layouts_matter_from_the_first_layer_on_for_which_they_differ() -> None:
    measurements = Measurements()
    measurements.add(1, everywhere(Best(2.0, 0.5)), NOW)
    assert not measurements.layouts_matter
    measurements.add(2, [Best(us, 0.0) for us in (1.0, 1.0, 2.0, 1.0, 1.0)], NOW)
    assert measurements.layouts_matter
