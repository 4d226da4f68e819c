"""Products of fragments with rows in shared memory, by the Tensor Cores of Hopper or older ones.

In shared memory a row is 64 elements of two bytes, in eight pieces: piece p of row r lies at place
p xor r mod 8, where neither copies nor reads collide. Eight rows begin at a multiple of 1,024
bytes. `c` has for each eight rows four sums of a thread, as `mma.m16n8k16` has them.

Source: NVIDIA's PTX ISA: `wgmma.mma_async`, its matrix descriptors, and the swizzling of 128 bytes.
"""

from benanza_schemas.layer import Precision

GROUP = 8
"""Rows come in groups of so many."""

_SWIZZLED = hex(1 << 62 - 32 | 1024 >> 4)
"""The upper half of a descriptor: swizzling of 128 bytes, and where the next eight rows begin."""

_TYPES: dict[Precision, str] = {"fp16": "f16", "bf16": "bf16"}


def warpgroup_instructions(precision: Precision, rows: int) -> str:
    """Functions for fp16 or bf16 on an sm_90a, to follow `instructions`.

    `multiply_rows` multiplies 64 rows of fragments, of four warps, by elements of the `described`
    rows in shared memory, by the first `sixteen`, the second and so on, while the threads go on. It
    may not read what threads wrote before `show_copies`, nor registers before `order_products`.
    """
    sums = rows // GROUP * 4
    places = ",".join(f"%{i}" for i in range(sums))
    first = ",".join(f"%{i}" for i in range(sums, sums + 4))
    outputs = ", ".join(f'"+f"(c[{i}])' for i in range(sums))
    kind = _TYPES[precision]
    return f"""{_ORDERING}
typedef unsigned Rows;
// Where rows begin, as half of a matrix descriptor; the other half is the same for all.
__device__ __forceinline__ Rows described(const void* rows) {{
  return address(rows) >> 4 & 0x3fff | 1 << 16;
}}
__device__ __forceinline__ void multiply_rows(
    float* c, const unsigned* a, Rows rows, int sixteen) {{
  asm volatile("{{.reg .pred p; .reg .b64 d; setp.ne.b32 p, 1, 0; "
      "mov.b64 d, {{%{sums + 4}, {_SWIZZLED}}}; "
      "wgmma.mma_async.sync.aligned.m64n{rows}k16.f32.{kind}.{kind} "
      "{{{places}}}, {{{first}}}, d, p, 1, 1, 0;}}"
      : {outputs}
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(rows + 2 * sixteen));
}}
"""


_ORDERING = """
__device__ __forceinline__ void show_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void order_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits until no more than so many of the groups that were committed last are under way.
template <int groups> __device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(groups) : "memory");
}
// What was found by products that have ended isn't read before.
__device__ __forceinline__ void settled(float& sum) { asm volatile("" : "+f"(sum) :: "memory"); }
"""

WITHOUT_WARPGROUPS = """
__device__ __forceinline__ void show_copies() {}
__device__ __forceinline__ void order_products() {}
__device__ __forceinline__ void commit_products() {}
template <int groups> __device__ __forceinline__ void wait_for_products() {}
__device__ __forceinline__ void settled(float&) {}
"""
"""The same, where there is nothing to wait for."""
