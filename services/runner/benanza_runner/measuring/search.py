"""Finds the fastest of many variants without timing all of them well.

Successive elimination: every round looks at what is left, in shuffled order, until there are a
few more samples of each, and drops what is clearly slower than the best. What was seen before the
search counts. The few that stay to the end are timed in full.
"""

from collections.abc import Callable, Sequence
from random import Random
from statistics import median
from typing import NamedTuple

from benanza_runner.sampling import Timing, collect
from benanza_runner.stopping import Rule
from benanza_schemas.events import SCREENED, StoppedBy


class Batch(NamedTuple):
    """Does some calls at once, and says how long all of them took."""

    run: Callable[[], Timing]
    calls: int = 1

    def call_us(self) -> float:
        """What a call took, this time."""
        return self.run().us / self.calls


class Trial(NamedTuple):
    """A variant: a batch for quick looks at it, and what makes the one for the full timing.

    `kind` says which others it stands for: a layout, for instance. `seen_us` is what calls took
    in looks at it before the search.
    """

    look: Batch
    full: Callable[[], Batch]
    kind: str = ""
    seen_us: tuple[float, ...] = ()


class Round(NamedTuple):
    """Looks at each variant until there are so many samples of it, then keeps those whose least is
    within this factor of the least of all.
    """

    samples: int
    within: float


class Plan(NamedTuple):
    """The rounds of the screening, how many variants at most are timed in full, and how.

    Of 3,359 variants on an H200, 99.4% had a median of eight samples of a millisecond within 0.5%
    of that of twenty.
    """

    rounds: tuple[Round, ...] = (Round(1, 2.0), Round(3, 1.3), Round(7, 1.08))
    finalists: int = 3
    rule: Rule = Rule(warm_up_us=2_000, samples=8, least_us=8_000, cap_us=100_000, max_samples=100)


class Found(NamedTuple):
    """Samples of a variant, for one call each in the order taken, and the rule that ended them."""

    samples_us: tuple[float, ...]
    stopped_by: StoppedBy


def search(trials: Sequence[Trial], plan: Plan, random: Random) -> list[Found]:
    """What was found for each trial, in their order.

    The best of each kind has always been timed in full: what only a few looks made seem faster, by
    chance, is then timed in full as well. What timers raise is raised.
    """
    looks = [list(trial.seen_us) for trial in trials]
    left = list(range(len(trials)))
    for samples, within in plan.rounds:
        random.shuffle(left)
        for index in left:
            more = samples - len(looks[index])
            looks[index].extend(trials[index].look.call_us() for _ in range(more))
        least = min((min(looks[index]) for index in left), default=0.0)
        left = [index for index in left if min(looks[index]) <= within * least]
    by_look = sorted(range(len(trials)), key=lambda index: min(looks[index]))
    best = {trials[index].kind: index for index in reversed(by_look)}
    close = [index for index in by_look if index in left][: plan.finalists]
    finalists = list(dict.fromkeys((*best.values(), *close)))
    found = [Found(tuple(taken), SCREENED) for taken in looks]
    while finalists:
        random.shuffle(finalists)
        for index in finalists:
            found[index] = _in_full(trials[index], plan)
        finalists = _doubtful(trials, found)
    return found


def _in_full(trial: Trial, plan: Plan) -> Found:
    batch = trial.full()
    samples = collect(batch.run, plan.rule)
    times = tuple(us / batch.calls for us in samples.calls_us)
    return Found(times, samples.stopped_by)


def _doubtful(trials: Sequence[Trial], found: Sequence[Found]) -> list[int]:
    """Which seem faster, by a few looks, than the best of their kind that was timed in full."""
    medians = [median(each.samples_us) for each in found]
    full_us: dict[str, float] = {}
    for trial, each, us in zip(trials, found, medians, strict=True):
        if each.stopped_by != SCREENED:
            full_us[trial.kind] = min(us, full_us.get(trial.kind, us))
    return [
        index
        for index, (trial, each, us) in enumerate(zip(trials, found, medians, strict=True))
        if each.stopped_by == SCREENED and us < full_us[trial.kind]
    ]
