"""How kernels read and write elements of a precision: the beginning of their sources."""

from benanza_schemas.layer import Precision

_FLOAT = """
typedef float T;
__device__ __forceinline__ float load(T v) { return v; }
__device__ __forceinline__ T store(float v) { return v; }
"""

_SIXTEEN_BITS = """
typedef unsigned short T;
__device__ __forceinline__ float load(T v) {
  float f;
  LOAD
  return f;
}
__device__ __forceinline__ T store(float v) {
  T s;
  STORE
  return s;
}
"""

_HALF = _SIXTEEN_BITS.replace("LOAD", 'asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v));').replace(
    "STORE", 'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(s) : "f"(v));'
)
_BFLOAT = _SIXTEEN_BITS.replace("LOAD", "f = __uint_as_float((unsigned)v << 16);").replace(
    "STORE", 'asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(s) : "f"(v));'
)

PREAMBLE: dict[Precision, str] = {"fp32": _FLOAT, "tf32": _FLOAT, "fp16": _HALF, "bf16": _BFLOAT}
"""`T`, the type in memory, and `load` and `store`, which turn it into `float` and back."""
