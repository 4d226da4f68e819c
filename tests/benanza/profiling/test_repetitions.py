"""Runs that are repeated."""

import pytest

from benanza.profiling.framework import Profile
from benanza.profiling.repetitions import MOST_SAMPLES, medians_us, together
from benanza_schemas.events import RunTimes


def run(us: float, count: int, **environment: str) -> Profile:
    return Profile(RunTimes(us, 0.0, (us,) * count), environment=environment)


def test_each_repetition_has_as_many_samples() -> None:
    found = together([run(1.0, 7), run(3.0, 5), run(2.0, 9, slowed_by="heat")])
    assert found.times is not None
    assert found.times.samples_us == (1.0,) * 5 + (3.0,) * 5 + (2.0,) * 5
    assert (found.times.median_us, found.times.iqr_us) == (2.0, 2.0)
    assert found.environment == {"slowed_by": "heat"}
    assert medians_us(found.times, 3) == (1.0, 3.0, 2.0)


def test_a_run_that_was_not_repeated_has_parts() -> None:
    assert medians_us(RunTimes(2.0, 1.0, (1.0, 1.0, 2.0, 3.0, 3.0)), 2) == (1.0, 3.0)
    assert medians_us(RunTimes(2.0, 1.0, (1.0, 3.0)), 5) == (1.0, 3.0), "there are but two"
    assert medians_us(RunTimes(2.0, 1.0, ()), 5) == (2.0,)


def test_one_that_failed_stands_for_all() -> None:
    assert together([run(1.0, 5), Profile(failure="no memory")]).failure == "no memory"


def test_an_event_takes_the_samples() -> None:
    found = together([run(1.0, MOST_SAMPLES)] * 3)
    assert found.times is not None
    assert MOST_SAMPLES - 3 < len(found.times.samples_us) <= MOST_SAMPLES


def test_a_single_run_stays_as_it_is() -> None:
    single = run(1.0, 5)
    assert together([single]) is single
    assert single.times is not None
    assert single.times.median_us == pytest.approx(1.0)
