"""The greatest rate at which a server keeps its limit, found by bisection."""

import math
from collections.abc import Callable

from benanza.evaluating.results import Tried

STEPS = 6
"""Halvings: what is found is within a 64th of the capacity of what a longer search would find."""

WHOLE_STEPS = 4
"""Halvings in runs of the whole duration, where one doesn't confirm what short ones found."""


def greatest_rate(
    try_rate: Callable[[float], Tried],
    most_per_s: float,
    steps: int = STEPS,
    least_per_s: float = math.inf,
) -> tuple[float, list[Tried]]:
    """The greatest rate of those tried that is valid, 0 if none is, and all that were tried.

    Rates are halved between 0 and the most, which isn't tried: a server whose queue grows keeps no
    limit. While none is valid, the search goes on down to `least_per_s`, and a few steps up again:
    what serves a model of microseconds may take a hundred times as long.
    """
    tried: list[Tried] = []
    low, high = 0.0, most_per_s
    while len(tried) < steps or (low == 0 and high / 2 >= least_per_s):
        middle = (low + high) / 2
        tried.append(try_rate(middle))
        if not tried[-1].valid:
            high = middle
            continue
        if low == 0 and len(tried) > steps:
            steps = len(tried) + WHOLE_STEPS
        low = middle
    return low, tried


def confirmed_rate(
    try_rate: Callable[[float], Tried], found_per_s: float
) -> tuple[float, list[Tried]]:
    """The rate itself if it is valid, else the greatest between 0 and it, as of `greatest_rate`."""
    if found_per_s == 0:
        return 0.0, []
    first = try_rate(found_per_s)
    if first.valid:
        return found_per_s, [first]
    rate, tried = greatest_rate(try_rate, found_per_s, WHOLE_STEPS)
    return rate, [first, *tried]
