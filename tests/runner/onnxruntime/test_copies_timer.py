"""Models timed by copies of them."""

from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.measuring.busy import Load
from benanza_runner.measuring.sampling import Timing
from benanza_runner.measuring.stopping import Rule
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime.copies import MAX_COPIES
from benanza_runner.onnxruntime.copies_timer import MOST_TRIES, CopiesTimer, least_of_each
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
    # A hundred copies take a millisecond or less, and one takes as long as it moves 80 kB.
    assert 1 <= len(found.samples_us) <= QUICK.max_samples
    assert all(0.1 < us < 100 for us in found.samples_us)


class Calls:
    """Calls into a model that take as long as a function of their number says."""

    def __init__(self, us: Callable[[int], float]) -> None:
        self._us = us
        self._numbers = count()

    def call(self) -> Timing:
        return Timing(self._us(next(self._numbers)), disturbed=False)


@given(st.floats(1, 1e4), st.lists(st.floats(0, 1e4), min_size=1, max_size=60), st.integers(1, 6))
def test_a_model_takes_no_longer_where_most_calls_are_disturbed(
    timer: CopiesTimer, us: float, later_us: list[float], every: int
) -> None:
    """Another program may have the other processors during most calls: no call is shorter by it."""

    def call_us(number: int) -> float:
        return us if number % every == 0 else us + later_us[number % len(later_us)]

    rule = Rule(warm_up_us=0, samples=30, least_us=0, few_samples=5, cap_us=1e9, max_samples=60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timer, "_session", lambda *_: Calls(call_us))
        alone = timer.timed(layer_model(relu(1)), CPU, 1, rule).samples_us
        patch.setattr(timer, "_session", lambda *_: Calls(lambda number: us))
        quiet = timer.timed(layer_model(relu(1)), CPU, 1, rule).samples_us
    assert set(alone) == set(quiet)


@pytest.mark.parametrize(("busy", "us"), [(0, 90.0), (1, 60.0), (2, 60.0), (100, 60.0)])
def test_a_model_is_timed_again_while_the_machine_is_busy(busy: int, us: float) -> None:
    """At first, a call has one processor of two. Later it has both, but now and then."""
    readings = count()

    def load() -> Load:
        """Two for each try, of which others have all processors the first times."""
        number = next(readings)
        return Load(number, 2, 2.0 * min(number, 2 * busy), 0.0, 0.0, {})

    rule = Rule(warm_up_us=0, samples=20, least_us=0, few_samples=5, cap_us=1e9, max_samples=20)
    timer = CopiesTimer(CPU, threads=1, load=load)
    timer._empty_call_us = 0.0
    with pytest.MonkeyPatch.context() as patch:
        calls = Calls(lambda number: 60.0 if number >= 20 and number % 4 == 0 else 90.0)
        patch.setattr(timer, "_session", lambda *_: calls)
        found = timer.timed(layer_model(relu(1)), CPU, 1, rule)
    assert set(found.samples_us) == {us}
    assert next(readings) == 2 * min(busy + 1, MOST_TRIES)


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=200), st.integers(1, 20))
def test_samples_are_the_least_of_calls_in_a_row(calls_us: list[float], samples: int) -> None:
    found = least_of_each(calls_us, samples)
    assert len(found) == max(1, min(samples, len(calls_us) // 2))
    assert min(found) == min(calls_us)
    left = iter(calls_us)
    assert all(us in left for us in found)  # in their order
