"""A simulated server: LoadGen's requests over measured service times, batched as the real one does.

It predicts latencies at loads that were never run.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benanza.evaluating.loadgen import LEAST_QUERIES
from benanza.evaluating.measured import percentiles
from benanza.evaluating.results import Percentiles, ServiceTimes
from benanza_runner.arrays import Array

DRAWN = 2.0**64
"""A draw of libstdc++'s `generate_canonical` for a double has so many values: two of 32 bits."""


class Simulated(NamedTuple):
    """What a simulated server does: latencies of requests, and how many batches of each size."""

    latency: Percentiles
    batches: dict[int, int]


def schedule_us(seed: int, rate_per_s: float, duration_s: float) -> Array:
    """When LoadGen issues the server's requests, in microseconds from the start: at the same times
    for the same seed, as its C++ draws them (`std::mt19937`, `std::exponential_distribution`).
    """
    generator = np.random.RandomState(seed % 2**32)
    gaps_s: deque[float] = deque()
    times_ns = [0]
    while times_ns[-1] < duration_s * 1e9 or len(times_ns) < LEAST_QUERIES["server"]:
        if not gaps_s:
            low, high = generator.randint(0, 2**32, (1_024, 2), np.uint32).astype(np.uint64).T
            gaps_s.extend(-np.log(1.0 - (low + high * 2.0**32) / DRAWN) / rate_per_s)
        times_ns.append(times_ns[-1] + int(gaps_s.popleft() * 1e9))
    return np.array(times_ns) / 1_000


def simulate(
    arrivals_us: Sequence[float] | Array,
    service: Sequence[ServiceTimes],
    max_batch: int,
    max_wait_us: float,
    seed: int = 0,
) -> Simulated:
    """Answers requests that arrive at these times, ascending. A batch takes one of the times that
    were measured of the least batch size that holds it, drawn at random: of those after pauses
    where nothing ran just before it.
    """
    picked = np.random.default_rng(seed).random(len(arrivals_us))
    times = {each.batch: (each.samples_us, each.after_idle_us) for each in service}
    sizes = sorted(times)
    latencies_us: list[float] = []
    batches: dict[int, int] = {}
    first, free_us, count = 0, -math.inf, len(arrivals_us)
    while first < count:
        full = first + max_batch - 1
        filled_us = arrivals_us[full] if full < count else math.inf
        # Nothing is waited for after the last request, when LoadGen says that there are no more.
        waited_us = min(arrivals_us[first] + max_wait_us, arrivals_us[-1])
        start_us = max(free_us, min(filled_us, waited_us))
        came = int(np.searchsorted(arrivals_us, start_us, side="right"))
        size = min(came - first, max_batch)
        ran_as = next(each for each in sizes if each >= size)
        possible = times[ran_as][int(start_us > free_us)]
        free_us = start_us + possible[int(picked[first] * len(possible))]
        latencies_us += [free_us - arrived for arrived in arrivals_us[first : first + size]]
        batches[size] = batches.get(size, 0) + 1
        first += size
    return Simulated(percentiles(latencies_us), dict(sorted(batches.items())))
