"""What LoadGen, threads and queues cost beside the model, measured by answering at once."""

import time
from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

from benanza.evaluating.loadgen import LoadSettings, run_load
from benanza.evaluating.pipeline import Answered, Pipeline
from benanza.evaluating.request import EvaluationRequest
from benanza.evaluating.results import Overheads
from benanza.evaluating.under_test import AnsweredBatch, BatchingServer, Query

LIGHT_PER_S = 2_000.0
FLOOD_PER_S = 100_000.0
"""In a flood, something always waits."""

DURATION_S = 0.1
NO_LIMIT_US = 1e9

NONE = Overheads(issuing_us=0.0, starting_us=0.0, between_us=0.0)


class _AtOnce(Pipeline):
    """Answers with nothing, in no time, and needs no samples."""

    def load(self, indices: Sequence[int]) -> None:
        """Nothing is kept."""

    def answer(self, indices: Sequence[int]) -> Answered:
        now = time.perf_counter_ns()
        return Answered([None] * len(indices), len(indices), now, now, now, now)


def overheads(request: EvaluationRequest, pipeline: Pipeline, max_batch: int) -> Overheads:
    """Runs the server over a pipeline that answers at once, under light load and under a flood."""
    instant = _AtOnce(pipeline.model, pipeline.source)
    server = partial(BatchingServer, max_batch=max_batch, max_wait_us=request.max_wait_us)
    said, light = run_load(_load(request, LIGHT_PER_S), instant, partial(server, instant))
    _, flood = run_load(_load(request, FLOOD_PER_S), instant, partial(server, instant))
    late = gaps_us(light.batches, max_batch, request.max_wait_us).starting
    between = gaps_us(flood.batches, max_batch, request.max_wait_us).between
    answered_us = median(
        (batch.answered.finished_ns - query.came_ns) / 1_000
        for batch in light.batches
        for query in batch.queries
    )
    return Overheads(
        issuing_us=max(0.0, said.latency.p50_us - answered_us),
        starting_us=median(late) if late else 0.0,
        between_us=median(between) if between else 0.0,
    )


def _load(request: EvaluationRequest, rate_per_s: float) -> LoadSettings:
    return LoadSettings(
        "server", request.seeds, DURATION_S, rate_per_s=rate_per_s, limit_us=NO_LIMIT_US
    )


def may_start_ns(queries: Sequence[Query], max_batch: int, max_wait_us: float) -> int:
    """When a batch may start if nothing else runs: once it is full or its first request waited."""
    waited_ns = queries[0].came_ns + int(1_000 * max_wait_us)
    return min(waited_ns, queries[-1].came_ns) if len(queries) == max_batch else waited_ns


class Gaps(NamedTuple):
    """How late batches started that nothing ran before, and how long after the one before it each
    of those that might have started by then, in microseconds.
    """

    starting: list[float]
    between: list[float]


def gaps_us(batches: Sequence[AnsweredBatch], max_batch: int, max_wait_us: float) -> Gaps:
    """Those of one run of the server."""
    gaps, free_ns = Gaps([], []), 0
    for queries, answered in batches:
        may_ns = may_start_ns(queries, max_batch, max_wait_us)
        if may_ns > free_ns:
            gaps.starting.append(max(0, answered.started_ns - may_ns) / 1_000)
        else:
            gaps.between.append((answered.started_ns - free_ns) / 1_000)
        free_ns = answered.finished_ns
    return gaps
