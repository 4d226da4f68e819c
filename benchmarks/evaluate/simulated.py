"""The simulated server beside the real one, at ten loads that are drawn by a seed:

    python -m benchmarks.evaluate.simulated zoo:squeezenet --seed 1 --duration 10
    python -m benchmarks.evaluate.simulated sleeping --seed 1 --duration 10

It needs the extra `evaluate`, and for a model a machine that does nothing else; `sleeping` is one
that sleeps, whose batches take the same times under load. Loads are shares of the throughput
without load, from 10 % to 95 %: a seed that nobody tried gives loads that nobody knew. Each load
runs twice, with the same requests at the same times, and before, between and after that the server
is watched at other rates, of which alone the simulation knows. How far the two runs are apart at
the 99th percentile says what no prediction can be better than. What is printed is a table, with
what times without load predict beside it, and how many of the ten are predicted within a tenth of
the two runs' mean.
"""

import argparse
import time
from collections.abc import Sequence
from statistics import mean

import numpy as np

from benanza.evaluating.batches import BatchedModel, LoadedModel
from benanza.evaluating.loading import batch_sizes, load_sizes
from benanza.evaluating.pipeline import Pipeline, service_times
from benanza.evaluating.request import EvaluationRequest
from benanza.evaluating.samples import MadeUpSamples
from benanza.evaluating.server.serving import Server
from benanza.evaluating.server.under_load import times_alone
from benanza.profiling.framework import configuration_named, framework_named
from benanza.profiling.whole_model import Arrays
from benanza.publishing.fetched_once import FetchedOnce
from benanza_ingest.limits import Limits
from benanza_runner.arrays import Array
from benanza_schemas.element_types import PRECISIONS

LOADS = 10
LEAST, MOST = 0.1, 0.95
NEAR = 0.1
SERVICE_S = 2.0
NO_LIMIT_US = 1e9

SLEEPING = "sleeping"
LEAST_SLEEP_S, SAMPLE_SLEEP_S = 0.006, 0.004

HEAD = (
    "| load | requests/s | p99 ms | again | apart | simulated | off | by times without load |\n"
    "|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--framework", default="onnxruntime")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    parser.add_argument(
        "--configuration", default="", help="of the framework; by default its first"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--duration", type=float, default=10.0)
    parser.add_argument("--max-batch", type=int, default=4)
    parser.add_argument("--max-wait-us", type=float, default=2_000.0)
    given = parser.parse_args()
    request = EvaluationRequest(
        model=given.model,
        framework=given.framework,
        configuration=given.configuration,
        precision=given.precision,
        scenario="server",
        duration_s=given.duration,
        max_batch=given.max_batch,
        max_wait_us=given.max_wait_us,
    )
    pipeline = _loaded(request)
    service = service_times(pipeline, SERVICE_S)
    server = Server(request, pipeline, NO_LIMIT_US)
    beside = server.overheads()
    print(
        f"beside the model: {beside.issuing_us:.0f} µs of issuing, {beside.starting_us:.0f} µs "
        f"until a batch starts, {beside.between_us:.0f} µs between batches\n{HEAD}"
    )
    capacity = max(times.per_s for times in service)
    alone = times_alone(service)
    near, repeated, without = 0, 0, 0
    watched = server.watched(service)
    for load in sorted(np.random.default_rng(given.seed).uniform(LEAST, MOST, LOADS)):
        rate = float(load * capacity)
        runs, p99s_us = watched, []
        for _ in range(2):
            latency = server.run(rate, given.duration).latency
            assert latency is not None  # only offline has none
            p99s_us.append(latency.p99_us)
            watched = server.watched(service)
            runs = [*runs, *watched]
        apart = p99s_us[1] / p99s_us[0] - 1
        found = server.simulated(rate, server.times_under_load(runs, service), beside)
        off = found.p99_us / mean(p99s_us) - 1
        off_alone = server.simulated(rate, alone, beside).p99_us / mean(p99s_us) - 1
        repeated += abs(apart) <= NEAR
        near += abs(off) <= NEAR
        without += abs(off_alone) <= NEAR
        times = (f"{us / 1e3:.2f}" for us in (*p99s_us, found.p99_us))
        first, again, simulated = times
        cells = (f"{load:.0%}", f"{rate:.1f}", first, again, f"{apart:+.1%}", simulated)
        print(f"| {' | '.join(cells)} | {off:+.1%} | {off_alone:+.1%} |", flush=True)
    print(
        f"of {LOADS} loads, {near} are predicted within {NEAR:.0%} ({without} by times without "
        f"load), and {repeated} repeat themselves within {NEAR:.0%}"
    )


def _loaded(request: EvaluationRequest) -> Pipeline:
    """The model at its batch sizes, with inputs that are made up."""
    if request.model == SLEEPING:
        model = BatchedModel([_sleeping(size) for size in batch_sizes(request.max_batch)])
        return Pipeline(model, MadeUpSamples(model.at(1).inputs))
    limits = Limits()
    framework = framework_named(request.framework)
    loaded = load_sizes(
        framework,
        configuration_named(framework, request.configuration),
        FetchedOnce().whole(request.model, limits),
        request.precision,
        batch_sizes(request.max_batch),
        {},
        limits,
    )
    return Pipeline(loaded.model, MadeUpSamples(loaded.model.at(1).inputs))


def _sleeping(size: int) -> LoadedModel:
    def run(inputs: Arrays) -> Sequence[Array]:
        time.sleep(LEAST_SLEEP_S + size * SAMPLE_SLEEP_S)
        return tuple(inputs.values())

    return LoadedModel(size, run, {"x": np.zeros((size, 1))})


if __name__ == "__main__":
    main()
