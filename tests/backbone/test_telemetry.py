"""The metrics that dashboards and alerts are made of: names, labels, units."""

import subprocess
import sys

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from benanza_backbone import telemetry
from benanza_backbone.telemetry import REGISTRY

INTERFACE = {
    "records_consumed": ("counter", {"topic"}),
    "records_produced": ("counter", {"topic"}),
    "consumer_lag_records": ("gauge", {"topic", "partition", "group"}),
    "oldest_unprocessed_timestamp_seconds": ("gauge", {"topic", "group"}),
    "process_duration_seconds": ("histogram", {"service"}),
    "record_age_seconds": ("histogram", {"service", "topic"}),
    "dead_letters": ("counter", {"topic", "reason"}),
    "dead_letters_open": ("gauge", {"service", "topic"}),
    "bounds_beaten": ("gauge", {"precision"}),
    "layers": ("counter", {"outcome"}),
    "jobs": ("counter", {"outcome"}),
    "benchmark_duration_seconds": ("histogram", set()),
    "jobs_slowed": ("counter", {"reason"}),
    "gpu_launch_overhead_seconds": ("gauge", {"gpu", "kind"}),
    "store_insert_duration_seconds": ("histogram", set()),
    "bounds_recomputed": ("counter", set()),
    "evaluations": ("counter", {"outcome"}),
    "rebalances": ("counter", set()),
    "children_resident_memory_bytes": ("gauge", set()),
    "build_info": ("gauge", {"version", "python"}),
}
"""As they stand in the project's interface, with `_total` left to the library."""


def test_the_metrics_are_those_of_the_interface() -> None:
    metrics = [metric for metric in vars(telemetry).values() if hasattr(metric, "_labelnames")]
    found = {metric._name: (metric._type, set(metric._labelnames)) for metric in metrics}
    assert found == {f"benanza_{name}": of for name, of in INTERFACE.items()}


def test_the_page_is_what_prometheus_reads() -> None:
    page = {f.name: f for f in text_string_to_metric_families(generate_latest(REGISTRY).decode())}
    (build,) = page["benanza_build_info"].samples
    assert build.value == 1
    assert build.labels["version"]
    (memory,) = page["process_resident_memory_bytes"].samples
    assert memory.value > 1_000_000


def test_what_the_processes_take_that_it_has_started_is_shown() -> None:
    name = "benanza_children_resident_memory_bytes"
    code = "held = bytearray(100_000_000); print(flush=True); input()"
    before = REGISTRY.get_sample_value(name) or 0.0
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout
        child.stdout.readline()
        during = REGISTRY.get_sample_value(name) or 0.0
        child.communicate(b"\n")
    assert during - before > 100_000_000


@pytest.mark.parametrize("name", INTERFACE)
def test_a_metric_is_explained(name: str) -> None:
    page = {f.name: f for f in text_string_to_metric_families(generate_latest(REGISTRY).decode())}
    assert page[f"benanza_{name}"].documentation
