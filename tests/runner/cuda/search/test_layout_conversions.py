"""What layout conversions take: with a made-up timer, and on a GPU."""

from typing import Any

import numpy as np
import pytest

from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.layouts import Order
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.cuda.search.instruments import Conversion, NoiseError
from benanza_runner.cuda.search.layout_conversions import LayoutConversions
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.runtime import Runtime
from benanza_schemas.layer import Layer
from benanza_schemas.vocabulary import CacheState
from tests.runner.cuda.layers.regions import W, region
from tests.runner.cuda.lowering.test_in_place import FLATTENED, TO_A_MAP, TO_TOKENS, UNFLATTENED
from tests.runner.cuda.made_up_device import CONVERSION_US, MadeUpDevice, MadeUpInterleavedTimer
from tests.runner.layers import conv, gemm

FIRST, LAST = (0, 1, 2, 3), (0, 2, 3, 1)


class RecordedConversions:
    """Conversions on a made-up device, and from which order of axes to which they were."""

    def __init__(self, interleaved: MadeUpInterleavedTimer | None = None) -> None:
        self.device = MadeUpDevice()
        self.orders: list[tuple[Order, Order]] = []
        self.conversions = LayoutConversions(self.device, self._convert, interleaved)

    def _convert(self, source: DeviceTensor, target: DeviceTensor) -> Run:
        self.orders.append((source.order, target.order))
        return self.device.convert(source, target)


def workspace(layer: Layer) -> Workspace:
    """With the results that a candidate of the call writes."""
    made = Workspace(lower(layer, random_inputs(layer, "fp32")), "fp32", DeviceMemory(np))
    made.result(layer.tensors[layer.outputs[0]].shape)
    return made


def test_what_is_read_is_converted_into_the_layout_and_what_is_written_back() -> None:
    recorded = RecordedConversions()
    found = recorded.conversions.around(workspace(conv(4, 5)), "NHWC")
    assert recorded.orders == [(FIRST, LAST), (LAST, FIRST)]
    assert found is not None
    assert found.alone_us == pytest.approx(2 * CONVERSION_US, rel=0.01)
    assert found.interleaved_us is None


@pytest.mark.parametrize(
    ("layout", "orders"),
    [("NCHW", (FIRST, LAST)), ("NHWC", (LAST, FIRST)), ("weights transposed", (LAST, FIRST))],
)
def test_what_is_written_is_converted_from_the_layout(
    layout: str, orders: tuple[Order, Order]
) -> None:
    recorded = RecordedConversions()
    found = recorded.conversions.after(workspace(conv(4, 5)), layout)
    assert recorded.orders == [orders]
    assert found.alone_us == pytest.approx(CONVERSION_US, rel=0.01)
    assert found.interleaved_us is None


def test_a_convolution_of_one_axis_reads_and_writes_feature_maps() -> None:
    layer = region(
        "float[2,16,9] x", "y", "y = Conv<kernel_shape=[3]>(x, f)", f", float[8,16,3] f = {W}"
    )
    made = workspace(layer)
    made.result((2, 8, 1, 7))
    read, _ = made.shapes()
    assert read == [(2, 16, 1, 9)]


@pytest.mark.parametrize(
    ("layer", "read", "written"),
    [
        (TO_TOKENS, [(2, 16, 5, 6)], []),
        (FLATTENED, [(2, 16, 5, 6)], []),
        (TO_A_MAP, [], [(2, 16, 5, 6)]),
        (UNFLATTENED, [], [(2, 16, 5, 6)]),
    ],
)
def test_tokens_have_one_layout(layer: Layer, read: list[Shape], written: list[Shape]) -> None:
    made = Workspace(lower(layer, random_inputs(layer, "fp32")), "fp32", DeviceMemory(np))
    assert made.shapes() == (read, written)


def test_the_same_conversion_is_timed_once_until_it_is_forgotten() -> None:
    recorded = RecordedConversions()
    given = workspace(conv(4, 5))
    assert recorded.conversions.after(given, "NHWC") is not None
    runs = recorded.device.runs["conversion"]
    recorded.conversions.after(given, "NHWC")
    assert recorded.device.runs["conversion"] == runs
    recorded.conversions.forget()
    recorded.conversions.after(given, "NHWC")
    assert recorded.device.runs["conversion"] > runs


def test_what_lies_alike_in_both_layouts_takes_no_time() -> None:
    recorded = RecordedConversions(MadeUpInterleavedTimer())
    assert recorded.conversions.after(workspace(conv(1, 5)), "NHWC") == Conversion(0.0, 0.0)
    assert recorded.conversions.around(workspace(gemm(3, 4, 5)), "") is None
    assert recorded.orders == []


@pytest.mark.parametrize(("lost", "interleaved"), [(False, True), (True, False)])
def test_times_that_are_lost_in_noise_are_not_known(lost: bool, interleaved: bool) -> None:
    recorded = RecordedConversions(MadeUpInterleavedTimer(lost=lost))
    found = recorded.conversions.around(workspace(conv(4, 5)), "NHWC")
    assert found is not None
    assert (found.interleaved_us is not None) == interleaved


@pytest.mark.gpu
def test_a_time_lost_in_noise_is_not_known_and_costs_nothing_else(
    cuda: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benanza_runner.cuda.timing.interleaved import CudaInterleavedTimer

    def lost(*_: Any) -> tuple[float, ...]:
        raise NoiseError("it takes nothing")

    monkeypatch.setattr(CudaInterleavedTimer, "interleaved_us", lost)
    outcome = type(cuda)(plans=2, algorithms=2).measure(conv(16, 8, 3), "fp16")  # type: ignore[call-arg]
    assert outcome.failure == ""
    timed = [each for each in outcome.variants if not each.failure]
    assert timed
    assert all(each.cache == CacheState.WARM and each.write_change_us for each in timed)
