"""Taking samples: warm-up calls, then calls until the stopping rule ends them."""

from bisect import insort
from collections.abc import Callable
from typing import NamedTuple

from benanza_runner.measuring.stopping import Rule, stopped_by
from benanza_schemas.vocabulary import StoppedBy


class Timing(NamedTuple):
    """One call: how long it took, and whether the system took a processor away meanwhile."""

    us: float
    disturbed: bool


class Samples(NamedTuple):
    """Times of calls in the order taken, in microseconds, and what ended the sampling.

    `dropped` counts the calls that were left out because they were disturbed.
    """

    calls_us: tuple[float, ...]
    stopped_by: StoppedBy
    dropped: int


def collect(call: Callable[[], Timing], rule: Rule) -> Samples:
    """Calls until the rule ends it. It reads no clock: each call returns how long it took.

    Disturbed calls are left out as soon as there are `rule.few_samples` others.
    """
    spent_us = 0.0
    while spent_us < rule.warm_up_us:
        spent_us += call().us
    timings: list[Timing] = []
    every: list[float] = []
    undisturbed: list[float] = []
    spent_us = 0.0
    reason = None
    while reason is None:
        timing = call()
        spent_us += timing.us
        timings.append(timing)
        insort(every, timing.us)
        if not timing.disturbed:
            insort(undisturbed, timing.us)
        kept = undisturbed if len(undisturbed) >= rule.few_samples else every
        reason = stopped_by(kept, spent_us, rule)
    calls = tuple(t.us for t in timings if kept is every or not t.disturbed)
    return Samples(calls, reason, len(timings) - len(calls))
