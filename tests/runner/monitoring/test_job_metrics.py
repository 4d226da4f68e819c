"""What was seen around measurements, as metrics."""

from collections.abc import Mapping

import msgspec
import pytest

from benanza_backbone.telemetry import REGISTRY
from benanza_runner.monitoring.job_metrics import observe
from tests.backbone.sample_events import CONV_MEASURED

KIND = "NVIDIA H200"
SYSTEM = msgspec.structs.replace(CONV_MEASURED.system, accelerator=KIND)


def _observe(environment: Mapping[str, str]) -> None:
    observe(msgspec.structs.replace(CONV_MEASURED, system=SYSTEM, environment=dict(environment)))


def _overhead(gpu: str) -> float | None:
    labels = {"gpu": gpu, "kind": KIND}
    return REGISTRY.get_sample_value("benanza_gpu_launch_overhead_seconds", labels)


def _slowed(reason: str) -> float:
    return REGISTRY.get_sample_value("benanza_jobs_slowed_total", {"reason": reason}) or 0.0


def test_the_launch_overhead_is_that_beside_the_last_job() -> None:
    for step_us in ("0.590", "0.612"):
        _observe({"gpu": "GPU-a", "step_us": step_us})
    assert _overhead("GPU-a") == pytest.approx(0.612e-6)


@pytest.mark.parametrize(
    "environment",
    [
        {"gpu": "GPU-b"},
        {"step_us": "0.6"},
        {"gpu": "GPU-b", "step_us": "long"},
        {"gpu": "GPU-b", "step_us": "0.6", "times": "shared"},
    ],
)
def test_what_is_not_said_or_was_seen_before_is_no_launch_overhead(
    environment: Mapping[str, str],
) -> None:
    _observe(environment)
    assert _overhead("GPU-b") is None


def test_jobs_are_counted_by_what_slowed_all_their_tries_down() -> None:
    reasons = ("power", "clock", "other programs", "other")
    before = [_slowed(reason) for reason in reasons]
    _observe({"stable": "yes", "slowed_by": "power"})
    _observe({"stable": "no", "slowed_by": "power, clock"})
    _observe({"stable": "no", "slowed_by": "power", "times": "shared"})
    _observe({"stable": "no", "slowed_by": "other programs"})
    _observe({"stable": "no", "slowed_by": "a name of somebody else's"})
    _observe({"stable": "no", "slowed_by": ""})
    after = [_slowed(reason) for reason in reasons]
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 1, 1, 1]
    assert _slowed("a name of somebody else's") == 0
