"""The simulated server beside the real one, at ten loads from 10 % to 95 % of the capacity:

    python -m benchmarks.evaluate.simulated zoo:shufflenet --framework onnxruntime --duration 10

It needs the extra `evaluate`, and a machine that does nothing else. Service times are measured
before, without load; the simulation knows nothing of the runs that it is compared with. Beside that
stands a simulation with the times that batches took in the run itself, which tells errors of
queueing and batching from those of service times. What is printed is a table, and how many of the
ten each predicts within a tenth at the 99th percentile.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from benanza.evaluating.loading import batch_sizes, load_sizes
from benanza.evaluating.pipeline import Pipeline, service_times
from benanza.evaluating.request import EvaluationRequest
from benanza.evaluating.results import ServiceTimes
from benanza.evaluating.samples import MadeUpSamples
from benanza.evaluating.server.serving import Server
from benanza.evaluating.under_test import AnsweredBatch
from benanza.profiling.framework import configuration_named, framework_named
from benanza.publishing.fetched_once import FetchedOnce
from benanza_ingest.limits import Limits

LOADS = np.linspace(0.1, 0.95, 10)
NEAR = 0.1
SERVICE_S = 2.0
NO_LIMIT_US = 1e9


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--framework", default="onnxruntime")
    parser.add_argument("--duration", type=float, default=10.0)
    parser.add_argument("--max-batch", type=int, default=4)
    parser.add_argument("--max-wait-us", type=float, default=2_000.0)
    given = parser.parse_args()
    limits = Limits()
    content = FetchedOnce().whole(given.model, limits)
    sizes = batch_sizes(given.max_batch)
    framework = framework_named(given.framework)
    loaded = load_sizes(
        framework, configuration_named(framework, ""), content, "fp32", sizes, {}, limits
    )
    pipeline = Pipeline(loaded.model, MadeUpSamples(loaded.model.at(1).inputs))
    service = service_times(pipeline, SERVICE_S)
    request = EvaluationRequest(
        model=given.model,
        framework=given.framework,
        scenario="server",
        duration_s=given.duration,
        max_batch=given.max_batch,
        max_wait_us=given.max_wait_us,
    )
    server = Server(request, pipeline, NO_LIMIT_US)
    beside = server.overheads()
    print(
        f"beside the model: {beside.issuing_us:.0f} µs of issuing, {beside.starting_us:.0f} µs "
        f"until a batch starts, {beside.between_us:.0f} µs between batches"
    )
    capacity = max(times.per_s for times in service)
    print("| load | requests/s | p50 ms | simulated | p99 ms | simulated | by the run's times |")
    print("|---|---|---|---|---|---|---|")
    near = [0, 0]
    for load in LOADS:
        rate = float(load * capacity)
        said, batches = server.answered(rate, given.duration)
        simulated = server.simulated(rate, service, beside)
        itself = server.simulated(rate, times_within(batches, service), beside)
        p99s_us = [simulated.p99_us, itself.p99_us]
        offs = [p99_us / said.latency.p99_us - 1 for p99_us in p99s_us]
        near = [count + (abs(off) <= NEAR) for count, off in zip(near, offs, strict=True)]
        times = (said.latency.p50_us, simulated.p50_us, said.latency.p99_us)
        shown = [f"{us / 1e3:.2f} ({off:+.1%})" for us, off in zip(p99s_us, offs, strict=True)]
        cells = (f"{load:.0%}", f"{rate:.1f}", *(f"{us / 1e3:.2f}" for us in times), *shown)
        print(f"| {' | '.join(cells)} |", flush=True)
    print(f"{near[0]} and {near[1]} of {len(LOADS)} within {NEAR:.0%}")


def times_within(
    batches: Sequence[AnsweredBatch], alone: Iterable[ServiceTimes]
) -> list[ServiceTimes]:
    """The times of batches in a run, by the size that they ran at, whatever ran before them; of
    sizes that none ran at, those without load.
    """
    found: dict[int, list[float]] = defaultdict(list)
    for batch in batches:
        times = batch.answered
        found[times.ran_as].append((times.finished_ns - times.started_ns) / 1_000)
    return [
        msgspec.structs.replace(
            each,
            samples_us=tuple(found[each.batch] or each.samples_us),
            after_idle_us=tuple(found[each.batch] or each.after_idle_us),
        )
        for each in alone
    ]


if __name__ == "__main__":
    main()
