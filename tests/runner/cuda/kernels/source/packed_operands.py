"""Operands of products with packed weights, as kernels in fp16 and bf16 have them in memory."""

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import PackedProduct
from benanza_schemas.layer import Precision

_ROUNDED = ("a", "scales", "bias")


def sixteen_bits(floats: Array, precision: Precision) -> Array:
    """As the precision has them in memory."""
    if precision == "fp16":
        return floats.astype(np.float16).view(np.uint16)
    bits = floats.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def floats(bits: Array, precision: Precision) -> Array:
    """What `sixteen_bits` stands for."""
    if precision == "fp16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def random_operands(call: PackedProduct, precision: Precision) -> dict[str, Array]:
    """Rows `a`, weights `b` and `zeros` packed in bytes, `scales`, a `bias`: the same each time."""
    random = np.random.default_rng(11)
    bytes_of = {
        "b": call.blocks * call.block * call.bits // 8,
        "zeros": -(-call.blocks * call.bits // 8),
    }
    packed = {
        name: random.integers(0, 256, (call.n, size), np.uint8) for name, size in bytes_of.items()
    }
    rounded = (
        ("a", -1, (call.m, call.k)),
        ("scales", 0.5, (call.n, call.blocks)),
        ("bias", -1, call.n),
    )
    return packed | {
        name: sixteen_bits(random.uniform(least, 1, size), precision)
        for name, least, size in rounded
    }


def exact(operands: dict[str, Array], precision: Precision) -> dict[str, Array]:
    """The same numbers, with those in 16 bits as floats."""
    return operands | {name: floats(operands[name], precision) for name in _ROUNDED}
