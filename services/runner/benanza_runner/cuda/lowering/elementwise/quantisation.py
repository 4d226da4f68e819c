"""Floats to integers of few bits and back, as expressions of C.

`scale` and `zero` are variables like `value`; an empty `zero` is a zero point of 0. Sources: ONNX's
`QuantizeLinear` and `DequantizeLinear`.
"""

from benanza_runner.cuda.unsupported import UnsupportedError

QUANTISED = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "uint16": (0, 65535),
}
"""The least and the greatest number of the integers that floats are turned into."""


def quantised(value: str, scale: str, zero: str, dtype: str) -> str:
    """To the nearest integer, of two to the even one; what is beyond the range is its end.

    Raises `UnsupportedError`.
    """
    if dtype not in QUANTISED:
        raise UnsupportedError(f"QuantizeLinear to {dtype} is not done yet")
    least, greatest = QUANTISED[dtype]
    shifted = f"rintf({value} / {scale})" + (f" + (float){zero}" if zero else "")
    return f"(long long)fminf(fmaxf({shifted}, {least}.0f), {greatest}.0f)"


def dequantised(value: str, scale: str, zero: str) -> str:
    """The integer's distance from the zero point, which is exact, times the scale."""
    return f"(float)({value} - {zero}) * {scale}" if zero else f"(float){value} * {scale}"
