"""Models timed by copies of them."""

import pytest

from benanza_runner.measuring.stopping import Rule
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime.copies import MAX_COPIES
from benanza_runner.onnxruntime.copies_timer import CopiesTimer
from benanza_runner.onnxruntime.session import CPU
from tests.runner.layers import gemm, relu

QUICK = Rule(warm_up_us=0, samples=3, least_us=0, few_samples=3, cap_us=1e6, max_samples=3)


@pytest.fixture(scope="module")
def timer() -> CopiesTimer:
    return CopiesTimer(CPU, threads=1)


def test_small_models_are_copied_and_large_ones_aren_t(timer: CopiesTimer) -> None:
    # What a call varies by is added to the time of a small model.
    assert 10 <= timer.copies(layer_model(relu(16)), CPU) <= MAX_COPIES
    assert timer.copies(layer_model(gemm(512, 1024, 1024)), CPU) == 1


def test_times_are_those_of_one_copy(timer: CopiesTimer) -> None:
    found = timer.timed(layer_model(relu(10_000)), CPU, 100, QUICK)
    assert found.copies == 100
    assert len(found.samples_us) == 3
    # A hundred copies take a millisecond or less, and one takes as long as it moves 80 kB.
    assert 0.1 < min(found.samples_us) < 100
