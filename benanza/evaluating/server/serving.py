"""The server's scenario: at a rate that is given, or at the greatest that keeps the limit."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from benanza.evaluating.loadgen import LoadSettings, Said, queries_for, run_load
from benanza.evaluating.measured import measured_run
from benanza.evaluating.pipeline import Pipeline
from benanza.evaluating.request import EvaluationRequest, Seeds
from benanza.evaluating.results import (
    Evaluation,
    MeasuredLoad,
    Overheads,
    Percentiles,
    ServiceTimes,
    Tried,
)
from benanza.evaluating.server.overheads import overheads
from benanza.evaluating.server.rate import confirmed_rate, greatest_rate
from benanza.evaluating.server.simulated import schedule_us, simulate
from benanza.evaluating.server.under_load import PlayedTimes, times_alone, times_under_load
from benanza.evaluating.under_test import AnsweredBatch, BatchingServer

TIMES_ALONE = 10
"""The limit by default, as a multiple of what a request takes alone, in the model or beside it."""

SHORT = 0.2
"""The share of a run's duration for which the search tries a rate."""

WATCHED_AT = (0.85, 1.15)
"""Multiples of a run's rate at which short runs say how long batches take under load. At rates that
are further away batches take other times: what waits longer starts later.
"""

MOST_OF_CAPACITY = 0.97
"""The greatest rate at which the server is watched, as a share of the throughput without load: at
more, all that comes waits.
"""

WATCHED_QUERIES = 200
"""Fewer than LoadGen's checks need, as nothing but times of batches is taken from these runs."""


def served(
    evaluation: Evaluation, pipeline: Pipeline
) -> tuple[Evaluation, Sequence[AnsweredBatch]]:
    """The evaluation, whose `service` is known, with what came of the server, and what that
    answered in the run that counts.
    """
    request = evaluation.request
    service = evaluation.service
    beside = overheads(request, pipeline, _most_at_once(request, pipeline))
    limit_us = request.limit_us or _default_limit_us(request, service[0], beside)
    server = Server(request, pipeline, limit_us)
    alone = times_alone(service, beside)
    tried: list[Tried] = []
    runs: dict[float, WholeRun] = {}

    def whole(rate_per_s: float) -> Tried:
        known = server.times_under_load(server.watched(rate_per_s, service), alone)
        came = server.run(rate_per_s, request.duration_s)
        runs[rate_per_s] = WholeRun(known, came, server.batches)
        return _tried(rate_per_s, came, whole=True)

    if request.rate_per_s is not None:
        rate = request.rate_per_s
        whole(rate)
    else:
        # A run has as many requests as LoadGen needs: below this rate it takes longer than asked.
        least_per_s = queries_for(request.percentile) / request.duration_s
        most_per_s = max(times.per_s for times in service)
        found, tried = greatest_rate(server.tried, most_per_s, least_per_s=least_per_s)
        rate, confirming = confirmed_rate(whole, found)
        tried += confirming
        rate = rate or min(runs, default=0.0)  # what wasn't valid is shown as such
    counts = runs.get(rate, WholeRun(alone, None, ()))
    measured = counts.measured
    evaluation = msgspec.structs.replace(
        evaluation,
        limit_us=limit_us,
        rate_per_s=rate,
        searched=request.rate_per_s is None,
        tried=tuple(tried),
        measured=measured,
        overheads=counts.times.overheads,
        simulated=server.simulated(rate, counts.times) if measured else None,
        failure="" if measured else _none_keeps(request.percentile, limit_us, tried),
    )
    return evaluation, counts.batches


def _most_at_once(request: EvaluationRequest, pipeline: Pipeline) -> int:
    return min(request.max_batch, pipeline.model.sizes[-1])


def _default_limit_us(request: EvaluationRequest, alone: ServiceTimes, beside: Overheads) -> float:
    """At least what any server needs: a request may have to wait for its batch to fill, and then
    for another one to end.
    """
    beside_us = TIMES_ALONE * (beside.issuing_us + beside.starting_us)
    return max(TIMES_ALONE * alone.median_us, request.max_wait_us + 2 * alone.median_us + beside_us)


class WholeRun(NamedTuple):
    """What is known of the server at a rate, and what came of a run of the whole duration."""

    times: PlayedTimes
    measured: MeasuredLoad | None
    batches: Sequence[AnsweredBatch]


class Server:
    """The server under LoadGen's load at several rates."""

    def __init__(self, request: EvaluationRequest, pipeline: Pipeline, limit_us: float) -> None:
        self._request = request
        self._pipeline = pipeline
        self._limit_us = limit_us
        self._max_batch = _most_at_once(request, pipeline)
        self.batches: Sequence[AnsweredBatch] = ()

    def tried(self, rate_per_s: float) -> Tried:
        """What comes of a short run."""
        measured = self.run(rate_per_s, SHORT * self._request.duration_s)
        return _tried(rate_per_s, measured, whole=False)

    def watched(
        self, rate_per_s: float, alone: Sequence[ServiceTimes]
    ) -> list[Sequence[AnsweredBatch]]:
        """What is answered in short runs at `WATCHED_AT` of this rate, but at most at
        `MOST_OF_CAPACITY`, with requests at other times than those of `run`.
        """
        most_per_s = MOST_OF_CAPACITY * max(times.per_s for times in alone)
        seeds, duration_s = self._request.seeds, SHORT * self._request.duration_s
        answered = []
        for number, factor in enumerate(WATCHED_AT, 1):
            other = msgspec.structs.replace(seeds, schedule=seeds.schedule + number)
            rate = min(factor * rate_per_s, most_per_s)
            answered.append(self._answered(rate, duration_s, other, WATCHED_QUERIES)[1])
        return answered

    def times_under_load(
        self, runs: Iterable[Sequence[AnsweredBatch]], alone: PlayedTimes
    ) -> PlayedTimes:
        """What these runs of the server say of another one."""
        return times_under_load(runs, alone, self._max_batch, self._request.max_wait_us)

    def simulated(self, rate_per_s: float, times: PlayedTimes) -> Percentiles:
        """What a whole run at this rate is predicted to take."""
        request = self._request
        arrivals_us = schedule_us(
            request.seeds.schedule, rate_per_s, request.duration_s, request.percentile
        )
        found = simulate(arrivals_us, times, self._max_batch, request.max_wait_us)
        return found.latency

    def run(self, rate_per_s: float, duration_s: float) -> MeasuredLoad:
        """A run at this rate, whose batches are kept until the next one."""
        said, self.batches = self._answered(rate_per_s, duration_s, self._request.seeds)
        return measured_run("server", said, self.batches)

    def _answered(
        self, rate_per_s: float, duration_s: float, seeds: Seeds, least_queries: int | None = None
    ) -> tuple[Said, Sequence[AnsweredBatch]]:
        server = partial(
            BatchingServer,
            self._pipeline,
            max_batch=self._max_batch,
            max_wait_us=self._request.max_wait_us,
        )
        load = LoadSettings(
            "server",
            seeds,
            duration_s,
            rate_per_s=rate_per_s,
            limit_us=self._limit_us,
            percentile=self._request.percentile,
            least_queries=least_queries,
        )
        said, system = run_load(load, self._pipeline, server)
        return said, system.batches


def _none_keeps(percentile: float, limit_us: float, tried: Sequence[Tried]) -> str:
    last = tried[-1]
    return (
        f"none of {len(tried)} rates keeps the limit, {100 * percentile:.7g}% within "
        f"{limit_us / 1_000:,.4g} ms: at {last.rate_per_s:,.4g} requests/s, the lowest, 99% were "
        f"answered within {last.p99_us / 1_000:,.4g} ms; give a longer limit (--limit-ms, or "
        "limit_us in a specification), or a lower rate (--rate, or rate_per_s)"
    )


def _tried(rate_per_s: float, measured: MeasuredLoad, *, whole: bool) -> Tried:
    """A short run has too few requests for LoadGen's check for early stopping to hold near the
    limit, so of it only the limit counts.
    """
    p99_us = measured.latency.p99_us if measured.latency else 0.0
    kept = measured.validity.checks["performance constraints"]
    valid = measured.validity.valid if whole else kept
    return Tried(rate_per_s=rate_per_s, p99_us=p99_us, valid=valid)
