"""ONNX's element types, by the names that layers have for them, and the precisions.

The names are those of `TensorProto.DataType` in lower case, with the width: `float32` and
`float64` for FLOAT and DOUBLE. The numbers are those of onnx.proto.
"""

from typing import NamedTuple

from benanza_schemas.layer import Precision

FROM_ONNX = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "string",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
    17: "float8e4m3fn",
    18: "float8e4m3fnuz",
    19: "float8e5m2",
    20: "float8e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4e2m1",
    24: "float8e8m0",
    25: "uint2",
    26: "int2",
    27: "float6e2m3",
    28: "float6e3m2",
}

TO_ONNX = {name: number for number, name in FROM_ONNX.items()}

BITS = {
    "float32": 32,
    "uint8": 8,
    "int8": 8,
    "uint16": 16,
    "int16": 16,
    "int32": 32,
    "int64": 64,
    "bool": 8,
    "float16": 16,
    "float64": 64,
    "uint32": 32,
    "uint64": 64,
    "complex64": 64,
    "complex128": 128,
    "bfloat16": 16,
    "float8e4m3fn": 8,
    "float8e4m3fnuz": 8,
    "float8e5m2": 8,
    "float8e5m2fnuz": 8,
    "uint4": 4,
    "int4": 4,
    "float4e2m1": 4,
    "float8e8m0": 8,
    "uint2": 2,
    "int2": 2,
    "float6e2m3": 6,
    "float6e3m2": 6,
}
"""Bits of an element in memory. Strings have no fixed size."""


def size_bytes(dtype: str, elements: int) -> int:
    """The bytes of so many elements of a type, packed. Raises `KeyError` for strings."""
    return -(-elements * BITS[dtype] // 8)


class PrecisionFacts(NamedTuple):
    """What is known of a precision.

    `element_type` is that of a layer's floating-point tensors. A result is right up to this
    `tolerance`, which is ‖result − reference‖ / ‖reference‖: rounding alone stays well below it
    (products of float32 reach 1e-6, of TF32 3e-4, of bfloat16 1e-2), and that of fp32 rejects what
    multiplies in TF32.
    """

    element_type: str
    tolerance: float

    @property
    def bytes(self) -> int:
        """Of a number."""
        return BITS[self.element_type] // 8


PRECISIONS: dict[Precision, PrecisionFacts] = {
    "fp32": PrecisionFacts("float32", 1e-4),
    "tf32": PrecisionFacts("float32", 2e-3),
    "fp16": PrecisionFacts("float16", 3e-3),
    "bf16": PrecisionFacts("bfloat16", 2e-2),
}
"""What a library or a kernel calls them is there."""

FLOATS = frozenset(facts.element_type for facts in PRECISIONS.values())
"""The types that are those of a precision: what has one of them has any other at that precision."""
