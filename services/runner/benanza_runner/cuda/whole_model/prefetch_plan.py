"""Which weights stay in the last cache, and when those of later calls are prefetched into it."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple


class PrefetchPolicy(NamedTuple):
    """How weights are prefetched. The defaults are what did best on an H200 (docs/results/gpu.md).

    - `persistent_bytes`: so many bytes of weights at most stay in the cache for good.
    - `least_wait_us`: weights are prefetched for calls that wait for them at least so long.
      Prefetching takes the calls beside it about a microsecond.
    - `most_bytes`: a call's weights are prefetched if they are no larger. A call that reads more is
      bound by memory anyway, and its weights would drive out those of others.
    - `batch_bytes`: weights of several calls are prefetched together up to this size.
    - `bytes_per_us`: the rate at which they come while other calls run.
    - `blocks`: the prefetching kernel has so many. Few disturb the other calls least, and still
      bring all in time.
    """

    persistent_bytes: int = 0
    least_wait_us: float = 1.0
    most_bytes: int = 16_000_000
    batch_bytes: int = 4_000_000
    bytes_per_us: float = 800_000
    blocks: int = 4


class CallWeights(NamedTuple):
    """The weights of a call, in bytes. `us` is how long the call takes with them in the cache, and
    `wait_us` how much longer where it has to wait for them, in microseconds.
    """

    weight_bytes: int
    us: float
    wait_us: float

    def worth_prefetching(self, policy: PrefetchPolicy) -> bool:
        """Whether it saves time to have the weights in the cache before the call."""
        return 0 < self.weight_bytes <= policy.most_bytes and self.wait_us >= policy.least_wait_us


def prefetches(
    calls: Sequence[CallWeights],
    policy: PrefetchPolicy,
    persistent: frozenset[int] = frozenset(),
) -> dict[int, list[int]]:
    """By call, the later calls whose weights are prefetched when it starts.

    Weights are prefetched at most once: those of the calls that wait for them, but for the
    `persistent` ones and those of the first call. It happens as late as they still come in time,
    one call's after another's, and in batches.
    """
    wanted = [
        call
        for call, weights in enumerate(calls)
        if call and call not in persistent and weights.worth_prefetching(policy)
    ]
    starts_us = [0.0, *accumulate(weights.us for weights in calls)]
    latest: dict[int, int] = {}
    by_us = starts_us[-1]
    for call in reversed(wanted):
        by_us = min(by_us, starts_us[call]) - calls[call].weight_bytes / policy.bytes_per_us
        latest[call] = max(0, bisect_right(starts_us, by_us) - 1)
    batches: dict[int, list[int]] = {}
    started_at, batch_bytes = -1, 0
    for call in wanted:
        size = calls[call].weight_bytes
        full = batch_bytes + size > policy.batch_bytes
        if started_at < 0 or (latest[call] > started_at and full):
            started_at, batch_bytes = latest[call], 0
        batch_bytes += size
        batches.setdefault(started_at, []).append(call)
    return batches


def persistent_calls(calls: Sequence[CallWeights], policy: PrefetchPolicy) -> frozenset[int]:
    """The calls whose weights stay in the cache: those that save most time for each byte, up to
    `policy.persistent_bytes`.
    """
    persistent: set[int] = set()
    left_bytes = policy.persistent_bytes
    worth = (call for call, weights in enumerate(calls) if weights.worth_prefetching(policy))
    for call in sorted(
        worth, key=lambda number: -calls[number].wait_us / calls[number].weight_bytes
    ):
        if calls[call].weight_bytes <= left_bytes:
            left_bytes -= calls[call].weight_bytes
            persistent.add(call)
    return frozenset(persistent)
