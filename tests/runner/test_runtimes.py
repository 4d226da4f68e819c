"""How long a runner may be at a job before it counts as hung."""

import pytest

from benanza_backbone.settings import load
from benanza_runner.isolation.isolated_runtime import WorkerLimits
from benanza_runner.runtimes import CUDA_TRIES, longest_job_s


@pytest.mark.parametrize("timeout_s", [1, 60, 900])
def test_a_job_has_time_for_all_that_is_tried(timeout_s: int) -> None:
    longest = longest_job_s(load({"BENANZA_BENCHMARK_TIMEOUT_S": str(timeout_s)}))
    # A slow worker's tries are made again in another.
    assert longest > 2 * CUDA_TRIES * timeout_s + WorkerLimits().ceilings_seconds
    assert WorkerLimits().tries <= CUDA_TRIES
