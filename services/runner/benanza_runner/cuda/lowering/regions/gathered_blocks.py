"""Rows of a table of integers that scales make floats of, as one region: GatherBlockQuantized.

Decoders whose first table is the weight of their last product have it. A region computes elements
where they are read, so only those of the rows that are asked for are unpacked.

Source: the operator's definition in ONNX Runtime.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Region, Shape
from benanza_runner.cuda.elements import element
from benanza_runner.cuda.lowering.regions.region_values import RegionValues
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.element_types import BITS
from benanza_schemas.layer import OMITTED, Layer

GATHERED_BLOCKS = "GatherBlockQuantized"
"""The operator, in the domain `com.microsoft`."""

BYTE = "uint8"

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

    def unpacked(name: str, index: int, wanted: Shape) -> int:
        operands[name], names[name] = _bytes(layer, values, index, packing), index
        return _unpacked(region, region.given(name, operands[name].shape, BYTE), packing, wanted)

    def in_blocks(number: int) -> int:
        return _repeated(region, number, axis, operator.integer("block_size", 128), shape)

    numbers = unpacked("data", table, shape)
    blocks = layer.tensors[scale].shape
    scales = in_blocks(region.given("scales", blocks, element(layer.tensors[scale].dtype)))
    if zero == OMITTED:
        text = f"(float)(in0 - {packing.zero}) * in1"
        floats = region.pointwise(text, [numbers, scales])
    else:
        zeros = in_blocks(unpacked("zeros", zero, blocks))
        floats = region.pointwise("(float)(in0 - in2) * in1", [numbers, scales, zeros])
    of = layer.tensors[rows]
    indices = region.given("indices", of.shape, element(of.dtype))
    gathered = region.gathered(floats, indices, operator.integer("gather_axis", 0) % len(shape))
    fixed = frozenset(name for name, index in names.items() if layer.tensors[index].constant)
    return Region(tuple(region.values), (gathered,)), operands, fixed


class _Packing(NamedTuple):
    """How numbers are in bytes: the bits of each, the lowest first; what was added to them so that
    none is negative; and the zero point, likewise, where none is given.
    """

    bits: int
    added: int
    zero: int

    @property
    def per_byte(self) -> int:
        return 8 // self.bits


def _packing(dtype: str, bits: int) -> _Packing:
    if dtype == BYTE and bits in (2, 4, 8):
        return _Packing(bits, 0, 1 << bits - 1)
    if dtype in ("int4", "uint4"):
        added = 8 if dtype == "int4" else 0
        return _Packing(BITS[dtype], added, added)
    raise UnsupportedError(f"{GATHERED_BLOCKS} of {bits} bits in {dtype} is not supported yet")


def _bytes(layer: Layer, values: Mapping[int, Array], index: int, packing: _Packing) -> Array:
    """An input in bytes, each row of the last axis in bytes of its own."""
    given = values[index]
    if layer.tensors[index].dtype == BYTE:
        return given
    if not layer.tensors[index].constant:
        raise UnsupportedError(f"{GATHERED_BLOCKS} of computed numbers is not supported yet")
    whole = (given.astype(np.int16) + packing.added).astype(np.uint8)
    whole = np.pad(whole, ((0, 0),) * (whole.ndim - 1) + ((0, whole.shape[-1] % 2),))
    return np.ascontiguousarray(whole[..., 0::2] | whole[..., 1::2] << 4)


def _unpacked(region: RegionValues, packed: int, packing: _Packing, wanted: Shape) -> int:
    """The numbers in bytes, without those that fill the last byte of a row."""
    if packing.per_byte == 1:
        return packed
    shape = region.shape(packed)
    place = region.place((1,) * len(shape) + (packing.per_byte,), len(shape))
    text = f"(in0 >> in1 * {packing.bits}) & {(1 << packing.bits) - 1}"
    apart = region.pointwise(text, [region.reshaped(packed, (*shape, 1)), place], BYTE)
    flat = region.reshaped(apart, (*shape[:-1], shape[-1] * packing.per_byte))
    return region.sliced(flat, [slice(size) for size in wanted])


def _repeated(region: RegionValues, number: int, axis: int, block: int, wanted: Shape) -> int:
    """What each block along an axis has in common, for each of its elements."""
    shape = region.shape(number)
    before, after = shape[: axis + 1], shape[axis + 1 :]
    each = region.reshaped(number, (*before, 1, *after))
    each = region.expanded(each, (*before, block, *after))
    flat = region.reshaped(each, (*shape[:axis], shape[axis] * block, *after))
    return region.sliced(flat, [slice(size) for size in wanted])
