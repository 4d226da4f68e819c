"""Costs of convolutions and poolings, against loops that count, and against what really runs."""

from typing import Any

import numpy as np
import pytest

from benanza_ingest.extracted import ExtractedLayer
from tests.ingest.layering import counting
from tests.ingest.layering.counting import Counter
from tests.ingest.layering.one_layer import one_layer
from tests.ingest.onnx_text import only_layer, shapes
from tests.ingest.running import random_array

CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "strides": {"strides": [2, 3]},
    "missing strides": {"pads": [1, 1, 1, 1]},
    "dilations": {"dilations": [2, 2]},
    "dilations and strides": {"dilations": [2, 1], "strides": [1, 2]},
    "symmetric pads": {"pads": [1, 2, 1, 2]},
    "asymmetric pads": {"pads": [0, 2, 1, 0]},
    "groups": {"group": 2},
    "depthwise": {"group": 4},
    "everything": {"group": 2, "pads": [0, 1, 2, 3], "strides": [2, 1], "dilations": [1, 2]},
}


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_a_convolution_takes_the_operations_that_loops_count(case: str) -> None:
    attributes = CONVOLUTIONS[case]
    group = attributes.get("group", 1)
    x, w = random_array(2, 4, 8, 7), random_array(4, 4 // group, 3, 2)
    layer, (y,) = one_layer("Conv", [x, w], weights=1, **attributes)
    counter = Counter()
    full: dict[str, Any] = {
        "pads": [0, 0, 0, 0],
        "strides": [1, 1],
        "dilations": [1, 1],
        "group": 1,
    } | attributes
    np.testing.assert_array_equal(y, counting.convolution(x, w, counter=counter, **full))
    assert layer.flops == 2 * counter.multiplications
    assert layer.kind == "compute"


def pads_of(layer: ExtractedLayer) -> list[int]:
    attributes = {a.name: a.value for a in layer.attributes()}
    assert attributes["auto_pad"] == "NOTSET"
    pads = attributes["pads"]
    assert isinstance(pads, tuple)
    return [int(pad) for pad in pads]


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
@pytest.mark.parametrize("size", [7, 8, 9])
@pytest.mark.parametrize("strides", [[1, 1], [2, 3]])
def test_auto_pad_is_spelled_out_as_the_pads_that_it_stands_for(
    auto_pad: str, size: int, strides: list[int]
) -> None:
    """The pads in the layer give the same numbers as ONNX Runtime's own reading of auto_pad."""
    x, w = random_array(1, 2, size, size), random_array(3, 2, 3, 2)
    layer, (y,) = one_layer("Conv", [x, w], weights=1, auto_pad=auto_pad, strides=strides)
    counter = Counter()
    again = counting.convolution(
        x, w, pads=pads_of(layer), strides=strides, dilations=[1, 1], group=1, counter=counter
    )
    np.testing.assert_array_equal(y, again)
    assert layer.flops == 2 * counter.multiplications


@pytest.mark.parametrize("size", [7, 8, 9])
@pytest.mark.parametrize("strides", [[1, 1], [2, 3]])
def test_auto_pad_takes_dilation_into_account(size: int, strides: list[int]) -> None:
    """ONNX Runtime can't do both at once; the size that must come out is that of the input,
    divided by the stride."""
    layer = only_layer(
        f"g (float[1,2,{size},{size}] x, float[3,2,3,2] w) => (y)"
        f'{{ y = Conv<auto_pad="SAME_UPPER", dilations=[2,2], strides={strides}>(x, w) }}'
    )
    counter = Counter()
    again = counting.convolution(
        random_array(1, 2, size, size),
        random_array(3, 2, 3, 2),
        pads=pads_of(layer),
        strides=strides,
        dilations=[2, 2],
        group=1,
        counter=counter,
    )
    assert again.shape == (1, 3, -(-size // strides[0]), -(-size // strides[1]))
    assert shapes(layer)[-1] == again.shape
    assert layer.flops == 2 * counter.multiplications


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_convolution_of_any_rank(rank: int) -> None:
    """Not images of rank 4 alone, as in the published code."""
    x, w = random_array(1, 2, *[5] * rank), random_array(2, 2, *[2] * rank)
    layer, (y,) = one_layer("Conv", [x, w], weights=1)
    counter = Counter()
    again = counting.convolution(
        x, w, pads=[0] * 2 * rank, strides=[1] * rank, dilations=[1] * rank, group=1,
        counter=counter,
    )  # fmt: skip
    np.testing.assert_array_equal(y, again)
    assert layer.flops == 2 * counter.multiplications


def test_a_bias_costs_its_bytes_and_no_operation() -> None:
    x, w, b = random_array(1, 2, 5, 5), random_array(3, 2, 3, 3), random_array(3)
    without, _ = one_layer("Conv", [x, w], weights=1)
    with_bias, _ = one_layer("Conv", [x, w, b], weights=2)
    assert with_bias.flops == without.flops
    assert with_bias.bytes == without.bytes + 12
    assert with_bias.parameters == without.parameters + 3


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("strides", [[1, 1], [2, 3]])
def test_a_transposed_convolution(group: int, strides: list[int]) -> None:
    x, w = random_array(1, 4, 3, 4), random_array(4, 3, 2, 3)
    layer, (y,) = one_layer("ConvTranspose", [x, w], weights=1, group=group, strides=strides)
    counter = Counter()
    again = counting.transposed_convolution(x, w, strides=strides, group=group, counter=counter)
    np.testing.assert_array_equal(y, again)
    assert layer.flops == 2 * counter.multiplications


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [0, 1, 2, 0]])
def test_a_pooling_takes_one_operation_for_each_element_of_its_window(
    op_type: str, pads: list[int]
) -> None:
    layer, (y,) = one_layer(
        op_type, [random_array(2, 3, 8, 7)], kernel_shape=[3, 2], strides=[2, 2], pads=pads
    )
    assert layer.flops == y.size * 3 * 2


def test_global_pooling_looks_at_each_element_once() -> None:
    layer, _ = one_layer("GlobalAveragePool", [random_array(2, 3, 8, 7)])
    assert layer.flops == 2 * 3 * 8 * 7
