"""Products with weights of four or eight bits: ONNX Runtime's MatMulNBits and MatMulBnb4.

Source: the operators' definitions in ONNX Runtime, and its table of codes
(onnxruntime/contrib_ops/cpu/quantization/blockwise_quant_block_bnb4.h).
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

CODED = "MatMulBnb4"
"""That of weights which are codes, in the same domain."""

_POSITIVE = (0.0, 1 / 192, 2 / 3, 1.0, 1 / 3, 1 / 2, 1 / 6, 1 / 4)
_FLOATS = (*_POSITIVE, *(-number for number in _POSITIVE))
_QUANTILES = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
CODES = _FLOATS, _QUANTILES
"""What codes stand for, by the operator's `quant_type`: floats of four bits, or quantiles of a
normal distribution.
"""


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


def lower_coded_product(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    """The call for MatMulBnb4, and its operands. Raises `UnsupportedError`."""
    (operator,) = layer.operators
    k, block = operator.integer("K"), operator.integer("block_size")
    if k % block or not operator.integer("transB", 1):
        raise UnsupportedError(f"{CODED} whose blocks go over the end of rows is not supported yet")
    if not layer.tensors[operator.inputs[1]].constant:
        raise UnsupportedError(f"{CODED} whose weights are computed is not supported yet")
    a = layer.tensors[operator.inputs[0]]
    call = PackedProduct(
        output=layer.tensors[layer.outputs[0]].shape,
        m=prod(a.shape[:-1]),
        n=operator.integer("N"),
        k=k,
        bits=4,
        block=block,
        codes=CODES[operator.integer("quant_type")],
    )
    return call, {name: values[i] for name, i in zip(OPERANDS, operator.inputs, strict=False)}
