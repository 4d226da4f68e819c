"""What Prometheus is told of a runner's GPU: read when it asks, so that nothing polls meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from benanza_backbone.telemetry import REGISTRY
from benanza_runner.monitoring.gpu_state import GpuState, ReadState
from benanza_runner.nvidia import SLOWED_BY

LABELS = ("gpu", "kind")
"""The GPU's UUID, and what GPUs of its kind are called."""


class Gauge(NamedTuple):
    """A number of `GpuState` as a metric."""

    field: str
    metric: str
    explanation: str


GAUGES = (
    Gauge("busy_ratio", "busy_ratio", "Share of the last second in which the GPU ran something"),
    Gauge("sm_hertz", "sm_clock_hertz", "Clock of the GPU's multiprocessors"),
    Gauge("memory_hertz", "memory_clock_hertz", "Clock of the GPU's memory"),
    Gauge("watts", "power_watts", "Power that the GPU takes"),
    Gauge("limit_watts", "power_limit_watts", "Power from which the GPU is slowed down"),
    Gauge("celsius", "temperature_celsius", "Temperature of the GPU"),
    Gauge(
        "slowdown_celsius",
        "slowdown_temperature_celsius",
        "Temperature from which the GPU slows itself down",
    ),
)

Family = CounterMetricFamily | GaugeMetricFamily


class GpuCollector(Collector):
    """Reads the GPU at each scrape. What can't be read is absent: zero would be a value."""

    def __init__(self, read: ReadState) -> None:
        self._read = read

    def describe(self) -> list[Family]:
        """The metrics without values; nothing is read."""
        return _families(None)

    def collect(self) -> list[Family]:
        """The metrics of the GPU as it is now."""
        return _families(self._read())


def _families(state: GpuState | None) -> list[Family]:
    info = GaugeMetricFamily(
        "benanza_gpu_info",
        "Always 1; which GPU this runner measures on",
        labels=(*LABELS, "driver"),
    )
    slowed = GaugeMetricFamily(
        "benanza_gpu_slowed",
        "Whether this makes the GPU run slower than it could, now: 1 or 0",
        labels=(*LABELS, "reason"),
    )
    energy = CounterMetricFamily(
        "benanza_gpu_energy_joules",
        "Energy that the GPU has taken since its driver was loaded",
        labels=LABELS,
    )
    gauges = [
        GaugeMetricFamily(f"benanza_gpu_{gauge.metric}", gauge.explanation, labels=LABELS)
        for gauge in GAUGES
    ]
    if state is not None:
        labels = state.uuid, state.name
        info.add_metric((*labels, state.driver), 1)
        for gauge, family in zip(GAUGES, gauges, strict=True):
            value: float | None = getattr(state, gauge.field)
            if value is not None:
                family.add_metric(labels, value)
        if state.slowed_by is not None:
            for reason in SLOWED_BY.values():
                slowed.add_metric((*labels, reason), float(reason in state.slowed_by))
        if state.joules is not None:
            energy.add_metric(labels, state.joules)
    return [info, *gauges, slowed, energy]


@contextmanager
def shown_gpu(read: ReadState) -> Iterator[None]:
    """Within it, `/metrics` has the GPU."""
    collector = GpuCollector(read)
    REGISTRY.register(collector)
    try:
        yield
    finally:
        REGISTRY.unregister(collector)
