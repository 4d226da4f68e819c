"""Floats to integers or floats of few bits and back, as expressions of C.

`value`, `scale` and `zero` are names of variables; an empty `zero` is a zero point of 0. A float8
has no other, though models name one, whose type counts. Sources: ONNX's `QuantizeLinear` and
`DequantizeLinear`.
"""

from benanza_runner.cuda.elements import FLOAT8
from benanza_runner.cuda.kernels.source.float8 import from_float8, to_float8
from benanza_runner.cuda.unsupported import UnsupportedError

QUANTISED = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "uint16": (0, 65535),
}
"""The least and the greatest number of each integer type."""


def quantised(value: str, scale: str, zero: str, dtype: str) -> str:
    """The nearest number of the type, ties to even, limited to its range.

    Raises `UnsupportedError` for types without a range here.
    """
    if dtype == FLOAT8:
        return to_float8(f"{value} / {scale}")
    if dtype not in QUANTISED:
        raise UnsupportedError(f"QuantizeLinear to {dtype} is not supported yet")
    least, greatest = QUANTISED[dtype]
    shifted = f"rintf({value} / {scale})" + (f" + (float){zero}" if zero else "")
    return f"(long long)fminf(fmaxf({shifted}, {least}.0f), {greatest}.0f)"


def dequantised(value: str, scale: str, zero: str, dtype: str) -> str:
    """A number of this type minus the zero point, which is exact, times the scale."""
    if dtype == FLOAT8:
        return f"{from_float8(value)} * {scale}"
    return f"(float)({value} - {zero}) * {scale}" if zero else f"(float){value} * {scale}"
