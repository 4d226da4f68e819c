"""Functions of C between float and codes of float8e4m3fn, for any processor.

A code has a sign, four bits of exponent, counted from 7, and three of mantissa. There is no
infinity, and NaN has all bits set but the sign. So the greatest number is 448, and the least normal
one is 2^-6. Source: the Open Compute Project's "OCP 8-bit Floating Point Specification", 2023.
"""

CONVERSIONS = """
__device__ __forceinline__ float float8_number(int code) {
  const int size = code & 0x7f;
  float v = __int_as_float((size << 20) + (120 << 23));
  if (size < 8) v = size * 0.001953125f;
  if (size == 0x7f) v = __int_as_float(0x7fffffff);
  return code & 0x80 ? -v : v;
}
__device__ __forceinline__ int float8_code(float v) {
  const float size = fminf(fabsf(v), 448.0f);
  const int bits = __float_as_int(size), sign = __float_as_int(v) >> 24 & 0x80;
  if (v != v) return sign | 0x7f;
  if (size < 0.015625f) return sign | (int)rintf(size * 512.0f);
  return sign | (((bits + 0x7ffff + (bits >> 20 & 1)) >> 20) - (120 << 3));
}
"""
"""Both are exact, but for rounding to the nearest code, ties to even. What is larger than all codes
becomes the largest, and NaN stays NaN. A code is an `int` from 0 to 255. No subnormal float occurs,
which a compiler may be told to take for zero.
"""


def from_float8(code: str) -> str:
    """The expression for the number of a code."""
    return f"float8_number({code})"


def to_float8(number: str) -> str:
    """The expression for the code of a float."""
    return f"float8_code({number})"
