"""What Prometheus is told of what was seen around the jobs that a runner has measured."""

from contextlib import suppress

from benanza_backbone.telemetry import GPU_LAUNCH_OVERHEAD, JOBS_SLOWED
from benanza_runner.measuring.busy import BUSY, doubts_in
from benanza_runner.measuring.throttling import LOWER_CLOCK
from benanza_runner.nvidia import SLOWED_BY
from benanza_schemas.events import LayerMeasured

REASONS = frozenset((*BUSY, *SLOWED_BY.values(), LOWER_CLOCK))

OTHER = "other"
"""All else that a runtime of somebody else's may say: a label has few values."""


def observe(result: LayerMeasured) -> None:
    """Notes what was seen around a measurement that was taken here just now."""
    environment = result.environment
    if environment.get("times") == "shared":  # It was seen around an earlier one.
        return
    for reason in doubts_in(environment):
        JOBS_SLOWED.labels(reason if reason in REASONS else OTHER).inc()
    with suppress(KeyError, ValueError):  # Other runtimes say other things.
        gpu, overhead_s = environment["gpu"], float(environment["step_us"]) * 1e-6
        GPU_LAUNCH_OVERHEAD.labels(gpu, result.system.accelerator).set(overhead_s)
