"""CUDA's blocks on this machine's processor: threads are coroutines.

One that waits for its warp or its block lets the next one run. Those that have ended are not waited
for.
"""

import ctypes
import hashlib
import subprocess
from pathlib import Path

from tests.runner.cuda.kernels.compiler import COMPILER, LINKED

COROUTINES = """
// Which takes a jump to another stack for an error.
#undef _FORTIFY_SOURCE
#define _XOPEN_SOURCE 700  // contexts
#include <setjmp.h>
#include <string.h>
#include <ucontext.h>
#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __align__(size) alignas(size)
#define __launch_bounds__(threads)
static struct { unsigned x, y; } blockIdx, threadIdx, blockDim;

// The threads of a block: each runs until it waits for others, and then the next one. Contexts
// begin them; to go from one to another by contexts would ask the kernel for signals each time.
static ucontext_t begins[MANY], ended;
static jmp_buf places[MANY];
static bool begun_to_run[MANY], done[MANY];
static void go_on(unsigned next) {
  threadIdx.x = next;
  if (begun_to_run[next]) _longjmp(places[next], 1);
  begun_to_run[next] = true;
  setcontext(begins + next);
}
static void let_others_run() {
  const unsigned mine = threadIdx.x;
  unsigned next = mine;
  do next = (next + 1) % MANY; while (done[next] && next != mine);
  if (next == mine) return;
  if (!_setjmp(places[mine])) go_on(next);
}
// Of each warp, and of the block behind them: how many have not ended, and how many wait.
static unsigned there[MANY / 32 + 1], arrived_at[MANY / 32 + 1], round_of[MANY / 32 + 1];
static void meet(unsigned group) {
  const unsigned mine = round_of[group];
  ++arrived_at[group];
  while (round_of[group] == mine)
    if (arrived_at[group] >= there[group]) {
      arrived_at[group] = 0;
      ++round_of[group];
    } else {
      let_others_run();
    }
}
static void meet_warp() { meet(threadIdx.x / 32); }
#define __syncthreads() meet(MANY / 32)
#define __syncwarp() meet_warp()
static unsigned exchanged[MANY];
template <typename V> static V __shfl_xor_sync(unsigned, V v, int step) {
  memcpy(exchanged + threadIdx.x, &v, 4);
  meet_warp();
  V found;
  memcpy(&found, exchanged + (threadIdx.x ^ step), 4);
  meet_warp();
  return found;
}
static unsigned __ballot_sync(unsigned, bool v) {
  exchanged[threadIdx.x] = v;
  meet_warp();
  unsigned all = 0;
  for (unsigned i = 0; i < 32; ++i) all |= exchanged[threadIdx.x / 32 * 32 + i] << i;
  meet_warp();
  return all;
}

// Copies are made at once, or as late as they may be.
extern "C" { bool late; }
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
  if (late) copies[mine][begun[mine]++] = one; else make(one);
}
static void copy_if(bool now, void* to, const void* from, bool there) {
  if (now) copy(to, from, there);
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
"""`MANY` threads, each with at most `MOST_COPIES` under way."""

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
static int __popc(unsigned v) { return __builtin_popcount(v); }
static unsigned __byte_perm(unsigned x, unsigned y, unsigned which) {
  const unsigned long long both = (unsigned long long)y << 32 | x;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) r |= (unsigned)(both >> (which >> 4 * i & 7) * 8 & 255) << 8 * i;
  return r;
}
#define __threadfence()
#define __ldcg(p) (*(p))
#define __ldg(p) (*(p))
#define __expf expf
"""
"""Types and functions of CUDA."""

LOADS_ON_THE_CPU = """
static const char* rows_at[MANY];
static void four(unsigned* r, const void* p) {
  rows_at[threadIdx.x] = (const char*)p;
  meet_warp();
  const unsigned warp = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i) memcpy(r + i, rows_at[warp + i * 8 + lane / 4] + lane % 4 * 4, 4);
  meet_warp();
}
static void four_turned(unsigned* r, const void* p) {
  rows_at[threadIdx.x] = (const char*)p;
  meet_warp();
  const unsigned warp = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j)
      memcpy((char*)(r + i) + 2 * j, rows_at[warp + i * 8 + lane % 4 * 2 + j] + lane / 4 * 2, 2);
  meet_warp();
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
static unsigned fused(unsigned x, unsigned y, unsigned z) {
  return packed(load(x) * load(y) + load(z), load(x >> 16) * load(y >> 16) + load(z >> 16));
}
static unsigned fragments[MANY][6];
static float element(unsigned thread, int fragment, int k) {
  return load(fragments[thread + k % 8 / 2][fragment + k / 8 * (fragment < 4 ? 2 : 1)]
              >> k % 2 * 16);
}
static void multiply(float* c, const unsigned* a, const unsigned* b) {
  memcpy(fragments[threadIdx.x], a, 16);
  memcpy(fragments[threadIdx.x] + 4, b, 8);
  meet_warp();
  const unsigned warp = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i) {
    const unsigned row = warp + lane / 4 * 4, column = warp + (lane % 4 * 2 + i % 2) * 4;
    for (int k = 0; k < 16; ++k) c[i] += element(row, i / 2, k) * element(column, 4, k);
  }
  meet_warp();
}
"""
"""Floats of 16 bits, fp16 if `HALF` and else bf16, and their product of fragments."""

EIGHT_BITS = """
static Sum number(unsigned char bits, bool is_signed) {
#if FLOAT8
  const int exponent = bits >> 3 & 15, mantissa = bits & 7;
  const float v = ldexpf(exponent ? 8 + mantissa : mantissa, (exponent ? exponent : 1) - 10);
  return bits & 128 ? -v : v;
#else
  return is_signed ? (int)(signed char)bits : (int)bits;
#endif
}
"""
"""The number of a byte, of type `Sum`: float8e4m3fn if `FLOAT8`, and else an integer."""

RUNNING = """
static char stacks[MANY][1 << 15];
static void thread() {
  call();
  // Those that wait for this thread may go on; the last thread ends the block.
  done[threadIdx.x] = true;
  --there[threadIdx.x / 32];
  --there[MANY / 32];
  for (unsigned i = 1; i < MANY; ++i) {
    const unsigned next = (threadIdx.x + i) % MANY;
    if (!done[next]) go_on(next);
  }
  setcontext(&ended);
}
static void run_blocks(int across, int down) {
  blockDim.x = MANY;
  for (blockIdx.y = 0; blockIdx.y < down; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < across; ++blockIdx.x) {
      for (int i = 0; i < MANY; ++i) {
        getcontext(begins + i);
        begins[i].uc_stack.ss_sp = stacks[i];
        begins[i].uc_stack.ss_size = sizeof stacks[i];
        makecontext(begins + i, thread, 0);
        begun_to_run[i] = done[i] = false;
        begun[i] = committed[i] = 0;
      }
      for (int i = 0; i <= MANY / 32; ++i) there[i] = i < MANY / 32 ? 32 : MANY;
      memset(arrived_at, 0, sizeof arrived_at);
      memset(memory, 255, sizeof memory);
      threadIdx.x = 0;
      begun_to_run[0] = true;
      swapcontext(&ended, begins);
    }
}
"""
"""Runs `call`, the kernel, in all threads of so many blocks; `memory` is what a block shares."""


def compiled(source: str, folder: Path, *, late: bool) -> ctypes.CDLL:
    """The library of a source, which is compiled once in the folder. Its copies are made late, or
    at once.
    """
    name = hashlib.sha256(source.encode()).hexdigest()[:16]
    library = folder / f"{name}.so"
    if not library.exists():
        written = folder / f"{name}.cpp"
        written.write_text(source, encoding="utf-8")
        subprocess.run([*COMPILER, "-O1", "-o", library, written, *LINKED], check=True)
    loaded = ctypes.CDLL(str(library))
    ctypes.c_bool.in_dll(loaded, "late").value = late
    return loaded
