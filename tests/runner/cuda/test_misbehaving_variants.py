"""Variants that crash, hang or are wrong cost themselves, and nothing else."""

from pathlib import Path

import pytest

from benanza_runner.cuda.available import why_unavailable
from benanza_runner.isolation.isolated_runtime import IsolatedRuntime, WorkerLimits
from benanza_runner.variants import warm
from tests.runner.layers import relu

pytestmark = pytest.mark.gpu

RUNTIME = "tests.runner.cuda.crashing_runtime:CrashingRuntime"
LIMITS = WorkerLimits(start_seconds=120, layer_seconds=120, tries=6)


def test_each_costs_one_process_and_is_stored_with_its_reason(tmp_path: Path) -> None:
    reason = why_unavailable()
    if reason is not None:
        pytest.skip(f"the GPU runtime {reason}")
    arguments: dict[str, str | int] = {"journal": str(tmp_path / "journal"), "variant_seconds": 5}
    with IsolatedRuntime(RUNTIME, arguments, LIMITS) as runtime:
        outcome = runtime.measure(relu(1_000), "fp32")
        after = runtime.measure(relu(2_000), "fp16")
    assert outcome.failure == after.failure == ""
    # One for each of the first two; of the third the search first, and then it by name.
    assert outcome.environment["attempts"] == "5"
    failures = {
        variant.algorithm: variant.failure
        for variant in outcome.variants
        if variant.failure and variant.library == "saboteur"
    }
    assert "ended the process" in failures["illegal access"]
    assert "ended the process" in failures["illegal access in the end"]
    assert "took too long" in failures["endless"]
    assert "wrong result" in failures["wrong"]
    assert any(variant.library == "cupy" for variant in warm(outcome.variants))
