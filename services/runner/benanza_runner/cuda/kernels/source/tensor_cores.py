"""Instructions of PTX for kernels that multiply on Tensor Cores, as functions.

Source: NVIDIA's PTX ISA, which has the layouts of the fragments of `mma.m16n8k16`.
"""

from benanza_schemas.layer import Precision

_TYPES: dict[Precision, str] = {"fp16": "f16", "bf16": "bf16"}


def instructions(precision: Precision) -> str:
    """Functions for fp16 or bf16, to follow the precision's preamble.

    `copy` moves 16 bytes to shared memory while the thread goes on, or clears them there;
    `multiply` adds a product of fragments to `c`; `packed` rounds two floats to the precision;
    `fused` computes x * y + z for two elements each.
    """
    return COPIES + _SOURCE.replace("TYPE", _TYPES[precision])


COPIES = """
__device__ __forceinline__ unsigned address(const void* p) {
  return (unsigned)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void copy(void* to, const void* from, bool there) {
  const int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
      :: "r"(address(to)), "l"(from), "r"(bytes) : "memory");
}
// Without a branch, behind which asynchronous products would have to end.
__device__ __forceinline__ void copy_if(bool now, void* to, const void* from, bool there) {
  const int bytes = there ? 16 : 0;
  asm volatile("{.reg .pred p; setp.ne.b32 p, %3, 0;\\n"
      "@p cp.async.cg.shared.global [%0], [%1], 16, %2;}"
      :: "r"(address(to)), "l"(from), "r"(bytes), "r"((int)now) : "memory");
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits until no more than so many of the groups that were committed last are under way.
template <int groups> __device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" :: "n"(groups) : "memory");
}
"""
"""Functions that move 16 bytes to shared memory while a thread goes on, or clear them there."""

LOADS = """
__device__ __forceinline__ void four(unsigned* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(p)) : "memory");
}
__device__ __forceinline__ void four_turned(unsigned* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(p)) : "memory");
}
"""
"""Functions that read four matrices of eight rows of 16 bytes from shared memory as fragments; or
those that have their rows as columns, of elements of two bytes. A lane has the address of a row.
"""

_SOURCE = """
__device__ __forceinline__ void multiply(float* c, const unsigned* a, const unsigned* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.TYPE.TYPE.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ unsigned packed(float low, float high) {
  unsigned r;
  asm("cvt.rn.TYPEx2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
__device__ __forceinline__ unsigned fused(unsigned x, unsigned y, unsigned z) {
  unsigned r;
  asm("fma.rn.TYPEx2 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z));
  return r;
}
"""
