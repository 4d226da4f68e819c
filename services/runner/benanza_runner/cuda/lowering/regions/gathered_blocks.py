"""Rows of a table of integers that scales make floats of, as one region: GatherBlockQuantized.

Decoders whose first table is the weight of their last product have it. A region computes elements
where they are read, so only those of the rows that are asked for are unpacked.

Source: the operator's definition in ONNX Runtime.
"""

from collections.abc import Mapping

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Region, Shape
from benanza_runner.cuda.elements import element
from benanza_runner.cuda.lowering.regions.packed_numbers import (
    BYTE,
    SMALL,
    BytePacking,
    in_bytes,
    packing_of,
    repeated,
    unpacked,
)
from benanza_runner.cuda.lowering.regions.region_values import RegionValues
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer

GATHERED_BLOCKS = "GatherBlockQuantized"
"""The operator, in the domain `com.microsoft`."""

Lowering = tuple[Region, dict[str, Array], frozenset[str]]


def lower_gathered_blocks(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    An operator's `data` may be bytes that hold one to four numbers each along the last axis, or
    weights of four bits, which are put into bytes. Raises `UnsupportedError`.
    """
    (operator,) = layer.operators
    region = RegionValues()
    table, rows, scale, zero = (*operator.inputs, OMITTED)[:4]
    tensor = layer.tensors[table]
    shape = tensor.shape
    axis = operator.integer("quantize_axis", 1) % len(shape)
    packing = _packing(tensor.dtype, operator.integer("bits", 4))
    if tensor.dtype == BYTE:
        shape = (*shape[:-1], shape[-1] * packing.per_byte)
    operands = {"indices": values[rows], "scales": values[scale]}
    names = {"indices": rows, "scales": scale}

    def apart(name: str, index: int, wanted: Shape) -> int:
        operands[name], names[name] = _bytes(layer, values, index, packing), index
        return unpacked(region, region.given(name, operands[name].shape, BYTE), packing, wanted)

    def in_blocks(number: int) -> int:
        return repeated(region, number, axis, operator.integer("block_size", 128), shape)

    numbers = apart("data", table, shape)
    blocks = layer.tensors[scale].shape
    scales = in_blocks(region.given("scales", blocks, element(layer.tensors[scale].dtype)))
    if zero == OMITTED:
        text = f"(float)(in0 - {packing.zero}) * in1"
        floats = region.pointwise(text, [numbers, scales])
    else:
        zeros = in_blocks(apart("zeros", zero, blocks))
        floats = region.pointwise("(float)(in0 - in2) * in1", [numbers, scales, zeros])
    of = layer.tensors[rows]
    indices = region.given("indices", of.shape, element(of.dtype))
    gathered = region.gathered(floats, indices, operator.integer("gather_axis", 0) % len(shape))
    fixed = frozenset(name for name, index in names.items() if layer.tensors[index].constant)
    return Region(tuple(region.values), (gathered,)), operands, fixed


def _packing(dtype: str, bits: int) -> BytePacking:
    if dtype == BYTE and bits in (2, 4, 8):
        return BytePacking(bits, 0, 1 << bits - 1)
    if dtype in SMALL:
        return packing_of(dtype)
    raise UnsupportedError(f"{GATHERED_BLOCKS} of {bits} bits in {dtype} is not supported yet")


def _bytes(layer: Layer, values: Mapping[int, Array], index: int, packing: BytePacking) -> Array:
    """An input in bytes, each row of the last axis in bytes of its own."""
    given = values[index]
    if layer.tensors[index].dtype == BYTE:
        return given
    if not layer.tensors[index].constant:
        raise UnsupportedError(f"{GATHERED_BLOCKS} of computed numbers is not supported yet")
    return in_bytes(given, packing)
