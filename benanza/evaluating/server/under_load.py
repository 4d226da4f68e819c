"""How long batches take in runs of the server, and how long it takes from one to the next: what a
simulation of it at another rate plays back.

Under load the same batch takes longer than alone, at any rate: LoadGen's threads and the server's
share processors, caches and Python's lock. So times under one load say more of another load than
times without any.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from benanza.evaluating.results import Overheads, ServiceTimes
from benanza.evaluating.server.overheads import NONE, gaps_us, may_start_ns
from benanza.evaluating.under_test import AnsweredBatch

LEAST = 11
"""With fewer batches of a kind, or gaps between batches, those without load are played back."""


class PlayedTimes(NamedTuple):
    """Times of batches by size, in the order in which they ran, how long the measurement took, in
    microseconds, and what is beside the batches.
    """

    service: Sequence[ServiceTimes]
    span_us: float
    overheads: Overheads


def times_alone(service: Sequence[ServiceTimes], overheads: Overheads = NONE) -> PlayedTimes:
    """Those without load."""
    span_us = sum(sum(each.samples_us + each.after_idle_us) for each in service)
    return PlayedTimes(service, span_us, overheads)


def times_under_load(
    runs: Iterable[Sequence[AnsweredBatch]],
    alone: PlayedTimes,
    max_batch: int,
    max_wait_us: float,
) -> PlayedTimes:
    """Those of these runs, by the size that batches ran at, and whether nothing ran just before;
    `median_us` and `issuing_us` stay those without load.
    """
    found: dict[tuple[int, bool], list[float]] = defaultdict(list)
    starting_us, between_us = [], []
    span_ns = 0
    for batches in runs:
        gaps = gaps_us(batches, max_batch, max_wait_us)
        starting_us += gaps.starting
        between_us += gaps.between
        free_ns = 0
        for queries, answered in batches:
            idle = may_start_ns(queries, max_batch, max_wait_us) > free_ns
            free_ns = answered.finished_ns
            found[answered.ran_as, idle].append((free_ns - answered.started_ns) / 1_000)
        span_ns += free_ns - batches[0].answered.started_ns

    def enough(size: int, otherwise: tuple[float, ...], *, idle: bool) -> tuple[float, ...]:
        times = found[size, idle]
        return tuple(times) if len(times) >= LEAST else otherwise

    service = [
        ServiceTimes(
            batch=each.batch,
            median_us=each.median_us,
            samples_us=enough(each.batch, each.samples_us, idle=False),
            after_idle_us=enough(each.batch, each.after_idle_us, idle=True),
        )
        for each in alone.service
    ]
    beside = alone.overheads
    overheads = Overheads(
        issuing_us=beside.issuing_us,
        starting_us=median(starting_us) if len(starting_us) >= LEAST else beside.starting_us,
        between_us=median(between_us) if len(between_us) >= LEAST else beside.between_us,
    )
    return PlayedTimes(service, span_ns / 1_000, overheads)
