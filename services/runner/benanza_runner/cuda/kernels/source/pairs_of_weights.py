"""Weights of four or eight bits in registers, as pairs of fp16 or bf16.

An integer becomes a float in the last bits of one whose last bit is worth one. Which weights make a
pair is the reader's choice, as long as the other factor's elements make pairs likewise.
"""

from benanza_schemas.layer import Precision


def pairs_source(precision: Precision, bits: int) -> str:
    """Functions for fp16 or bf16, to follow `packed_weights_source` and `instructions`.

    `factor` is what a block's scale and zero point are kept as, `eight` makes four pairs of eight
    weights of a piece, and `in_pairs` the same pairs of eight elements of a row. Of 8 bits, `pair`
    makes one of two neighbours in a word.
    """
    excess, one = _IN_A_MANTISSA[precision]
    if bits == 4:
        functions = _PAIRS + _FOUR_BITS
    elif precision == "fp16":
        functions = _PAIRS + _EIGHT_BITS
    else:
        functions = _EIGHT_BITS_THROUGH_FLOATS
    return f"""
#define EXCESS {excess:#x}u
#define ONE {one:#x}u
{functions}"""


_IN_A_MANTISSA: dict[Precision, tuple[int, int]] = {
    "fp16": (0x6400, 0x3C00),
    "bf16": (0x4300, 0x3F80),
}
"""The float whose last bit is worth one, 1,024 or 128, and 1. A number in the last bits of the
former adds to it."""

_PAIRS = """
struct Factor { unsigned offset, scale; };
__device__ __forceinline__ Factor factor(T scale, unsigned zero) {
  return {(0x8000u | EXCESS | zero) * 0x10001u, scale * 0x10001u};
}
// The weights of two numbers to which EXCESS was added. Only the product with the scale is rounded.
__device__ __forceinline__ unsigned weights(unsigned numbers, Factor f) {
  return fused(fused(numbers, ONE * 0x10001u, f.offset), f.scale, 0x80008000u);
}
"""

_FOUR_BITS = """
// Eight weights of a piece as pairs: the first and the fifth, the second and the sixth, ...
__device__ __forceinline__ void eight(const unsigned* words, int e, Factor f, unsigned* pairs) {
  #pragma unroll
  for (int i = 0; i < 4; ++i)
    pairs[i] = weights(words[e] >> 4 * i & 0x000f000fu | EXCESS * 0x10001u, f);
}
// Eight elements of a row in the same order.
__device__ __forceinline__ void in_pairs(uint4 row, unsigned* pairs) {
  pairs[0] = __byte_perm(row.x, row.z, 0x5410);
  pairs[1] = __byte_perm(row.x, row.z, 0x7632);
  pairs[2] = __byte_perm(row.y, row.w, 0x5410);
  pairs[3] = __byte_perm(row.y, row.w, 0x7632);
}
"""

_IN_ORDER = """
__device__ __forceinline__ void in_pairs(uint4 row, unsigned* pairs) {
  pairs[0] = row.x;
  pairs[1] = row.y;
  pairs[2] = row.z;
  pairs[3] = row.w;
}
"""

_EIGHT_BY_PAIRS = """
// Eight weights of a piece as pairs.
__device__ __forceinline__ void eight(const unsigned* words, int e, Factor f, unsigned* pairs) {
  #pragma unroll
  for (int i = 0; i < 4; ++i) pairs[i] = pair(words[2 * e + i / 2], i % 2, f);
}
"""

_EIGHT_BITS = f"""{_IN_ORDER}
__device__ __forceinline__ unsigned pair(unsigned word, int upper, Factor f) {{
  return weights(__byte_perm(word, EXCESS * 0x10001u >> 8, upper ? 0x4342 : 0x4140), f);
}}
{_EIGHT_BY_PAIRS}
"""

_EIGHT_BITS_THROUGH_FLOATS = f"""{_IN_ORDER}
struct Factor {{ float zero, scale; }};
__device__ __forceinline__ Factor factor(T scale, unsigned zero) {{
  return {{number(zero), load(scale)}};
}}
// The difference from zero fits in bf16, the sum with a power of two does not.
__device__ __forceinline__ unsigned pair(unsigned word, int upper, Factor f) {{
  const unsigned two = word >> upper * 16;
  return packed(f.scale * (number(two & 255u) - f.zero),
                f.scale * (number(two >> 8 & 255u) - f.zero));
}}
{_EIGHT_BY_PAIRS}
"""
