"""The rates that a system reaches."""

import msgspec
import pytest

from benanza_runner.ceilings import ROUNDS, STREAM_ELEMENTS, measured_ceilings, products, streams
from benanza_runner.onnx_layers.onnx_schemas import opsets
from benanza_runner.onnx_layers.precision import retyped
from benanza_runner.runtime import Outcome
from benanza_runner.variants import timed_variant
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Ceiling, Variant
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.vocabulary import CacheState, StoppedBy
from tests.runner.fake_runtime import FakeRuntime, variant

STREAMS = {"bandwidth", "launches", "memory"}
"""What is measured where nothing can be multiplied."""


class Steady(FakeRuntime):
    """Moves and multiplies at constant rates, the larger the slower, but can't multiply fp16."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        self.calls += 1
        is_product = layer.title() == "MatMul"
        if is_product and precision == "fp16":
            failed = Variant(library="fake", algorithm="MatMul", failure="no such kernel")
            return Outcome(variants=(failed,))
        size = layer.tensors[-1].shape[0]
        us = 1 + (2e-6 * size**3 if is_product else 8e-3 * size)
        return Outcome(variants=(variant(us), variant(2 * us)))


def test_the_fastest_counts() -> None:
    found = {ceiling.name: ceiling for ceiling in measured_ceilings(Steady(), "fp32")}
    assert sorted(found) == ["bandwidth", "flops", "launches", "memory"]
    assert found["launches"].value == pytest.approx(1e6 / (1 + 8e-3)), "of one element"
    # The Add moves 12 bytes for each element in the time that the Relu takes for 8.
    most = 1 << 20  # that takes 8 ms; the next larger one takes 34 ms, and its Add is left out
    assert found["bandwidth"].value == pytest.approx(12 * most / (8e-9 * most + 1e-6))
    enough = 1 << 11  # it takes 17 ms, so that 4096 and 8192 are left out
    assert found["flops"].value == pytest.approx(2 * enough**3 / (2e-12 * enough**3 + 1e-6))


def test_the_memory_is_what_moves_several_times_the_cache() -> None:
    found = {ceiling.name: ceiling.value for ceiling in measured_ceilings(Steady(), "fp32")}
    assert found["memory"] == found["bandwidth"]

    class OfALargeCache(Steady):
        def cache_bytes(self) -> int:
            return 1 << 40

    without = {ceiling.name for ceiling in measured_ceilings(OfALargeCache(), "fp32")}
    assert without == {*found} - {"memory"}


def test_what_fails_is_left_out() -> None:
    assert {c.name for c in measured_ceilings(Steady(), "fp16")} == STREAMS
    assert measured_ceilings(FakeRuntime(), "bf16") == ()


def test_differences_of_times_do_not_count() -> None:
    class Interleaved(Steady):
        def measure(self, layer: Layer, precision: Precision) -> Outcome:
            outcome = super().measure(layer, precision)
            cold = msgspec.structs.replace(
                outcome.variants[0], cache=CacheState.WEIGHTS_COLD, minimum_us=1e-3
            )
            return Outcome(variants=(*outcome.variants, cold))

    assert measured_ceilings(Interleaved(), "fp32") == measured_ceilings(Steady(), "fp32")


def test_the_spread_is_in_the_unit_of_the_rate() -> None:
    class Noisy(FakeRuntime):
        def measure(self, layer: Layer, precision: Precision) -> Outcome:
            times_us = (1.0, 1.5, 2.0, 2.0, 2.5)
            return Outcome(variants=(timed_variant("", "", times_us, StoppedBy.CAP),))

    for ceiling in measured_ceilings(Noisy(), "fp32"):
        assert ceiling.iqr == ceiling.value / 4


def test_one_slow_round_does_not_lower_a_ceiling() -> None:
    class Disturbed(Steady):
        def measure(self, layer: Layer, precision: Precision) -> Outcome:
            outcome = super().measure(layer, precision)
            disturbed = self.calls == 1
            return Outcome(variants=(variant(1e9),)) if disturbed else outcome

    expected: tuple[Ceiling, ...] = measured_ceilings(Steady(), "fp32")
    assert measured_ceilings(Disturbed(), "fp32") == expected


def test_what_ends_a_round_ends_the_next_even_where_it_is_slow() -> None:
    measured: list[int] = []

    class SlowerLater(Steady):
        def measure(self, layer: Layer, precision: Precision) -> Outcome:
            (size, *_) = layer.tensors[-1].shape
            measured.append(size)
            large = Outcome(variants=(variant(1e6),))
            return large if size == 1 << 20 else super().measure(layer, precision)

    measured_ceilings(SlowerLater(), "fp32")
    assert 1 << 20 in measured
    assert 1 << 21 not in measured


def test_what_is_far_from_all_rates_is_measured_once() -> None:
    measured: list[int] = []

    class SlowAtOneSize(Steady):
        def measure(self, layer: Layer, precision: Precision) -> Outcome:
            (size, *_) = layer.tensors[-1].shape
            measured.append(size)
            slow = Outcome(variants=(variant(1e3),))
            return slow if size == STREAM_ELEMENTS[1] else super().measure(layer, precision)

    assert measured_ceilings(SlowAtOneSize(), "fp32") == measured_ceilings(Steady(), "fp32")
    of_two_operators = 2
    assert measured.count(STREAM_ELEMENTS[1]) == of_two_operators
    assert measured.count(STREAM_ELEMENTS[2]) == of_two_operators * ROUNDS


@pytest.mark.parametrize("precision", list(PRECISIONS))
def test_microbenchmarks_are_layers_of_that_precision(precision: Precision) -> None:
    for microbenchmark in (*streams(precision), *products(precision)):
        assert retyped(microbenchmark.layer, precision) is microbenchmark.layer
        assert opsets(microbenchmark.layer)


def test_the_amounts_of_microbenchmarks() -> None:
    of_one, _, relu, add, *_ = streams("fp16", cache_bytes=4096)
    elements = STREAM_ELEMENTS[1]
    assert of_one.amounts == {"bandwidth": 2 * 2, "launches": 1}
    assert relu.amounts == {"bandwidth": 2 * 2 * elements, "launches": 1, "memory": 4 * elements}
    assert add.amounts["bandwidth"] == 3 * 2 * elements
    assert next(products("fp32")).amounts == {"flops": 2 * 256**3}
