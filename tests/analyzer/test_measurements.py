import math
from itertools import permutations

import pytest

from benanza_analyzer.measurements import NOT_MEASURED, Best, Measurements, best
from tests.analyzer.events import measured, variant


def test_the_least_median_wins_with_its_own_spread() -> None:
    event = measured("a", variant(3.0, 0.1), variant(2.0, 0.5), variant(2.5, 0.0))
    assert best(event) == Best(2.0, 0.5)


def test_of_equal_medians_the_lesser_spread_wins() -> None:
    assert best(measured("a", variant(2.0, 0.5), variant(2.0, 0.25))) == Best(2.0, 0.25)


def test_failed_and_cold_variants_have_no_time() -> None:
    event = measured(
        "a", variant(None, None, failure="no memory"), variant(1.0, cache="cold"), variant(4.0)
    )
    assert best(event) == Best(4.0, 0.0)


@pytest.mark.parametrize("bad", [None, math.nan, math.inf])
def test_a_time_that_is_not_finite_or_lacks_its_spread_is_no_time(bad: float | None) -> None:
    assert best(measured("a", variant(bad), variant(1.0, bad))) == "lib algo: no warm time"


def test_the_reason_is_the_runners_or_that_of_each_variant_once() -> None:
    assert best(measured("a", failure="the worker crashed")) == "the worker crashed"
    tried = [variant(None, None, failure=text) for text in ("no memory", "no memory", "no engine")]
    assert best(measured("a", *tried)) == "lib algo: no memory; lib algo: no engine"
    assert best(measured("a", variant(1.0, cache="cold"))) == "lib algo: no warm time"
    assert best(measured("a")) == "no variant was tried"


def test_a_reason_fits_into_an_event() -> None:
    reason = best(measured("a", variant(None, None, failure="x" * 8192)))
    assert isinstance(reason, str)
    assert len(reason) == 8192


def test_outcomes_are_joined_in_any_order() -> None:
    outcomes: list[Best | str] = ["no memory", "crashed"]
    outcomes += [Best(2.0, 0.5), Best(1.0, 0.25), Best(1.0, 0.125)]
    for order in permutations(outcomes):
        measurements = Measurements()
        for outcome in order:
            measurements.add(7, outcome)
        assert (measurements.median_us[7], measurements.iqr_us[7]) == (1.0, 0.125)
    for order in permutations(["no memory", "crashed"]):
        measurements = Measurements()
        for outcome in order:
            measurements.add(7, outcome)
        assert measurements.why_missing(7) == "crashed"


def test_add_says_whether_anything_changed() -> None:
    measurements = Measurements()
    assert measurements.add(1, "no memory")
    assert not measurements.add(1, "no memory")
    assert measurements.add(1, Best(2.0, 0.5))
    assert not measurements.add(1, Best(2.0, 0.5))
    assert not measurements.add(1, Best(3.0, 0.0))
    assert not measurements.add(1, "no memory")
    assert measurements.add(1, Best(1.0, 0.5))


def test_what_is_not_known_has_no_time_and_a_reason() -> None:
    measurements = Measurements()
    measurements.reach(100)
    assert measurements.median_us[99] == math.inf
    assert measurements.median_us[0] == 0.0
    assert measurements.why_missing(99) == NOT_MEASURED
