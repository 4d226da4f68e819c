"""What a service counts and times, for Prometheus. `status_server` shows it.

Names follow Prometheus' own advice: a prefix, base units, `_total` on counters, and labels of
few values, so never a model or a layer.
"""

from contextlib import suppress
from importlib.metadata import version
from platform import python_version

import psutil
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)

REGISTRY = CollectorRegistry()
"""The library's own registry would hold what other libraries put there too."""

ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)

SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""From an event that is passed on to a layer that is measured for minutes."""

RECORDS_CONSUMED = Counter(
    "benanza_records_consumed",
    "Records that were processed, dead letters among them",
    ["topic"],
    registry=REGISTRY,
)
RECORDS_PRODUCED = Counter(
    "benanza_records_produced",
    "Records that were appended and acknowledged",
    ["topic"],
    registry=REGISTRY,
)
CONSUMER_LAG = Gauge(
    "benanza_consumer_lag_records",
    "Records still to be processed or in work, of the partitions that this process holds",
    ["topic", "partition", "group"],
    registry=REGISTRY,
)
OLDEST_UNPROCESSED = Gauge(
    "benanza_oldest_unprocessed_timestamp_seconds",
    "When the oldest record in work was appended, in Unix time; absent where nothing waits",
    ["topic", "group"],
    registry=REGISTRY,
)
PROCESS_DURATION = Histogram(
    "benanza_process_duration_seconds",
    "Time that the service took for one event",
    ["service"],
    buckets=SECONDS,
    registry=REGISTRY,
)
RECORD_AGE = Histogram(
    "benanza_record_age_seconds",
    "Age of a record when all that follows from it was appended; dedupe has none",
    ["service", "topic"],
    buckets=SECONDS,
    registry=REGISTRY,
)
DEAD_LETTERS = Counter(
    "benanza_dead_letters",
    "Events that could not be processed, by the kind of error",
    ["topic", "reason"],
    registry=REGISTRY,
)
DEAD_LETTERS_OPEN = Gauge(
    "benanza_dead_letters_open",
    "Events that could not be processed and that nobody has settled, as the store knows them",
    ["service", "topic"],
    registry=REGISTRY,
)
BOUNDS_BEATEN = Gauge(
    "benanza_bounds_beaten",
    "Bounds that a run of their model is below, which are wrong, as the store knows them",
    ["precision"],
    registry=REGISTRY,
)
LAYERS = Counter(
    "benanza_layers",
    "Layers seen in models: new ones become jobs, known ones don't",
    ["outcome"],
    registry=REGISTRY,
)
JOBS = Counter(
    "benanza_jobs",
    "Jobs done: measured, failed, or repeated, which was measured before",
    ["outcome"],
    registry=REGISTRY,
)
BENCHMARK_DURATION = Histogram(
    "benanza_benchmark_duration_seconds",
    "Time that one layer took to benchmark, all its variants together",
    buckets=SECONDS,
    registry=REGISTRY,
)
EVALUATIONS = Counter(
    "benanza_evaluations",
    "Evaluations of an agent: done, failed, or repeated, which was done before",
    ["outcome"],
    registry=REGISTRY,
)
JOBS_SLOWED = Counter(
    "benanza_jobs_slowed",
    "Jobs during all tries of which something slowed the device down or kept the machine busy",
    ["reason"],
    registry=REGISTRY,
)
GPU_LAUNCH_OVERHEAD = Gauge(
    "benanza_gpu_launch_overhead_seconds",
    "How long a kernel that does nothing takes in a CUDA graph, timed beside the last job",
    ["gpu", "kind"],
    registry=REGISTRY,
)
STORE_INSERT_DURATION = Histogram(
    "benanza_store_insert_duration_seconds",
    "Time that one batch took into the store, all its tables together; only where it got there",
    buckets=SECONDS,
    registry=REGISTRY,
)
BOUNDS_RECOMPUTED = Counter(
    "benanza_bounds_recomputed",
    "New versions of bounds",
    registry=REGISTRY,
)
REBALANCES = Counter(
    "benanza_rebalances",
    "How often this process was given or lost partitions",
    registry=REGISTRY,
)
CHILDREN_MEMORY = Gauge(
    "benanza_children_resident_memory_bytes",
    "Resident memory of the processes that this one has started, which do its heavy work",
    registry=REGISTRY,
)
BUILD_INFO = Gauge(
    "benanza_build_info",
    "Always 1; the labels say what runs here",
    ["version", "python"],
    registry=REGISTRY,
)
BUILD_INFO.labels(version("benanza"), python_version()).set(1)


def _children_bytes() -> float:
    """Of all that run now. One that ends meanwhile counts as nothing."""
    total_bytes = 0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            total_bytes += process.memory_info().rss
    return float(total_bytes)


CHILDREN_MEMORY.set_function(_children_bytes)
