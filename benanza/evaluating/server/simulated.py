"""A simulated server: LoadGen's requests over measured service times, batched as the real one does.

It predicts latencies at loads that were never run.
"""

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benanza.evaluating.loadgen import queries_for
from benanza.evaluating.measured import percentiles
from benanza.evaluating.results import Percentiles
from benanza.evaluating.server.under_load import PlayedTimes
from benanza_runner.arrays import Array

DRAWN = 2.0**64
"""A draw of libstdc++'s `generate_canonical` for a double has so many values: two of 32 bits."""

REPLAYS = 8


class Simulated(NamedTuple):
    """What a simulated server does: latencies of requests, and how many batches of each size it ran
    on average of its replays.
    """

    latency: Percentiles
    batches: dict[int, float]


def schedule_us(seed: int, rate_per_s: float, duration_s: float, percentile: float = 0.99) -> Array:
    """When LoadGen issues the server's requests, in microseconds from the start: at the same times
    for the same seed, as its C++ draws them (`std::mt19937`, `std::exponential_distribution`), and
    as many as its checks of this percentile need.
    """
    least = queries_for(percentile)
    generator = np.random.RandomState(seed % 2**32)
    gaps_s: deque[float] = deque()
    times_ns = [0]
    while times_ns[-1] < duration_s * 1e9 or len(times_ns) < least:
        if not gaps_s:
            low, high = generator.randint(0, 2**32, (1_024, 2), np.uint32).astype(np.uint64).T
            gaps_s.extend(-np.log(1.0 - (low + high * 2.0**32) / DRAWN) / rate_per_s)
        times_ns.append(times_ns[-1] + int(gaps_s.popleft() * 1e9))
    return np.array(times_ns) / 1_000


def simulate(
    arrivals_us: Sequence[float] | Array,
    times: PlayedTimes,
    max_batch: int,
    max_wait_us: float,
) -> Simulated:
    """Answers requests that arrive at these times, ascending, `REPLAYS` times over.

    What was measured is played back: a batch takes the time that the least batch size that holds it
    took at that point of the measurement, after a pause where nothing ran just before it. So slow
    spells are as long as they were, and those of all sizes come at once. Each replay begins at
    another point.
    """
    arrivals = [float(each) for each in arrivals_us]
    latencies_us: list[float] = []
    batches: dict[int, int] = {}
    for replay in range(REPLAYS):
        played = _Played(times, replay / REPLAYS)
        for size, latencies in _served(arrivals, played, max_batch, max_wait_us):
            latencies_us += latencies
            batches[size] = batches.get(size, 0) + 1
    mean = {size: count / REPLAYS for size, count in sorted(batches.items())}
    return Simulated(percentiles(latencies_us), mean)


class _Played:
    """What was measured, from a point of it on, over and over."""

    def __init__(self, times: PlayedTimes, begin: float) -> None:
        self._times = {each.batch: (each.samples_us, each.after_idle_us) for each in times.service}
        self._sizes = sorted(self._times)
        self._span_us, self._begin = times.span_us, begin
        self.overheads = times.overheads

    def us(self, size: int, at_us: float, *, after_idle: bool) -> float:
        """How long a batch of so many takes that starts then."""
        ran_as = next(each for each in self._sizes if each >= size)
        possible = self._times[ran_as][int(after_idle)]
        point = (self._begin + at_us / self._span_us) % 1.0
        return possible[int(point * len(possible))]


def _served(
    arrivals_us: Sequence[float],
    played: _Played,
    max_batch: int,
    max_wait_us: float,
) -> Iterator[tuple[int, list[float]]]:
    """The size of each batch, and the latencies of its requests."""
    overheads = played.overheads
    first, free_us, count = 0, -math.inf, len(arrivals_us)
    while first < count:
        full = first + max_batch - 1
        filled_us = arrivals_us[full] if full < count else math.inf
        # Nothing is waited for after the last request, when LoadGen says that there are no more.
        waited_us = min(arrivals_us[first] + max_wait_us, arrivals_us[-1])
        may_us = min(filled_us, waited_us)
        idle = may_us > free_us
        late_us = overheads.starting_us if idle else overheads.between_us
        start_us = max(free_us, may_us) + late_us
        size = min(bisect_right(arrivals_us, start_us) - first, max_batch)
        free_us = start_us + played.us(size, start_us, after_idle=idle)
        answered_us = free_us + overheads.issuing_us
        yield size, [answered_us - arrived for arrived in arrivals_us[first : first + size]]
        first += size
