"""The greatest rate at which a server keeps its limit, found by bisection."""

from collections.abc import Callable

from benanza.evaluating.results import Tried

STEPS = 6
"""Halvings: what is found is within a 64th of the capacity of what a longer search would find."""

CONFIRMED_BY = 6
"""So many rates are tried in runs of the whole duration, until one confirms what short ones found.
"""


def greatest_rate(
    try_rate: Callable[[float], Tried], capacity_per_s: float
) -> tuple[float, list[Tried]]:
    """The greatest rate of those tried that is valid, 0 if none is, and all that were tried.

    Rates are halved between 0 and the capacity: a server whose queue grows keeps no limit.
    """
    tried: list[Tried] = []
    low, high = 0.0, capacity_per_s
    for _ in range(STEPS):
        middle = (low + high) / 2
        tried.append(try_rate(middle))
        low, high = (middle, high) if tried[-1].valid else (low, middle)
    return low, tried


def lower_rates(rate_per_s: float, capacity_per_s: float) -> list[float]:
    """The rate itself, and lower ones to fall back to: by 1, 3, 7, 15 and 31 steps of the
    bisection, since latency may hardly depend on the rate.
    """
    step = capacity_per_s / 2**STEPS
    rates = (rate_per_s - (2**number - 1) * step for number in range(CONFIRMED_BY))
    return [rate for rate in rates if rate > 0]
