"""The beginning of kernels' sources that read weights of four or eight bits.

A thread reads a piece of 16 bytes at a time, which lies in one block of weights.
"""

from typing import NamedTuple

from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_schemas.layer import Precision


class WeightPacking(NamedTuple):
    """How weights are packed: their bits, the weights of a block, and whether blocks have zero
    points, packed likewise or `in_floats`; `codes` are as in `PackedProduct`.
    """

    bits: int
    block: int
    zeros: bool
    in_floats: bool = False
    codes: tuple[float, ...] = ()


def packed_weights_source(precision: Precision, k: int, packing: WeightPacking) -> str:
    """What a source of rows of k weights begins with.

    It defines `PIECE`, the weights of a piece, `PIECES` and `BLOCKS`, how many a row has, and
    `zero_of`, the zero point of a block of a row, which is an integer; `zero_point` is a float, and
    `weight_of` the one at a place in a word.
    """
    codes = ", ".join(f"{code!r}f" for code in packing.codes)
    return f"""{PREAMBLE[precision]}
#define K {k}
#define BITS {packing.bits}
#define BLOCK {packing.block}
#define ZEROS {int(packing.zeros)}
#define IN_FLOATS {int(packing.in_floats)}
#define CODES {{{codes}}}
#define IN_CODES {int(bool(packing.codes))}
{_SOURCE}"""


_SOURCE = """
#define BLOCKS ((K + BLOCK - 1) / BLOCK)
#define PIECE (128 / BITS)
#define PIECES (BLOCKS * BLOCK / PIECE)
#define PER_WORD (32 / BITS)
// A small number that isn't negative, as a float: in the mantissa of 2^23.
__device__ __forceinline__ float number(unsigned q) {
  return __uint_as_float(0x4b000000u | q) - 8388608.0f;
}
__device__ __forceinline__ unsigned zero_of(const unsigned char* zeros, long long row, int block) {
#if ZEROS
  const int line = (BLOCKS * BITS + 7) / 8, bit = block * BITS;
  return zeros[row * line + bit / 8] >> bit % 8 & (1 << BITS) - 1;
#else
  return 1 << BITS - 1;
#endif
}
#if IN_CODES
__constant__ const float CODED[1 << BITS] = CODES;
#endif
__device__ __forceinline__ float weight_of(unsigned word, int place) {
#if IN_CODES
  return CODED[word >> (place ^ 1) * BITS & (1 << BITS) - 1];
#else
  return number(word >> place * BITS & (1 << BITS) - 1);
#endif
}
__device__ __forceinline__ float zero_point(const unsigned char* zeros, long long row, int block) {
#if IN_CODES
  return 0.0f;
#elif IN_FLOATS
  return load(((const T*)zeros)[row * BLOCKS + block]);
#else
  return number(zero_of(zeros, row, block));
#endif
}
"""
