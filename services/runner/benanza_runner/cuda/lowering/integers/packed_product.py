"""A product with weights of four or eight bits: ONNX Runtime's MatMulNBits.

Source: the operator's definition in ONNX Runtime.
"""

from collections.abc import Mapping
from math import prod

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, PackedProduct
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer

OPERANDS = ("a", "b", "scales", "zeros", "order", "bias")

BITS = (4, 8)

PACKED = "MatMulNBits"
"""The operator, in the domain `com.microsoft`."""


def lower_packed_product(
    layer: Layer, values: Mapping[int, Array]
) -> tuple[Call, dict[str, Array]]:
    """The call for MatMulNBits, and its operands. Raises `UnsupportedError`."""
    (operator,) = layer.operators
    operands = {
        name: values[index]
        for name, index in zip(OPERANDS, operator.inputs, strict=False)
        if index != OMITTED
    }
    bits = operator.integer("bits", 4)
    if bits not in BITS:
        raise UnsupportedError(f"MatMulNBits of {bits} bits is not supported yet: use 4 or 8")
    if "order" in operands:
        raise UnsupportedError(
            "MatMulNBits with an order of groups is not supported yet: quantise without one"
        )
    if not layer.tensors[operator.inputs[1]].constant:
        raise UnsupportedError("MatMulNBits whose weights are computed is not supported yet")
    a = layer.tensors[operator.inputs[0]]
    call = PackedProduct(
        output=layer.tensors[layer.outputs[0]].shape,
        m=prod(a.shape[:-1]),
        n=operator.integer("N"),
        k=operator.integer("K"),
        bits=bits,
        block=operator.integer("block_size"),
        zeros="zeros" in operands,
        in_floats="zeros" in operands and operands["zeros"].dtype.name != "uint8",
        bias="bias" in operands,
    )
    return call, operands
