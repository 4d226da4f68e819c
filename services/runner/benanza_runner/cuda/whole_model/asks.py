"""Which weights are kept in the last cache, and when those of calls to come are asked for."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple


class Policy(NamedTuple):
    """How weights are read ahead. The numbers are what did best on an H200 (docs/gpu.md).

    Up to `kept_bytes` are kept for good. Weights of calls are asked for that wait for them
    `waits_us` or more, as asking beside the other calls takes these a microsecond; and that have at
    most `most_bytes` of them: what reads more is bound by memory anyway, and would drive out the
    others'. Up to `least_bytes` are asked for at once, rather than one call's weights after
    another's. They come at `bytes_a_us`, while others are at work: few `blocks` disturb these least
    and still bring all in time.
    """

    kept_bytes: int = 0
    waits_us: float = 1.0
    most_bytes: int = 16_000_000
    least_bytes: int = 4_000_000
    bytes_a_us: float = 800_000
    blocks: int = 4


class Reading(NamedTuple):
    """A call's weights: their bytes; how long it takes with these in the cache, and how much
    longer where it has to wait for them; microseconds.
    """

    weight_bytes: int
    us: float
    waits_us: float

    def worth_asking(self, policy: Policy) -> bool:
        """Whether it saves time to have the weights in the cache before the call."""
        return 0 < self.weight_bytes <= policy.most_bytes and self.waits_us >= policy.waits_us


def asks(
    calls: Sequence[Reading], policy: Policy, kept: frozenset[int] = frozenset()
) -> dict[int, list[int]]:
    """By call, the later calls whose weights are asked for when it starts.

    Each is asked for at most once: those of the calls that wait for them, but for the `kept`
    ones' and the first call's. As late as they still come in time, one after the other, and
    with what little follows them.
    """
    wanted = [
        call
        for call, reading in enumerate(calls)
        if call and call not in kept and reading.worth_asking(policy)
    ]
    starts_us = [0.0, *accumulate(reading.us for reading in calls)]
    latest: dict[int, int] = {}
    by_us = starts_us[-1]
    for call in reversed(wanted):
        by_us = min(by_us, starts_us[call]) - calls[call].weight_bytes / policy.bytes_a_us
        latest[call] = max(0, bisect_right(starts_us, by_us) - 1)
    found: dict[int, list[int]] = {}
    asked_at, asked_bytes = -1, 0
    for call in wanted:
        size = calls[call].weight_bytes
        if asked_at < 0 or (latest[call] > asked_at and asked_bytes + size > policy.least_bytes):
            asked_at, asked_bytes = latest[call], 0
        asked_bytes += size
        found.setdefault(asked_at, []).append(call)
    return found


def keepers(calls: Sequence[Reading], policy: Policy) -> frozenset[int]:
    """The calls whose weights are worth most in the cache, byte for byte, as many as are kept."""
    found: set[int] = set()
    most_bytes = policy.kept_bytes
    worth = (call for call, reading in enumerate(calls) if reading.worth_asking(policy))
    for call in sorted(worth, key=lambda at: -calls[at].waits_us / calls[at].weight_bytes):
        if calls[call].weight_bytes <= most_bytes:
            most_bytes -= calls[call].weight_bytes
            found.add(call)
    return frozenset(found)
