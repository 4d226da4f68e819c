"""Which weights are kept in the last cache, and when those of calls to come are asked for.

The constants are what did best on an H200 (docs/gpu.md).
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

WAITS_US = 1.0
"""Asking beside the other calls takes them a microsecond, so it has to be worth it."""

MOST_BYTES = 16_000_000
"""Of one call. What reads more is bound by memory anyway, and would drive out the others'."""

LEAST_BYTES = 1_000_000
"""Up to so much is asked for at once, rather than one call's weights after another's."""

BYTES_A_US = 400_000
"""How fast weights come while others are at work."""


class Reading(NamedTuple):
    """A call's weights: their bytes; how long it takes with these in the cache, and how much
    longer where it has to wait for them; microseconds.
    """

    weight_bytes: int
    us: float
    waits_us: float

    @property
    def worth_asking(self) -> bool:
        """Whether it saves time to have the weights in the cache before the call."""
        return 0 < self.weight_bytes <= MOST_BYTES and self.waits_us >= WAITS_US


def asks(calls: Sequence[Reading], kept: frozenset[int] = frozenset()) -> dict[int, list[int]]:
    """By call, the later calls whose weights are asked for when it starts.

    Each is asked for at most once: those of the calls that wait for them, but for the `kept`
    ones' and the first call's. As late as they still come in time, one after the other, and
    with what little follows them.
    """
    wanted = [
        call
        for call, reading in enumerate(calls)
        if call and call not in kept and reading.worth_asking
    ]
    starts_us = [0.0, *accumulate(reading.us for reading in calls)]
    latest: dict[int, int] = {}
    by_us = starts_us[-1]
    for call in reversed(wanted):
        by_us = min(by_us, starts_us[call]) - calls[call].weight_bytes / BYTES_A_US
        latest[call] = max(0, bisect_right(starts_us, by_us) - 1)
    found: dict[int, list[int]] = {}
    asked_at, asked_bytes = -1, 0
    for call in wanted:
        size = calls[call].weight_bytes
        if asked_at < 0 or (latest[call] > asked_at and asked_bytes + size > LEAST_BYTES):
            asked_at, asked_bytes = latest[call], 0
        asked_bytes += size
        found.setdefault(asked_at, []).append(call)
    return found


def keepers(calls: Sequence[Reading], most_bytes: int) -> frozenset[int]:
    """The calls whose weights are worth most in the cache, byte for byte, up to so many bytes."""
    found: set[int] = set()
    worth = (call for call, reading in enumerate(calls) if reading.worth_asking)
    for call in sorted(worth, key=lambda at: -calls[at].waits_us / calls[at].weight_bytes):
        if calls[call].weight_bytes <= most_bytes:
            most_bytes -= calls[call].weight_bytes
            found.add(call)
    return frozenset(found)
