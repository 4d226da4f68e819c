"""A product with weights that a DequantizeLinear makes floats of, as a call that reads them packed.

Sources: ONNX's `DequantizeLinear`, which has a scale for all, for each channel, or for each block
of an axis; and ONNX Runtime's `MatMulNBits`, which says how weights are packed.
"""

from collections.abc import Mapping
from math import prod

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import PackedProduct
from benanza_runner.cuda.lowering.integers.packed_product import BITS as KNOWN_BITS
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.element_types import BITS, FLOATS
from benanza_schemas.layer import OMITTED, Layer, Operator

Lowering = tuple[PackedProduct, dict[str, Array], frozenset[str]]


def is_weight_only(layer: Layer) -> bool:
    """Whether a layer dequantises weights, and multiplies them with floats as the last."""
    first, *rest = layer.operators
    weights = first.outputs[0]
    if rest and rest[0].op_type == "Transpose":
        turned, *rest = rest
        if turned.inputs != (weights,) or turned.integers("perm", (1, 0)) != (1, 0):
            return False
        weights = turned.outputs[0]
    kinds = tuple(operator.op_type for operator in rest)
    return (
        first.op_type == "DequantizeLinear"
        and layer.tensors[first.inputs[0]].constant
        and kinds in {("Gemm",), ("MatMul",), ("MatMul", "Add")}
        and rest[0].inputs[1] == weights != rest[0].inputs[0]
        and len(layer.outputs) == 1
    )


def lower_weight_only(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    dequantise = layer.operators[0]
    product = next(each for each in layer.operators if each.op_type in ("Gemm", "MatMul"))
    turned = layer.operators[1].op_type == "Transpose"
    factors = {product.number("alpha", 1.0), product.number("beta", 1.0)}
    if factors != {1.0} or product.integer("transA", 0):
        raise UnsupportedError("a Gemm with factors or a transposed matrix is not multiplied so")
    by_row = product.integer("transB", 0) == 1 or turned
    weights, scales, zeros, bits = _rows(layer, values, dequantise, by_row)
    n, k = weights.shape
    blocks = scales.shape[1]
    bias = _bias(layer, product, n)
    x = layer.tensors[product.inputs[0]]
    block = dequantise.integer("block_size", 0) or k
    if not x.shape or x.dtype not in FLOATS or block * blocks != k or k * bits % 8:
        raise UnsupportedError("weights in blocks of different lengths are not multiplied so")
    asymmetric = len(dequantise.inputs) > 2 and layer.tensors[dequantise.inputs[0]].dtype[0] == "u"
    has_zeros = asymmetric or bool(np.any(zeros != 1 << bits - 1))
    call = PackedProduct(
        output=layer.tensors[layer.outputs[0]].shape,
        m=prod(x.shape[:-1]),
        n=n,
        k=k,
        bits=bits,
        block=block,
        zeros=has_zeros,
        bias=bias != OMITTED,
    )
    operands = {
        "a": values[product.inputs[0]],
        "b": _packed(weights, bits),
        "scales": np.ascontiguousarray(scales),
    }
    if has_zeros:
        operands["zeros"] = _packed(np.pad(zeros, ((0, 0), (0, blocks * bits % 8 // 4))), bits)
    if bias != OMITTED:
        operands["bias"] = values[bias].reshape(-1)
    return call, operands, frozenset(operands) - {"a"}


def _rows(
    layer: Layer, values: Mapping[int, Array], dequantise: Operator, by_row: bool
) -> tuple[Array, Array, Array, int]:
    """The weights as rows of k integers that aren't negative, the scales and the zero points of
    the blocks of each row, and the bits of a weight.
    """
    index, scale, zero = (*dequantise.inputs, OMITTED)[:3]
    tensor = layer.tensors[index]
    if not all(layer.tensors[place].constant for place in (scale, zero) if place != OMITTED):
        raise UnsupportedError("a scale that is computed is not supported yet")
    bits = BITS[tensor.dtype]
    if len(tensor.shape) != 2 or bits not in KNOWN_BITS or "int" not in tensor.dtype:
        raise UnsupportedError(f"weights of {tensor.dtype} are not multiplied packed")
    least = 0 if tensor.dtype.startswith("u") else -(1 << bits - 1)
    scales = values[scale]
    zeros = np.zeros(scales.shape) if zero == OMITTED else values[zero]
    axis = dequantise.integer("axis", 1) % 2
    blocked = dequantise.integer("block_size", 0) > 0
    if scales.ndim == 1 and scales.size > 1:
        scales, zeros = (np.expand_dims(each, 1 - axis) for each in (scales, zeros))
    if scales.ndim < 2:
        scales, zeros = scales.reshape(1, 1), zeros.reshape(1, 1)
    weights = values[index].astype(np.int16) - least
    if not by_row:
        weights, scales, zeros = weights.T, scales.T, zeros.T
    if axis != (1 if by_row else 0) if blocked else scales.shape[1] > 1:
        raise UnsupportedError("weights with scales along the sums are not multiplied packed")
    shape = len(weights), scales.shape[1]
    whole = np.broadcast_to(zeros.astype(np.int16) - least, shape)
    return weights, np.broadcast_to(scales, shape), whole, bits


def _packed(numbers: Array, bits: int) -> Array:
    """Rows of small numbers in bytes, the lowest bits first."""
    small: Array = numbers.astype(np.uint8)
    if bits == 4:
        small = small[:, 0::2] | small[:, 1::2] << 4
    return np.ascontiguousarray(small)


def _bias(layer: Layer, product: Operator, n: int) -> int:
    """The bias of a Gemm or of an Add behind; OMITTED if there is none."""
    last = layer.operators[-1]
    if last.op_type == "Add":
        first, second = last.inputs
        bias = second if first == product.outputs[0] else first
    else:
        bias = (*product.inputs[2:], OMITTED)[0]
    if bias != OMITTED and not (
        layer.tensors[bias].constant and layer.tensors[bias].shape in ((n,), (1, n))
    ):
        raise UnsupportedError("a bias that is no row of weights is not fused")
    return bias
