"""MLPerf's LoadGen: what it is set to, a run of it, and what it says of the run in its own log.

https://github.com/mlcommons/inference/tree/master/loadgen has its sources and the checks.
"""

import gc
import json
import signal
import sys
import tempfile
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import mlperf_loadgen as lg

from benanza.evaluating.pipeline import Pipeline
from benanza.evaluating.request import Scenario, Seeds
from benanza.evaluating.results import Percentiles, Validity
from benanza.evaluating.under_test import Complete, Query, SystemUnderTest

MOST_LOADED = 1_024
"""So many samples are in memory at once."""

FEWEST_FOR_P999 = 1_000

STREAMS_PERCENTILE: Mapping[Scenario, float] = {"single-stream": 0.9, "multi-stream": 0.99}
"""What LoadGen's check for early stopping is about; of the server it is the limit's percentile."""

CONFIDENCE = 0.99
"""That of this check."""

_SCENARIOS = {
    "single-stream": lg.TestScenario.SingleStream,
    "multi-stream": lg.TestScenario.MultiStream,
    "server": lg.TestScenario.Server,
    "offline": lg.TestScenario.Offline,
}

_CHECKS = {
    "performance constraints": "result_perf_constraints_met",
    "minimum duration": "result_min_duration_met",
    "minimum queries": "result_min_queries_met",
    "early stopping": "early_stopping_met",
}

PREGENERATED = 1.5
"""LoadGen makes its queries before it starts. If a system is faster than expected by more than its
own reserve, it runs out of them; so it is told to expect one that is faster than was measured.
"""


class LoadSettings(NamedTuple):
    """What LoadGen is to do. `expected_us` is how long a query may take, from which LoadGen makes
    up its number; `rate_per_s` that of samples, at the server's or expected of offline. The server
    has to answer `percentile` of its queries within `limit_us`. Queries are at least
    `least_queries`, by default as many as LoadGen's checks need.
    """

    scenario: Scenario
    seeds: Seeds
    duration_s: float
    expected_us: float = 0.0
    rate_per_s: float = 0.0
    limit_us: float = 0.0
    percentile: float = 0.99
    streams: int = 8
    least_queries: int | None = None


class Said(NamedTuple):
    """What LoadGen's log says of a run: `latency` is that of queries."""

    validity: Validity
    queries: int
    per_s: float
    latency: Percentiles


def queries_for(percentile: float) -> int:
    """From so many queries on LoadGen's check for early stopping can hold with one query above the
    percentile, between 0 and 1: 64 for the 90th, 662 for the 99th.

    So many show at `CONFIDENCE` that no smaller share is within: were it smaller, at most one above
    would be improbable. Source: MLPerf's "Early stopping", appendix of its inference rules.
    """

    def is_enough(queries: int) -> bool:
        above = (1 - percentile) * queries
        return percentile ** (queries - 1) * (percentile + above) <= 1 - CONFIDENCE

    most = ceil(10 / (1 - percentile))
    return bisect_left(range(most), True, lo=1, key=is_enough)


def loadgen_version() -> str:
    """That of the package."""
    return version("mlcommons-loadgen")


def run_load(
    load: LoadSettings, pipeline: Pipeline, system: Callable[[Complete], SystemUnderTest]
) -> tuple[Said, SystemUnderTest]:
    """Runs a load to its end against what `system` makes. Raises what the system under test did."""
    with tempfile.TemporaryDirectory(prefix="benanza-loadgen-") as folder:
        found = _run(_settings(load), pipeline, system, Path(folder))
        log = read_log((Path(folder) / "mlperf_log_detail.txt").read_text("utf-8"))
    if load.scenario == "offline":
        per_s = log["result_samples_per_second"]
    else:
        per_s = _per_s(load, log, found)
    return said(load.scenario, log, per_s), found


def run_all(
    pipeline: Pipeline, seeds: Seeds, system: Callable[[Complete], SystemUnderTest]
) -> SystemUnderTest:
    """Runs every sample once, in LoadGen's mode for accuracy."""
    settings = _settings(LoadSettings("offline", seeds, duration_s=0.0, rate_per_s=1.0))
    settings.mode = lg.TestMode.AccuracyOnly
    with tempfile.TemporaryDirectory(prefix="benanza-loadgen-") as folder:
        return _run(settings, pipeline, system, Path(folder))


def _run(
    settings: Any, pipeline: Pipeline, system: Callable[[Complete], SystemUnderTest], folder: Path
) -> SystemUnderTest:
    count = pipeline.source.count
    under_test = system(_complete)
    outputs = lg.LogOutputSettings()
    outputs.outdir = str(folder)
    logs = lg.LogSettings()
    logs.log_output = outputs
    logs.enable_trace = False
    sut = lg.ConstructSUT(under_test.issue, under_test.flush)
    qsl = lg.ConstructQSL(count, min(count, MOST_LOADED), pipeline.load, pipeline.unload)
    try:
        with _nothing_old_to_collect(), _interrupts_noted(under_test.interrupt):
            audit = str(folder / "audit.config")
            under_test.run(lambda: lg.StartTestWithLogSettings(sut, qsl, settings, logs, audit))
    finally:
        lg.DestroyQSL(qsl)
        lg.DestroySUT(sut)
    if under_test.raised is not None:
        raise under_test.raised
    return under_test


@contextmanager
def _nothing_old_to_collect() -> Iterator[None]:
    """Keeps Python's garbage collector from objects that exist before a run. Frameworks' modules
    make half a million, and a look at all of them stops every thread for 0.1 to 0.3 s.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _interrupts_noted(note: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C calls this instead of raising an exception: one that goes through LoadGen, which can't
    be stopped, crashes the process. A second Ctrl-C ends that at once.
    """
    former = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or former is not signal.default_int_handler:
        yield
        return

    def interrupted(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        note()
        sys.stderr.write("interrupted: LoadGen ends its run first; Ctrl-C again ends at once\n")

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def _complete(queries: Sequence[Query]) -> None:
    lg.QuerySamplesComplete([lg.QuerySampleResponse(query.id, 0, 0) for query in queries])


def _settings(load: LoadSettings) -> Any:
    settings = lg.TestSettings()
    settings.scenario = _SCENARIOS[load.scenario]
    settings.mode = lg.TestMode.PerformanceOnly
    settings.qsl_rng_seed = load.seeds.samples
    settings.sample_index_rng_seed = load.seeds.order
    settings.schedule_rng_seed = load.seeds.schedule
    settings.min_duration_ms = int(1_000 * load.duration_s)
    percentile = STREAMS_PERCENTILE.get(load.scenario, load.percentile)
    needed = 1 if load.scenario == "offline" else queries_for(percentile)
    settings.min_query_count = load.least_queries or needed
    expected_ns = max(1, int(1_000 * load.expected_us / PREGENERATED))
    match load.scenario:
        case "single-stream":
            settings.single_stream_expected_latency_ns = expected_ns
        case "multi-stream":
            settings.multi_stream_expected_latency_ns = expected_ns
            settings.multi_stream_samples_per_query = load.streams
        case "server":
            settings.server_target_qps = load.rate_per_s
            settings.server_target_latency_ns = int(1_000 * load.limit_us)
            settings.server_target_latency_percentile = load.percentile
        case "offline":
            settings.offline_expected_qps = PREGENERATED * load.rate_per_s
    return settings


def read_log(text: str) -> dict[str, Any]:
    """LoadGen's detailed log: values by their keys."""
    mark = ":::MLLOG "
    lines = (line[len(mark) :] for line in text.splitlines() if line.startswith(mark))
    return {entry["key"]: entry["value"] for entry in map(json.loads, lines)}


def said(scenario: Scenario, log: Mapping[str, Any], per_s: float) -> Said:
    """What a log says of a run, of which `per_s` samples were answered in a second."""
    of = "per_query_latency" if scenario == "multi-stream" else "latency"
    mean = "query_latency" if scenario == "multi-stream" else "latency"
    us = {p: log[f"result_{p}_percentile_{of}_ns"] / 1_000 for p in ("50.00", "90.00", "99.00")}
    queries = log["result_query_count"]
    p999_us = log[f"result_99.90_percentile_{of}_ns"] / 1_000
    checks = {name: log[key] for name, key in _CHECKS.items() if key in log}
    valid = log["result_validity"] == "VALID"
    reasons = [log.get("result_invalid_reason", "")]
    if not checks["early stopping"]:
        reasons.append(log["early_stopping_result"])
    text = " ".join(" ".join(reasons).replace(" * ", " ").split())
    return Said(
        Validity(valid=valid, checks=checks, reason="" if valid else text),
        queries,
        per_s,
        Percentiles(
            mean_us=log[f"result_mean_{mean}_ns"] / 1_000,
            p50_us=us["50.00"],
            p90_us=us["90.00"],
            p99_us=us["99.00"],
            p999_us=p999_us if queries >= FEWEST_FOR_P999 else None,
        ),
    )


def _per_s(load: LoadSettings, log: Mapping[str, Any], system: SystemUnderTest) -> float:
    """Samples a second: of a server LoadGen says it, of streams it follows from the clock."""
    if load.scenario == "server":
        return float(log["result_completed_samples_per_sec"])
    first, last = system.batches[0], system.batches[-1]
    answered = sum(len(batch.queries) for batch in system.batches)
    return 1e9 * answered / (last.answered.finished_ns - first.queries[0].came_ns)
