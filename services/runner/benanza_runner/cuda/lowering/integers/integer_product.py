"""A product of 8-bit integers."""

from collections.abc import Mapping
from math import prod

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, EightBitProduct
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer

OPERANDS = ("a", "b", "a_zero", "b_zero")


def lower_integer_product(
    layer: Layer, values: Mapping[int, Array]
) -> tuple[Call, dict[str, Array]]:
    """The call for MatMulInteger with one matrix of weights, and its operands.

    Raises `UnsupportedError`.
    """
    inputs = layer.operators[0].inputs
    operands = {
        name: values[index]
        for name, index in zip(OPERANDS, inputs, strict=False)
        if index != OMITTED
    }
    a, b = (layer.tensors[index] for index in inputs[:2])
    if not b.constant or len(b.shape) != 2:
        raise UnsupportedError("MatMulInteger whose second factor is not one matrix of weights")
    k, n = b.shape
    a_zeros, b_zeros = (operands[z].size if z in operands else 0 for z in OPERANDS[2:])
    if a_zeros > 1 or b_zeros not in (0, 1, n):
        raise UnsupportedError("MatMulInteger with a zero point for each row is not supported yet")
    call = EightBitProduct(
        output=layer.tensors[layer.outputs[0]].shape,
        m=prod(a.shape) // k,
        n=n,
        k=k,
        a_element=a.dtype,
        b_element=b.dtype,
        a_zero=a_zeros == 1,
        b_zeros=b_zeros,
    )
    return call, operands


def refuse_integer_convolution(
    layer: Layer, values: Mapping[int, Array]
) -> tuple[Call, dict[str, Array]]:
    """Raises `UnsupportedError`: libraries want the scales of a convolution of integers."""
    raise UnsupportedError(
        f"{layer.title()}, whose scales are computed, is not supported yet: quantise convolutions "
        "with fixed scales, as DequantizeLinear has them"
    )
