"""Numbers of fewer than eight bits in bytes, and what blocks have in common, in a region."""

from typing import NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.lowering.regions.region_values import RegionValues
from benanza_schemas.element_types import BITS

BYTE = "uint8"
SMALL = frozenset(("int2", "int4", "uint2", "uint4"))
"""Integers of which several share a byte."""


class BytePacking(NamedTuple):
    """How numbers are in bytes: the bits of each, the lowest first; what was added to them so that
    none is negative; and the zero point, likewise, where none is given.
    """

    bits: int
    added: int
    zero: int

    @property
    def per_byte(self) -> int:
        """How many numbers share a byte."""
        return 8 // self.bits


def packing_of(dtype: str) -> BytePacking:
    """How integers of one of the types in `SMALL` are put into bytes."""
    bits = BITS[dtype]
    added = 0 if dtype.startswith("u") else 1 << bits - 1
    return BytePacking(bits, added, added)


def in_bytes(numbers: Array, packing: BytePacking) -> Array:
    """Numbers in bytes, each row of the last axis in bytes of its own."""
    whole = (numbers.astype(np.int16) + packing.added).astype(np.uint8)
    lacking = -whole.shape[-1] % packing.per_byte
    whole = np.pad(whole, ((0, 0),) * (whole.ndim - 1) + ((0, lacking),))
    apart = whole.reshape(*whole.shape[:-1], -1, packing.per_byte)
    shifted = apart << np.arange(packing.per_byte, dtype=np.uint8) * np.uint8(packing.bits)
    return np.ascontiguousarray(np.bitwise_or.reduce(shifted, axis=-1))


def unpacked(region: RegionValues, packed: int, packing: BytePacking, wanted: Shape) -> int:
    """The numbers in bytes, without those that fill the last byte of a row."""
    if packing.per_byte == 1:
        return packed
    shape = region.shape(packed)
    place = region.place((1,) * len(shape) + (packing.per_byte,), len(shape))
    text = f"(in0 >> in1 * {packing.bits}) & {(1 << packing.bits) - 1}"
    apart = region.pointwise(text, [region.reshaped(packed, (*shape, 1)), place], BYTE)
    flat = region.reshaped(apart, (*shape[:-1], shape[-1] * packing.per_byte))
    return region.sliced(flat, [slice(size) for size in wanted])


def repeated(region: RegionValues, number: int, axis: int, block: int, wanted: Shape) -> int:
    """What each block along an axis has in common, for each of its elements."""
    shape = region.shape(number)
    before, after = shape[: axis + 1], shape[axis + 1 :]
    each = region.reshaped(number, (*before, 1, *after))
    each = region.expanded(each, (*before, block, *after))
    flat = region.reshaped(each, (*shape[:axis], shape[axis] * block, *after))
    return region.sliced(flat, [slice(size) for size in wanted])
