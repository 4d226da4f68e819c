"""The beginning of kernels' sources: how they read and write floats of a precision."""

from benanza_schemas.layer import Precision

_FLOAT = """
typedef float T;
__device__ __forceinline__ float load(T v) { return v; }
__device__ __forceinline__ T store(float v) { return v; }
__device__ __forceinline__ float erf_of(float v) { return erff(v); }
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
__device__ __forceinline__ float erf_of(float v) {
  const float x = fabsf(v);
  float p = 0.0000430638f;
  p = fmaf(p, x, 0.0002765672f);
  p = fmaf(p, x, 0.0001520143f);
  p = fmaf(p, x, 0.0092705272f);
  p = fmaf(p, x, 0.0422820123f);
  p = fmaf(p, x, 0.0705230784f);
  p = fmaf(p, x, 1.0f);
  p *= p;
  p *= p;
  p *= p;
  p *= p;
  return copysignf(1.0f - __fdividef(1.0f, p), v);
}
"""

_HALF = _SIXTEEN_BITS.replace("LOAD", 'asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v));').replace(
    "STORE", 'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(s) : "f"(v));'
)
_BFLOAT = _SIXTEEN_BITS.replace("LOAD", "f = __uint_as_float((unsigned)v << 16);").replace(
    "STORE", 'asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(s) : "f"(v));'
)

PREAMBLE: dict[Precision, str] = {"fp32": _FLOAT, "tf32": _FLOAT, "fp16": _HALF, "bf16": _BFLOAT}
"""`T` is the type in memory; `load` and `store` convert it to `float` and back.

`erf_of` is the error function for sums with 1. For 16 bits it is off by 2e-6 and takes a third
fewer instructions (Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.28, 1964).
"""
