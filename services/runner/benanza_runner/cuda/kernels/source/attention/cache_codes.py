"""Functions of C for what a cache of keys and values holds: floats, or codes with scales."""

from benanza_runner.cuda.calls import QuantisedCache
from benanza_runner.cuda.elements import FLOAT8
from benanza_runner.cuda.kernels.source.float8 import CONVERSIONS


def codes_source(stored: QuantisedCache | None) -> str:
    """To follow a precision's preamble. `C` is the type of an element in memory; `number` is that
    of a column of a row; `key_scale` and `value_scale` are what the numbers of a place are to be
    multiplied by, a place being that of a head and column; `code` is the code of a float that was
    divided by its scale.
    """
    if stored is None:
        return "#define QUANTISED 0\n" + _FLOATS
    element = _CONVERSIONS[stored.element]
    return f"""
#define QUANTISED 1
#define PER_BYTE {stored.per_byte}
{element}
__device__ __forceinline__ float key_scale(const float* scales, unsigned place) {{
  return scales[{"place" if stored.keys_by_channel else "0"}];
}}
__device__ __forceinline__ float value_scale(const float* scales, unsigned place) {{
  return scales[{"place" if stored.values_by_channel else "0"}];
}}
"""


_FLOATS = """
#define PER_BYTE 1
typedef T C;
__device__ __forceinline__ float number(const C* row, long long column) {
  return load(row[column]);
}
__device__ __forceinline__ float key_scale(const float*, unsigned) { return 1.0f; }
__device__ __forceinline__ float value_scale(const float*, unsigned) { return 1.0f; }
"""

_CONVERSIONS = {
    "int8": """
typedef unsigned char C;
__device__ __forceinline__ float number(const C* row, long long column) {
  return (signed char)row[column];
}
__device__ __forceinline__ unsigned code(float v) {
  return (int)rintf(fminf(fmaxf(v, -128.0f), 127.0f)) & 255;
}
""",
    FLOAT8: CONVERSIONS
    + """
typedef unsigned char C;
__device__ __forceinline__ float number(const C* row, long long column) {
  return float8_number(row[column]);
}
__device__ __forceinline__ unsigned code(float v) { return float8_code(v); }
""",
    "int4": """
typedef unsigned char C;
__device__ __forceinline__ float number(const C* row, long long column) {
  return (row[column / 2] >> column % 2 * 4 & 15) - 8;
}
__device__ __forceinline__ unsigned code(float v) {
  return (int)rintf(fminf(fmaxf(v, -8.0f), 7.0f)) + 8;
}
""",
}
