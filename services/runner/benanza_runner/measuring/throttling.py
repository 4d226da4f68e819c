"""Timings during which the device was slowed down are taken again."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

T = TypeVar("T")

TRIES = 3

LOWER_CLOCK = "clock"
"""What makes a device slow that works at a lower clock than before, whatever the reason is."""

LEAST_CLOCK = 0.98
"""The share of the highest clock that was seen below which a clock counts as lower.

The reasons that the management library gives come and go: of 50 timings on an H200 whose clock was
lower at the end, 34 had no reason then.
"""


class HighestClock:
    """Remembers the highest clock at which a device was seen at work."""

    def __init__(self) -> None:
        self._highest_mhz = 0

    def lower(self, mhz: int) -> bool:
        """Whether this clock, of a device that has just worked, is clearly lower than that."""
        self._highest_mhz = max(self._highest_mhz, mhz)
        return mhz < LEAST_CLOCK * self._highest_mhz


class Undisturbed(NamedTuple):
    """Whether the last try was undisturbed, how many tries there were, and what slowed the device
    down in any of them.
    """

    stable: bool
    tries: int
    reasons: tuple[str, ...]


def until_undisturbed(
    measure: Callable[[], T],
    slowed_by: Callable[[], tuple[str, ...]],
    slowed_at_work_by: Callable[[], tuple[str, ...]],
    forget: Callable[[], None] = lambda: None,
    rest: Callable[[], None] = lambda: None,
    tries: int = TRIES,
) -> tuple[T, Undisturbed]:
    """Measures, again if something slows the device down at the start or the end of it.

    `slowed_by` returns what slows the device down now, and `slowed_at_work_by` what does when it
    has just worked, which may be more. After a disturbed try, `forget` drops the times that
    `measure` remembered. Before the next try, `rest` leaves the device idle for a while, because
    power and heat add up over time. The result of the last try counts, whatever it is.
    """
    reasons: dict[str, None] = {}
    for attempt in range(1, tries + 1):
        if attempt > 1:
            rest()
        before = slowed_by()
        result = measure()
        seen = dict.fromkeys((*before, *slowed_at_work_by()))
        if not seen:
            return result, Undisturbed(True, attempt, tuple(reasons))
        reasons |= seen
        forget()
    return result, Undisturbed(False, tries, tuple(reasons))
