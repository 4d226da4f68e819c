"""Finds the fastest of many variants without timing all of them in full.

This is successive elimination. Every round screens the variants that are left, in shuffled order,
until there are a few more samples of each, and drops those that are clearly slower than the best.
The few that are left at the end are timed in full. Samples from before the search count.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from random import Random
from statistics import median
from typing import NamedTuple

from benanza_runner.measuring.sampling import Timing, collect
from benanza_runner.measuring.stopping import Rule
from benanza_schemas.vocabulary import StoppedBy


class Batch(NamedTuple):
    """Does `calls` calls at once; `run` returns how long all of them took together."""

    run: Callable[[], Timing]
    calls: int = 1

    def call_us(self) -> float:
        """Runs the batch, and returns how long one call took, in microseconds."""
        return self.run().us / self.calls


class Trial(NamedTuple):
    """A variant: a small batch to screen it with, and what makes the batch to time it in full.

    The latter is given how many microseconds a call takes. The best variant of each `kind`, such
    as a layout, is always timed in full. `seen_us` holds times of a call, in microseconds, from
    before the search.
    """

    screening: Batch
    full: Callable[[float], Batch]
    kind: str = ""
    seen_us: tuple[float, ...] = ()


class ScreeningRound(NamedTuple):
    """Takes samples of each variant until there are `samples` of it. It keeps the variants whose
    least sample is at most `within` times the least of all.
    """

    samples: int
    within: float


class SearchPlan(NamedTuple):
    """The rounds of the screening, how many variants at most are timed in full, and how.

    Of 3,359 variants on an H200, 99.4% had a median of eight samples of a millisecond within 0.5%
    of that of twenty.
    """

    rounds: tuple[ScreeningRound, ...] = (
        ScreeningRound(1, 2.0),
        ScreeningRound(3, 1.3),
        ScreeningRound(7, 1.08),
    )
    finalists: int = 3
    rule: Rule = Rule(warm_up_us=2_000, samples=8, least_us=8_000, cap_us=100_000, max_samples=100)


class VariantSamples(NamedTuple):
    """Samples of a variant, in microseconds for one call and in the order taken, and the rule
    that ended them.
    """

    samples_us: tuple[float, ...]
    stopped_by: StoppedBy


def search(
    trials: Sequence[Trial],
    plan: SearchPlan,
    random: Random,
    device: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> list[VariantSamples]:
    """What was found for each trial, in their order.

    The best of each kind has always been timed in full: a variant that seems faster after a few
    samples, by chance, is then timed in full as well. Batches run within `device`, and are made
    outside of it, as that takes long. Raises what a batch raises.
    """
    if not trials:
        return []
    with device():
        left, taken_us = _screened(trials, plan, random)
    ranked = sorted(range(len(trials)), key=lambda index: min(taken_us[index]))
    best = {trials[index].kind: index for index in reversed(ranked)}
    close = [index for index in ranked if index in left][: plan.finalists]
    finalists = list(dict.fromkeys((*best.values(), *close)))
    samples = [VariantSamples(tuple(us), StoppedBy.SCREENED) for us in taken_us]
    while finalists:
        random.shuffle(finalists)
        batches = {index: trials[index].full(min(taken_us[index])) for index in finalists}
        with device():
            for batch in batches.values():
                batch.run()  # A CUDA graph that hasn't run yet may slow all others down.
            for index, batch in batches.items():
                samples[index] = _in_full(batch, plan)
        finalists = _doubtful(trials, samples)
    return samples


def _screened(
    trials: Sequence[Trial], plan: SearchPlan, random: Random
) -> tuple[list[int], list[list[float]]]:
    """The trials that are left after all rounds, and each one's samples in microseconds."""
    taken_us = [list(trial.seen_us) for trial in trials]
    left = list(range(len(trials)))
    for samples, within in plan.rounds:
        random.shuffle(left)
        for index in left:
            more = samples - len(taken_us[index])
            taken_us[index].extend(trials[index].screening.call_us() for _ in range(more))
        least = min(min(taken_us[index]) for index in left)
        left = [index for index in left if min(taken_us[index]) <= within * least]
    return left, taken_us


def _in_full(batch: Batch, plan: SearchPlan) -> VariantSamples:
    samples = collect(batch.run, plan.rule)
    times = tuple(us / batch.calls for us in samples.calls_us)
    return VariantSamples(times, samples.stopped_by)


def _doubtful(trials: Sequence[Trial], samples: Sequence[VariantSamples]) -> list[int]:
    """Variants that were only screened, and seem faster than the best of their kind in full."""
    medians = [median(variant.samples_us) for variant in samples]
    full_us: dict[str, float] = {}
    for trial, variant, us in zip(trials, samples, medians, strict=True):
        if variant.stopped_by != StoppedBy.SCREENED:
            full_us[trial.kind] = min(us, full_us.get(trial.kind, us))
    return [
        index
        for index, (trial, variant, us) in enumerate(zip(trials, samples, medians, strict=True))
        if variant.stopped_by == StoppedBy.SCREENED and us < full_us[trial.kind]
    ]
