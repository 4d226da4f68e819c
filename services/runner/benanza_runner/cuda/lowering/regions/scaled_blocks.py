"""QuantizeLinear and DequantizeLinear with a scale for each block, and of weights in few bits.

Weights of less than a byte are read packed. Source: the operators' definitions in ONNX.
"""

from collections.abc import Mapping
from math import prod

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Region, Shape
from benanza_runner.cuda.elements import FLOAT8, element
from benanza_runner.cuda.lowering.elementwise.quantisation import dequantised, quantised
from benanza_runner.cuda.lowering.regions.packed_numbers import (
    BYTE,
    SMALL,
    in_bytes,
    packing_of,
    repeated,
    unpacked,
)
from benanza_runner.cuda.lowering.regions.region_values import RegionValues
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer

DEQUANTISE, QUANTISE = "DequantizeLinear", "QuantizeLinear"
E5M2 = "float8e5m2"
FROM_E5M2 = (
    "(in0 & 128 ? -1.0f : 1.0f) * ldexpf((float)((in0 & 3) + (in0 & 124 ? 4 : 0)),"
    " (in0 & 124 ? (int)(in0 & 124) / 4 : 1) - 17)"
)
"""The number that a code of float8e5m2 stands for: five bits of exponent, two of mantissa."""

Lowering = tuple[Region, dict[str, Array], frozenset[str]]


def is_scaled_by_blocks(layer: Layer) -> bool:
    """Whether a layer is one of these operators alone, with blocks or weights in few bits."""
    (first, *rest) = layer.operators
    if rest or first.domain or first.op_type not in (DEQUANTISE, QUANTISE):
        return False
    of_weights = layer.tensors[first.inputs[0]].dtype in SMALL | {E5M2}
    return of_weights or first.integer("block_size", 0) > 0


def lower_scaled_blocks(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    (operator,) = layer.operators
    if not operator.integer("saturate", 1):
        raise UnsupportedError(f"{operator.op_type} without saturation is not supported yet")
    region, operands, names = RegionValues(), dict[str, Array](), dict[str, int]()
    x, scale, zero = (*operator.inputs, OMITTED)[:3]
    shape, (result,) = layer.tensors[x].shape, operator.outputs

    def given(name: str, index: int) -> int:
        """An input of the layer; of weights in few bits, the numbers without their sign."""
        tensor, names[name] = layer.tensors[index], index
        if tensor.dtype in SMALL | {E5M2}:
            if not tensor.constant:
                raise UnsupportedError(f"computed tensors of {tensor.dtype} are not supported yet")
            if tensor.dtype == E5M2:
                operands[name] = values[index].view(np.uint8)
                return region.given(name, tensor.shape, BYTE)
            packing, rows = packing_of(tensor.dtype), values[index].reshape(tensor.shape or (1,))
            operands[name] = in_bytes(rows, packing)
            packed = region.given(name, operands[name].shape, BYTE)
            return region.reshaped(unpacked(region, packed, packing, rows.shape), tensor.shape)
        operands[name] = values[index]
        return region.given(name, tensor.shape, element(tensor.dtype))

    def for_each(number: int) -> int:
        """What all elements, channels or blocks have in common, for each element."""
        of = region.shape(number)
        axis = operator.integer("axis", 1) % max(len(shape), 1)
        if block := operator.integer("block_size", 0):
            return repeated(region, number, axis, block, shape)
        return region.reshaped(number, _along(axis, prod(of), len(shape)))

    numbers, scales = given("input", x), for_each(given("scale", scale))
    reads = operator.op_type == DEQUANTISE
    kind = layer.tensors[x if reads else result].dtype
    point, inputs = "", [numbers, scales]
    if zero != OMITTED and kind not in (FLOAT8, E5M2):
        inputs.append(for_each(given("zero", zero)))
        point = "in2"
    elif kind in SMALL:
        point = str(packing_of(kind).zero)
    if reads and kind == E5M2:
        text = f"{FROM_E5M2} * in1"
    else:
        text = (dequantised if reads else quantised)("in0", "in1", point, kind)
    made = region.pointwise(text, inputs, "" if reads else element(kind))
    fixed = frozenset(name for name, index in names.items() if layer.tensors[index].constant)
    return Region(tuple(region.values), (made,)), operands, fixed


def _along(axis: int, size: int, rank: int) -> Shape:
    """The shape of so many numbers along an axis of this many, or of one for all."""
    return tuple([size if place == axis and size > 1 else 1 for place in range(rank)])
