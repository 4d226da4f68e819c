"""What is no quantised product that a call here runs is refused."""

import pytest

from benanza_runner.cuda.calls import PackedProduct, Quantised
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer
from tests.runner.cuda.layers.quantised import Unit, weight_only
from tests.runner.layers import floats


def refused(layer: Layer) -> str:
    with pytest.raises(UnsupportedError) as raised:
        lower(layer, random_inputs(layer, "fp32"))
    return str(raised.value)


def with_bias(*shape: int) -> Layer:
    """A quantised Gemm of four rows and four columns with a C of this shape."""
    unit = Unit()
    first = unit.dequantised("int8", 4, 16)
    second = unit.dequantised("int8", 4, 16, constant=True, axis=0)
    third = unit.weights(*shape)
    unit.add("Gemm", (first, second, third), floats(4, 4), 13, transB=1)
    return unit.layer()


@pytest.mark.parametrize("shape", [(), (1,), (4,), (1, 4)])
def test_a_bias_by_column_is_fused(shape: tuple[int, ...]) -> None:
    layer = with_bias(*shape)
    assert isinstance(lower(layer, random_inputs(layer, "fp32")).call, Quantised)


@pytest.mark.parametrize("shape", [(4, 1), (4, 4)])
def test_another_bias_is_none(shape: tuple[int, ...]) -> None:
    assert "differs within a channel" in refused(with_bias(*shape))


def test_a_last_block_that_is_shorter_is_no_block() -> None:
    unit = Unit()
    integers = unit.tensor("int8", 96, 8, constant=True)
    scale = unit.weights(2, 8)
    weight = unit.add(
        "DequantizeLinear", (integers, scale), floats(96, 8), 21, axis=0, block_size=64
    )
    unit.add("MatMul", (unit.tensor("float32", 3, 96), weight), floats(3, 8), 13)
    assert "blocks of different lengths" in refused(unit.layer())


def test_an_odd_number_of_four_bits_is_no_row() -> None:
    assert "blocks of different lengths" in refused(weight_only(3, 9, 16, "int4"))


def test_scales_that_are_computed_are_no_weights() -> None:
    unit = Unit()
    integers = unit.tensor("int8", 32, 16, constant=True)
    scale = unit.tensor("float32", 16)
    weight = unit.add("DequantizeLinear", (integers, scale), floats(32, 16), 21, axis=1)
    unit.add("MatMul", (unit.tensor("float32", 3, 32), weight), floats(3, 16), 13)
    assert "computed" in refused(unit.layer())


def test_weights_as_the_first_factor_are_not_read_packed() -> None:
    unit = Unit()
    integers = unit.tensor("int8", 32, 16, constant=True)
    weight = unit.add("DequantizeLinear", (integers, unit.weights()), floats(32, 16), 21)
    unit.add("MatMul", (weight, unit.tensor("float32", 16, 8)), floats(32, 8), 13)
    layer = unit.layer()
    try:
        call = lower(layer, random_inputs(layer, "fp32")).call
    except UnsupportedError:
        return
    assert not isinstance(call, PackedProduct)
