"""How a warp of the kernel of split attention reads sixteen keys and their values.

They are fragments of `mma.m16n8k16`, of floats as they lie or of codes that become fp16 in
registers. Rows in shared memory have an odd number of 16 bytes, so that eight of them don't
collide. Source: the layouts of `mma.m16n8k16` and `ldmatrix` in NVIDIA's PTX ISA.

A lane of `ldmatrix` gets four neighbouring bytes of a key. They are four columns for codes of eight
bits, and eight for those of four; so a product over columns takes these together, in an order of
its own, and queries have the same. Of values, a lane gets two bytes of two keys: their columns are
of as many products, whose results lie as many columns apart.
"""

from benanza_runner.cuda.calls import QuantisedCache
from benanza_runner.cuda.elements import FLOAT8


def rows_source(stored: QuantisedCache | None) -> str:
    """To follow `codes_source`, `LOADS` and instructions, for fp16 if rows are `stored` as codes.

    A load has `STEPS` of sixteen columns of keys, or `TILES` of eight columns of values. `keys_at`
    and `values_at` read those that begin with a step or a tile. A lane has a query's columns
    `query_column` and `BESIDE` further on, and of results the columns `result_column`.
    """
    if stored is None:
        return _ROWS + _FLOATS
    return _ROWS + _HALVES[stored.element] + _CODES


def line_bytes(row_bytes: int) -> int:
    """The bytes from one row in shared memory to the next, for rows of so many 16 bytes."""
    return row_bytes + 16 * (1 + row_bytes // 16 % 2)


_ROWS = """
#define ROW (SIZE / PER_BYTE * (int)sizeof(C))  // in bytes
#define LINE (ROW + 16 * (1 + ROW / 16 % 2))  // odd in 16 bytes: rows don't collide
"""

_FLOATS = """
#define STEPS 1
#define TILES 2
#define BESIDE 1
__device__ __forceinline__ unsigned query_column(int step, int i, unsigned lane) {
  return step * 16 + i / 2 * 8 + lane % 4 * 2;
}
__device__ __forceinline__ unsigned result_column(int tile, int i, unsigned lane) {
  return tile * 8 + lane % 4 * 2 + i;
}
__device__ __forceinline__ void keys_at(unsigned (*b)[4], const char* part, int step,
                                        unsigned lane) {
  four(b[0], part + (lane % 8 + lane / 16 * 8) * LINE + step * 32 + lane / 8 % 2 * 16);
}
__device__ __forceinline__ void values_at(unsigned (*b)[2], const char* part, int tile,
                                          unsigned lane) {
  four_turned(b[0], part + lane % 16 * LINE + tile * 16 + lane / 16 * 16);
}
"""

_OF_INTEGERS = """
// Two of four bytes that aren't negative, as fp16: in the last bits of 1,024, which is taken away
// with what the bytes were made larger by.
__device__ __forceinline__ unsigned halves(unsigned bytes, int first, int second) {
  const unsigned large = __byte_perm(bytes, 0x64646464u, first | 0x4040 | second << 8);
  return fused(large, 0x3c003c00u, LESS);
}
"""

_HALVES = {
    "int8": f"""
#define LESS 0xe480e480u  // -1,024 - 128
{_OF_INTEGERS}
__device__ __forceinline__ unsigned codes(unsigned bytes, int) {{ return bytes ^ 0x80808080u; }}
""",
    "int4": f"""
#define LESS 0xe408e408u  // -1,024 - 8
{_OF_INTEGERS}
__device__ __forceinline__ unsigned codes(unsigned bytes, int which) {{
  return bytes >> 4 * which & 0x0f0f0f0fu;
}}
""",
    FLOAT8: """
__device__ __forceinline__ unsigned halves(unsigned bytes, int first, int second) {
#if __CUDA_ARCH__ >= 890
  unsigned r;
  const unsigned short both = __byte_perm(bytes, 0, first | second << 4);
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"(both));
  return r;
#else
  return packed(float8_number(bytes >> 8 * first & 255),
                float8_number(bytes >> 8 * second & 255));
#endif
}
__device__ __forceinline__ unsigned codes(unsigned bytes, int) { return bytes; }
""",
}

_CODES = """
#define STEPS (2 * PER_BYTE)
#define TILES (4 * PER_BYTE)
#define BESIDE PER_BYTE
__device__ __forceinline__ unsigned query_column(int step, int i, unsigned lane) {
  return (step / PER_BYTE * 16 + lane % 4 * 4 + i / 2 * 2) * PER_BYTE + step % PER_BYTE;
}
__device__ __forceinline__ unsigned result_column(int tile, int i, unsigned lane) {
  const int of_chunk = 2 * PER_BYTE;
  return (tile / of_chunk * 8 + lane % 4 * 2 + i) * of_chunk + tile % of_chunk;
}
__device__ __forceinline__ void keys_at(unsigned (*b)[4], const char* part, int step,
                                        unsigned lane) {
  unsigned r[4];
  four(r, part + (lane % 8 + lane / 16 * 8) * LINE + step / STEPS * 32 + lane / 8 % 2 * 16);
  #pragma unroll
  for (int s = 0; s < STEPS; ++s)
    #pragma unroll
    for (int eight = 0; eight < 2; ++eight) {
      const unsigned of_key = codes(r[2 * eight + s / PER_BYTE], s % PER_BYTE);
      b[s][2 * eight] = halves(of_key, 0, 1);
      b[s][2 * eight + 1] = halves(of_key, 2, 3);
    }
}
__device__ __forceinline__ void values_at(unsigned (*b)[2], const char* part, int tile,
                                          unsigned lane) {
  unsigned r[4];
  four_turned(r, part + lane % 16 * LINE + tile / TILES * 32 + lane / 16 * 16);
  #pragma unroll
  for (int t = 0; t < TILES; ++t)
    #pragma unroll
    for (int eight = 0; eight < 2; ++eight) {
      const int chunk = t / (2 * PER_BYTE), byte = t / PER_BYTE % 2;
      const unsigned of_keys = codes(r[2 * chunk + eight], t % PER_BYTE);
      b[t][eight] = halves(of_keys, byte, 2 + byte);
    }
}
"""
