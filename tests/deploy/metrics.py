"""The metrics that a query in PromQL names, and those that there are."""

import re
from collections.abc import Mapping

from benanza_backbone import telemetry
from benanza_runner.monitoring.gpu_collector import GpuCollector

FROM_PROMETHEUS = {"up": {"job", "instance"}}
"""What Prometheus says itself of what it scrapes."""

FROM_CLICKHOUSE = {
    "ClickHouseAsyncMetrics_DiskAvailable_default": {"job", "instance"},
    "ClickHouseAsyncMetrics_DiskTotal_default": {"job", "instance"},
}
"""What ClickHouse says of itself, with deploy/clickhouse/metrics.xml.

Source: https://clickhouse.com/docs/operations/system-tables/asynchronous_metrics
"""

ADDED = {"job", "instance"}
"""Labels that Prometheus adds to each."""

SUFFIXES = {
    "counter": {"_total": set[str]()},
    "histogram": {"_bucket": {"le"}, "_count": set(), "_sum": set()},
}


def known() -> Mapping[str, set[str]]:
    """Every name that can be asked for, with its labels."""
    found = FROM_PROMETHEUS | FROM_CLICKHOUSE
    for metric in vars(telemetry).values():
        if hasattr(metric, "describe") and hasattr(metric, "_labelnames"):
            (described,) = metric.describe()
            for suffix, labels in SUFFIXES.get(described.type, {"": set[str]()}).items():
                found[described.name + suffix] = {*metric._labelnames, *labels, *ADDED}
    for family in GpuCollector(lambda: None).describe():
        for suffix, labels in SUFFIXES.get(family.type, {"": set[str]()}).items():
            found[family.name + suffix] = {*family._labelnames, *labels, *ADDED}
    for described in telemetry.REGISTRY.collect():
        for sample in described.samples:
            if sample.name.startswith("process_"):
                found[sample.name] = ADDED
    return found


def named(query: str) -> list[tuple[str, set[str]]]:
    """Each metric in a query, with the labels that are matched there."""
    pattern = r"\b(up|(?:benanza|process|ClickHouse\w+)_\w+)\b(?:\{([^}]*)\})?"
    return [
        (name, set(re.findall(r"(\w+)\s*[=!]~?", labels)))
        for name, labels in re.findall(pattern, query)
    ]


def unknown(query: str) -> list[str]:
    """What a query names that isn't there: metrics, and labels of metrics."""
    there = known()
    wrong = []
    for name, labels in named(query):
        if name not in there:
            wrong.append(name)
        else:
            wrong += [f"{name}{{{label}}}" for label in sorted(labels - there[name])]
    return wrong
