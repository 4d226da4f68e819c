"""The simulated server beside the real one, at ten loads that are drawn by a seed:

    python -m benchmarks.evaluate.simulated zoo:squeezenet --seed 1 --duration 10
    python -m benchmarks.evaluate.simulated sleeping --seed 1 --duration 10

It needs the extra `evaluate`, and for a model a machine that does nothing else; `sleeping` is one
that sleeps, whose batches take the same times under load. Loads are shares of the throughput
without load, from 10 % to 95 %: a seed that nobody tried gives loads that nobody knew. Before each
load the server is watched at two other rates, of which alone the simulation knows, as in an
evaluation. Then the load runs several times, with the same requests at the same times. What is
printed is a table, with what times without load predict beside it, and how many loads are predicted
within a tenth of the median of their runs; and how many single runs are within a tenth of the
median of the others, to compare with.
"""

import argparse
import time
from collections.abc import Sequence
from statistics import median

import numpy as np

from benanza.evaluating.batches import BatchedModel, LoadedModel
from benanza.evaluating.loading import batch_sizes, load_sizes
from benanza.evaluating.pipeline import Pipeline, service_times
from benanza.evaluating.request import EvaluationRequest
from benanza.evaluating.samples import MadeUpSamples
from benanza.evaluating.server.overheads import overheads
from benanza.evaluating.server.serving import Server
from benanza.evaluating.server.under_load import times_alone
from benanza.profiling.framework import configuration_named, framework_named
from benanza.profiling.whole_model import Arrays
from benanza.publishing.fetched_once import FetchedOnce
from benanza_ingest.limits import Limits
from benanza_runner.arrays import Array
from benanza_schemas.element_types import PRECISIONS

LOADS = 10
RUNS = 5
LEAST, MOST = 0.1, 0.95
NEAR = 0.1
SERVICE_S = 2.0
NO_LIMIT_US = 1e9

SLEEPING = "sleeping"
LEAST_SLEEP_S, SAMPLE_SLEEP_S = 0.006, 0.004

HEAD = (
    "| load | requests/s | p99 ms, median | from | to | near the others | simulated | off "
    "| by times without load |\n|---|---|---|---|---|---|---|---|---|"
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
    beside = overheads(request, pipeline, pipeline.model.sizes[-1])
    print(
        f"beside the model: {beside.issuing_us:.0f} µs of issuing, {beside.starting_us:.0f} µs "
        f"until a batch starts, {beside.between_us:.0f} µs between batches\n{HEAD}"
    )
    capacity = max(times.per_s for times in service)
    alone = times_alone(service, beside)
    near, repeated, without = 0, 0, 0
    for load in sorted(np.random.default_rng(given.seed).uniform(LEAST, MOST, LOADS)):
        rate = float(load * capacity)
        watched, p99s_us = server.watched(rate, service), []
        for _ in range(RUNS):
            latency = server.run(rate, given.duration).latency
            assert latency is not None  # only offline has none
            p99s_us.append(latency.p99_us)
        known_us = median(p99s_us)
        alike = sum(
            _is_near(us, median(p99s_us[:number] + p99s_us[number + 1 :]))
            for number, us in enumerate(p99s_us)
        )
        found_us = server.simulated(rate, server.times_under_load(watched, alone)).p99_us
        alone_us = server.simulated(rate, alone).p99_us
        repeated += alike
        near += _is_near(found_us, known_us)
        without += _is_near(alone_us, known_us)
        times = (f"{us / 1e3:.2f}" for us in (known_us, min(p99s_us), max(p99s_us)))
        off, off_alone = (f"{us / known_us - 1:+.1%}" for us in (found_us, alone_us))
        cells = (f"{load:.0%}", f"{rate:.1f}", *times, f"{alike} of {RUNS}")
        print(f"| {' | '.join(cells)} | {found_us / 1e3:.2f} | {off} | {off_alone} |", flush=True)
    print(
        f"of {LOADS} loads, {near} are predicted within {NEAR:.0%} ({without} by times without "
        f"load); of {LOADS * RUNS} runs, {repeated} are within {NEAR:.0%} of the median of the "
        "others of their load"
    )


def _is_near(us: float, known_us: float) -> bool:
    return abs(us / known_us - 1) <= NEAR


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
