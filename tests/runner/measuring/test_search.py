"""The search for the fastest variant, with made-up timers."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from statistics import median

from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.measuring.sampling import Timing
from benanza_runner.measuring.search import (
    Batch,
    ScreeningRound,
    SearchPlan,
    Trial,
    search,
)
from benanza_schemas.vocabulary import StoppedBy

PLAN = SearchPlan()
SCREENING_CALLS = 20
FULL_CALLS = 500


class MadeUpTimers:
    """Timers of variants that take so long, with noise that only ever adds to it."""

    def __init__(self, times_us: list[float], noise: float, seed: int) -> None:
        self._times_us = times_us
        self._noise = noise
        self._random = Random(seed)
        self.calls = [0] * len(times_us)
        self.full = [0] * len(times_us)
        self.spent_us = [0.0] * len(times_us)
        self.order: list[int] = []
        self.guarded = self.held = False

    @contextmanager
    def device(self) -> Iterator[None]:
        """Within it, batches may run and may not be made."""
        self.held = True
        yield
        self.held = False

    def trial(self, index: int) -> Trial:
        return Trial(self._batch(index, SCREENING_CALLS), lambda _: self._full(index))

    def _batch(self, index: int, calls: int) -> Batch:
        def run() -> Timing:
            assert self.held or not self.guarded, "nothing runs without the device"
            self.calls[index] += 1
            self.order.append(index)
            extra = self._random.expovariate(1) * self._noise
            took_us = self._times_us[index] * (1 + extra) * calls
            self.spent_us[index] += took_us
            return Timing(took_us, disturbed=False)

        return Batch(run, calls)

    def _full(self, index: int) -> Batch:
        assert not self.held, "it takes long to make a batch"
        self.full[index] += 1
        return self._batch(index, FULL_CALLS)

    def trials(self) -> list[Trial]:
        return [self.trial(index) for index in range(len(self._times_us))]


times = st.lists(st.floats(1, 1_000), min_size=1, max_size=60)


@given(times, st.integers(0, 10_000))
def test_without_noise_the_best_is_timed_in_full(times_us: list[float], seed: int) -> None:
    timers = MadeUpTimers(times_us, 0.0, seed)
    found = search(timers.trials(), PLAN, Random(seed))
    best = min(range(len(times_us)), key=lambda index: times_us[index])
    full = [index for index, each in enumerate(found) if each.stopped_by != StoppedBy.SCREENED]
    assert min(times_us[index] for index in full) == times_us[best]
    slower = [index for index in full if times_us[index] > times_us[best] * (1 + 1e-9)]
    assert len(slower) <= PLAN.finalists
    assert all(found[index].stopped_by == StoppedBy.CONVERGED for index in full)
    assert all(each.samples_us for each in found)


@given(times, st.floats(0, 0.01), st.integers(0, 10_000))
def test_with_noise_the_winner_is_within_its_margin(
    times_us: list[float], noise: float, seed: int
) -> None:
    found = search(MadeUpTimers(times_us, noise, seed).trials(), PLAN, Random(seed))
    winner = min(range(len(found)), key=lambda index: min(found[index].samples_us))
    assert times_us[winner] <= min(times_us) * (1 + 20 * noise + 1e-9)


@given(st.lists(st.floats(10, 10.2), min_size=2, max_size=40), st.integers(0, 10_000))
def test_a_few_lucky_samples_do_not_win(times_us: list[float], seed: int) -> None:
    found = search(MadeUpTimers(times_us, 0.05, seed).trials(), PLAN, Random(seed))
    winner = min(found, key=lambda each: median(each.samples_us))
    assert winner.stopped_by != StoppedBy.SCREENED


@given(st.integers(10, 60), st.integers(0, 10_000))
def test_what_is_clearly_slower_costs_a_single_sample(count: int, seed: int) -> None:
    timers = MadeUpTimers([10.0] + [50.0] * (count - 1), 0.01, seed)
    found = search(timers.trials(), PLAN, Random(seed))
    assert timers.calls[1:] == [PLAN.rounds[0].samples] * (count - 1)
    assert [each.stopped_by for each in found[1:]] == [StoppedBy.SCREENED] * (count - 1)
    assert timers.full == [1] + [0] * (count - 1)


@given(times, st.integers(0, 10_000))
def test_samples_from_before_the_search_are_not_taken_again(
    times_us: list[float], seed: int
) -> None:
    timers, fresh = MadeUpTimers(times_us, 0.0, seed), MadeUpTimers(times_us, 0.0, seed)
    trials = [trial._replace(seen_us=(trial.screening.call_us(),)) for trial in timers.trials()]
    assert search(trials, PLAN, Random(seed)) == search(fresh.trials(), PLAN, Random(seed))
    assert timers.calls == fresh.calls


@given(times, st.lists(st.floats(1, 1.99)), st.integers(0, 10_000))
def test_a_first_sample_of_nearly_twice_the_time_costs_the_best_nothing(
    times_us: list[float], longer: list[float], seed: int
) -> None:
    """Which may have come while the device was waking up. Others were not seen before."""
    trials = MadeUpTimers(times_us, 0.0, seed).trials()
    seen = [
        trial._replace(seen_us=(factor * us,))
        for trial, factor, us in zip(trials, longer, times_us, strict=False)
    ]
    found = search([*seen, *trials[len(seen) :]], PLAN, Random(seed))
    full = [
        us
        for us, each in zip(times_us, found, strict=True)
        if each.stopped_by != StoppedBy.SCREENED
    ]
    assert min(full) == min(times_us)


def test_the_rule_counts_the_time_of_all_calls_of_a_batch() -> None:
    timers = MadeUpTimers([1.0], 0.0, 0)
    (found,) = search(timers.trials(), PLAN, Random(0))
    assert found.samples_us == (1.0,) * len(found.samples_us)
    assert timers.spent_us[0] <= PLAN.rule.warm_up_us + PLAN.rule.least_us + 3 * FULL_CALLS


def test_variants_are_screened_in_an_order_that_the_seed_decides() -> None:
    orders = []
    for seed in (1, 1, 2):
        timers = MadeUpTimers([10.0] * 20, 0.0, 0)
        search(
            timers.trials(), SearchPlan(rounds=(ScreeningRound(1, 2.0),), finalists=1), Random(seed)
        )
        orders.append(timers.order[:20])
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == list(range(20)) != orders[0]


@given(times, st.integers(0, 10_000))
def test_batches_run_within_the_device_and_are_made_outside(
    times_us: list[float], seed: int
) -> None:
    timers = MadeUpTimers(times_us, 0.05, seed)
    timers.guarded = True
    alone = search(MadeUpTimers(times_us, 0.05, seed).trials(), PLAN, Random(seed))
    assert search(timers.trials(), PLAN, Random(seed), timers.device) == alone


def test_of_nothing_nothing_is_found() -> None:
    assert search([], PLAN, Random(0)) == []
