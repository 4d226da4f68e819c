"""CUDA's blocks on this machine's processor: threads are coroutines that run up to each exchange.

All threads of a block wait equally often, so that one who waits finds all others where it is.
"""

COROUTINES = """
#include <string.h>
#include <ucontext.h>
#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __align__(size) alignas(size)
#define __launch_bounds__(threads)
#define __syncwarp()
static struct { unsigned x; } blockIdx, threadIdx;

// The threads of a block: each runs until it waits, and then the next one.
static ucontext_t threads[MANY], ended;
static void wait() {
  const unsigned mine = threadIdx.x;
  threadIdx.x = (mine + 1) % MANY;
  swapcontext(threads + mine, threads + threadIdx.x);
}
#define __syncthreads() wait()

// Copies are made at once, or as late as they may be.
struct Copy { void* to; const void* from; unsigned bytes, group; };
static Copy copies[MANY][MOST_COPIES];
static unsigned begun[MANY], committed[MANY];
static void make(Copy c) {
  memset(c.to, 0, 16);
  memcpy(c.to, c.from, c.bytes);
}
static void copy(void* to, const void* from, bool there) {
  const unsigned mine = threadIdx.x;
  const Copy one = {to, from, there ? 16u : 0u, committed[mine]};
  if (LATE) copies[mine][begun[mine]++] = one; else make(one);
}
static void commit_copies() { ++committed[threadIdx.x]; }
template <int groups> static void wait_for_copies() {
  const unsigned mine = threadIdx.x, all = begun[mine];
  begun[mine] = 0;
  for (unsigned i = 0; i < all; ++i)
    if (copies[mine][i].group + groups < committed[mine]) make(copies[mine][i]);
    else copies[mine][begun[mine]++] = copies[mine][i];
}
"""
"""`MANY` threads, each with at most `MOST_COPIES` under way, which are made late if `LATE`."""

NUMBERS = """
#include <math.h>
struct uint4 { unsigned x, y, z, w; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) int4 { int x, y, z, w; };
static int min(int a, int b) { return a < b ? a : b; }
static unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static unsigned atomicAdd(unsigned* p, unsigned by) { return (*p += by) - by; }
static int __float_as_int(float v) { int bits; memcpy(&bits, &v, 4); return bits; }
static float __int_as_float(int bits) { float v; memcpy(&v, &bits, 4); return v; }
static float __uint_as_float(unsigned bits) { return __int_as_float((int)bits); }
#define __threadfence()
#define __ldcg(p) (*(p))
#define __expf expf
"""
"""Types and functions of CUDA."""

LOADS_ON_THE_CPU = """
static const char* rows_at[MANY];
static void four(unsigned* r, const void* p) {
  rows_at[threadIdx.x] = (const char*)p;
  wait();
  const unsigned warp = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i) memcpy(r + i, rows_at[warp + i * 8 + lane / 4] + lane % 4 * 4, 4);
  wait();
}
static void four_turned(unsigned* r, const void* p) {
  rows_at[threadIdx.x] = (const char*)p;
  wait();
  const unsigned warp = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j)
      memcpy((char*)(r + i) + 2 * j, rows_at[warp + i * 8 + lane % 4 * 2 + j] + lane / 4 * 2, 2);
  wait();
}
static float exchanged[MANY];
static float __shfl_xor_sync(unsigned, float v, int by) {
  exchanged[threadIdx.x] = v;
  wait();
  const float other = exchanged[threadIdx.x ^ by];
  wait();
  return other;
}
"""
"""What lanes of a warp exchange, by the layouts of `ldmatrix` in NVIDIA's PTX ISA."""

HALVES = """
typedef unsigned short T;
#if HALF
static float load(T v) { _Float16 h; memcpy(&h, &v, 2); return h; }
static T store(float v) { const _Float16 h = v; T r; memcpy(&r, &h, 2); return r; }
#else
static float load(T v) { return __uint_as_float(v << 16); }
static T store(float v) {
  unsigned bits;
  memcpy(&bits, &v, 4);
  return bits + 0x7fff + (bits >> 16 & 1) >> 16;
}
#endif
static unsigned packed(float low, float high) { return (unsigned)store(high) << 16 | store(low); }
static unsigned fragments[MANY][6];
static float element(unsigned thread, int fragment, int k) {
  return load(fragments[thread + k % 8 / 2][fragment + k / 8 * (fragment < 4 ? 2 : 1)]
              >> k % 2 * 16);
}
static void multiply(float* c, const unsigned* a, const unsigned* b) {
  memcpy(fragments[threadIdx.x], a, 16);
  memcpy(fragments[threadIdx.x] + 4, b, 8);
  wait();
  const unsigned warp = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i) {
    const unsigned row = warp + lane / 4 * 4, column = warp + (lane % 4 * 2 + i % 2) * 4;
    for (int k = 0; k < 16; ++k) c[i] += element(row, i / 2, k) * element(column, 4, k);
  }
  wait();
}
"""
"""Floats of 16 bits, fp16 if `HALF` and else bf16, and their product of fragments."""

RUNNING = """
static unsigned finished;
static char stacks[MANY][1 << 14];
static void thread() {
  call();
  // The block's threads end in turn, since the last wait was for all of them.
  if (++finished == MANY) setcontext(&ended);
  ++threadIdx.x;
  setcontext(threads + threadIdx.x);
}
static void run_blocks(int blocks) {
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    for (int i = 0; i < MANY; ++i) {
      getcontext(threads + i);
      threads[i].uc_stack.ss_sp = stacks[i];
      threads[i].uc_stack.ss_size = sizeof stacks[i];
      makecontext(threads + i, thread, 0);
    }
    memset(memory, 255, sizeof memory);
    threadIdx.x = finished = 0;
    swapcontext(&ended, threads);
  }
}
"""
"""Runs `call`, the kernel, in all threads of so many blocks; `memory` is what a block shares."""
