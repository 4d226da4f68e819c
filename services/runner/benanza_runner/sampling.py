"""Taking samples: warm-up, then until the stopping rule says so."""

from bisect import insort
from collections.abc import Callable
from typing import NamedTuple

from benanza_runner.stopping import Rule, stopped_by
from benanza_schemas.events import StoppedBy


class Timing(NamedTuple):
    """One call: what it took, and whether the system took a processor away meanwhile."""

    us: float
    disturbed: bool


class Samples(NamedTuple):
    """Times of calls in the order taken, what ended the sampling, and how many calls it left
    out because they were disturbed.
    """

    calls_us: tuple[float, ...]
    stopped_by: StoppedBy
    dropped: int


def collect(call: Callable[[], Timing], rule: Rule) -> Samples:
    """Calls until the rule ends it. It reads no clock: calls say how long they took.

    Disturbed calls count only while there are hardly any others.
    """
    spent_us = 0.0
    while spent_us < rule.warm_up_us:
        spent_us += call().us
    timings: list[Timing] = []
    every: list[float] = []
    undisturbed: list[float] = []
    spent_us = 0.0
    reason: StoppedBy = ""
    while not reason:
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
