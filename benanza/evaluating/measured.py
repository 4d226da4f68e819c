"""What a run under load took, from LoadGen's log and from what the system under test recorded."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from benanza.evaluating.loadgen import FEWEST_FOR_P999, Said
from benanza.evaluating.request import Scenario
from benanza.evaluating.results import MeasuredLoad, Percentiles
from benanza.evaluating.under_test import AnsweredBatch


def measured_run(scenario: Scenario, said: Said, batches: Sequence[AnsweredBatch]) -> MeasuredLoad:
    """Times of samples: `computing` is that of the batch which a sample is part of."""
    queueing = percentiles(
        (batch.answered.started_ns - query.came_ns) / 1_000
        for batch in batches
        for query in batch.queries
    )
    computing = percentiles(
        (batch.answered.finished_ns - batch.answered.started_ns) / 1_000
        for batch in batches
        for _ in batch.queries
    )
    latency = None if scenario == "offline" else said.latency
    issuing_us = 0.0
    if latency is not None and scenario != "multi-stream":  # whose queries are several samples
        issuing_us = max(0.0, latency.mean_us - queueing.mean_us - computing.mean_us)
    steps = np.array(
        [
            (found.started_ns, found.prepared_ns, found.ran_ns, found.finished_ns)
            for found in (batch.answered for batch in batches)
        ]
    )
    prepare_us, run_us, finish_us = (np.diff(steps).mean(axis=0) / 1_000).tolist()
    sizes = Counter(len(batch.queries) for batch in batches)
    return MeasuredLoad(
        validity=said.validity,
        queries=said.queries,
        samples=sum(len(batch.queries) for batch in batches),
        per_s=said.per_s,
        latency=latency,
        issuing_us=issuing_us,
        queueing=queueing,
        filling_us=_filling_us(batches),
        computing=computing,
        prepare_us=prepare_us,
        run_us=run_us,
        finish_us=finish_us,
        batches=dict(sorted(sizes.items())),
    )


def _filling_us(batches: Sequence[AnsweredBatch]) -> float:
    """How long a sample waits on average while nothing runs."""
    total_ns, samples, free_ns = 0, 0, 0
    for batch in batches:
        started = batch.answered.started_ns
        total_ns += sum(started - max(query.came_ns, free_ns) for query in batch.queries)
        samples += len(batch.queries)
        free_ns = batch.answered.finished_ns
    return total_ns / samples / 1_000


def percentiles(times_us: Iterable[float]) -> Percentiles:
    """Of these times, each one that was taken, as LoadGen says them."""
    ordered = np.sort(np.fromiter(times_us, float))
    at = {share: float(ordered[int(len(ordered) * share)]) for share in (0.5, 0.9, 0.99, 0.999)}
    return Percentiles(
        mean_us=float(ordered.mean()),
        p50_us=at[0.5],
        p90_us=at[0.9],
        p99_us=at[0.99],
        p999_us=at[0.999] if len(ordered) >= FEWEST_FOR_P999 else None,
    )
