"""Taking samples, with calls that only say how long they took."""

from collections.abc import Iterable
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.measuring.sampling import Samples, Timing, collect
from benanza_runner.measuring.stopping import Rule
from benanza_schemas.vocabulary import StoppedBy

RULE = Rule(warm_up_us=5_000, samples=20, least_us=30_000, few_samples=5, cap_us=120_000)


def collected(timings: Iterable[Timing], rule: Rule = RULE) -> tuple[Samples, int]:
    """The samples, and how many calls it took."""
    given_out = iter(timings)
    calls = 0

    def call() -> Timing:
        nonlocal calls
        calls += 1
        return next(given_out)

    return collect(call, rule), calls


def test_the_warm_up_is_not_sampled() -> None:
    cold = [Timing(2_000.0, False)] * 3
    samples, calls = collected(chain(cold, repeat(Timing(1_000.0, False))))
    assert samples == Samples((1_000.0,) * 30, StoppedBy.CONVERGED, 0)
    assert calls == 33


def test_samples_keep_their_order() -> None:
    warm_up = [Timing(5_000.0, False)]
    rising = [Timing(2_000.0 + n, False) for n in range(100)]
    samples, _ = collected(chain(warm_up, rising))
    assert samples.calls_us == tuple(2_000.0 + n for n in range(len(samples.calls_us)))
    assert len(samples.calls_us) >= 20


def test_disturbed_calls_are_left_out_and_counted() -> None:
    warm_up = [Timing(5_000.0, False)]
    mixed = [Timing(9_000.0, True), Timing(1_000.0, False)] * 500
    samples, _ = collected(chain(warm_up, mixed))
    assert set(samples.calls_us) == {1_000.0}
    assert samples.dropped == len(samples.calls_us)


def test_disturbed_calls_count_where_there_are_no_others() -> None:
    samples, _ = collected(repeat(Timing(10_000.0, True)))
    assert samples == Samples((10_000.0,) * 12, StoppedBy.CONVERGED, 0)


def test_a_few_samples_are_taken_of_what_takes_long() -> None:
    samples, calls = collected(repeat(Timing(1e6, False)))
    assert samples.calls_us == (1e6,) * 5
    assert calls == 6


def test_what_takes_a_hundred_times_the_cap_is_sampled_once() -> None:
    samples, calls = collected(repeat(Timing(2e7, False)))
    assert (samples.calls_us, calls) == ((2e7,), 2)


@given(st.lists(st.tuples(st.floats(100, 1e6), st.booleans()), min_size=1, max_size=20))
def test_it_ends_whatever_the_noise(pattern: list[tuple[float, bool]]) -> None:
    timings = (Timing(us, disturbed) for us, disturbed in chain.from_iterable(repeat(pattern)))
    samples, calls = collected(timings)
    assert samples.stopped_by in (StoppedBy.CONVERGED, StoppedBy.CAP)
    assert samples.calls_us
    assert set(samples.calls_us) <= {us for us, _ in pattern}
    assert calls < 5_000


def test_the_rule_as_it_is_takes_a_tenth_of_a_second() -> None:
    rule = Rule()
    assert rule.least_us < rule.cap_us <= 200_000
    samples, _ = collected(repeat(Timing(1_000.0, False)), rule)
    assert sum(samples.calls_us) == pytest.approx(rule.least_us)
