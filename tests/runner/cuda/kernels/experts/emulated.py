"""Kernels whose threads exchange values, compiled for this machine's processor.

The threads of a block are coroutines: one that waits lets the next one run. The instruction that
multiplies goes by the layouts of its fragments in NVIDIA's PTX ISA.
"""

import ctypes
import hashlib
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from benanza_runner.cuda.kernels.experts.steps import ExpertStep
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.kernels.source.tensor_cores import instructions
from benanza_schemas.layer import Precision

_CUDA = """
#include <math.h>
#include <string.h>
#include <ucontext.h>
#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __align__(size) alignas(size)
#define __launch_bounds__(threads)
#define __ldg(p) (*(p))
struct uint4 { unsigned x, y, z, w; };
static struct { unsigned x, y; } blockIdx, threadIdx, blockDim;
static int min(int a, int b) { return a < b ? a : b; }
static float __uint_as_float(unsigned bits) { float v; memcpy(&v, &bits, 4); return v; }
static float __int_as_float(unsigned bits) { return __uint_as_float(bits); }
static int __popc(unsigned v) { return __builtin_popcount(v); }
static unsigned __byte_perm(unsigned x, unsigned y, unsigned which) {
  const unsigned long long both = (unsigned long long)y << 32 | x;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) r |= (unsigned)(both >> (which >> 4 * i & 7) * 8 & 255) << 8 * i;
  return r;
}
#if BITS_OF_FLOATS == 32
typedef float T;
static float load(T v) { return v; }
static T store(float v) { return v; }
#else
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
#endif

// The threads of a block: each runs until it waits for others, and then the next one.
static ucontext_t threads[MANY], ended;
static bool done[MANY];
static unsigned arrived[MANY / 32 + 1], round_of[MANY / 32 + 1];
static void let_others_run() {
  const unsigned mine = threadIdx.x;
  unsigned next = mine;
  do next = (next + 1) % MANY; while (done[next] && next != mine);
  if (next == mine) return;
  threadIdx.x = next;
  swapcontext(threads + mine, threads + next);
  threadIdx.x = mine;
}
// Those of a warp, or of the block, that have not ended.
static unsigned there(unsigned group) {
  const unsigned first = group < MANY / 32 ? group * 32 : 0;
  const unsigned count = group < MANY / 32 ? 32 : MANY;
  unsigned alive = 0;
  for (unsigned i = first; i < first + count; ++i) alive += !done[i];
  return alive;
}
static void meet(unsigned group) {
  const unsigned mine = round_of[group];
  ++arrived[group];
  while (round_of[group] == mine)
    if (arrived[group] >= there(group)) {
      arrived[group] = 0;
      ++round_of[group];
    } else {
      let_others_run();
    }
}
static void meet_warp() { meet(threadIdx.x / 32); }
#define __syncthreads() meet(MANY / 32)
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

// Copies are made as late as they may be.
struct Copy { void* to; const void* from; unsigned bytes, group; };
static Copy copies[MANY][1 << 10];
static unsigned begun[MANY], committed[MANY];
static void copy(void* to, const void* from, bool there) {
  const unsigned mine = threadIdx.x;
  copies[mine][begun[mine]++] = {to, from, there ? 16u : 0u, committed[mine]};
}
static void commit_copies() { ++committed[threadIdx.x]; }
template <int groups> static void wait_for_copies() {
  const unsigned mine = threadIdx.x, all = begun[mine];
  begun[mine] = 0;
  for (unsigned i = 0; i < all; ++i) {
    const Copy one = copies[mine][i];
    if (one.group + groups < committed[mine]) {
      memset(one.to, 0, 16);
      memcpy(one.to, one.from, one.bytes);
    } else {
      copies[mine][begun[mine]++] = one;
    }
  }
}
#if BITS_OF_FLOATS == 16
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
#endif
"""
"""What CUDA, the preamble of a precision and `instructions` define."""

_START = """
alignas(64) uint4 memory[SHARED / 16 + 1];
static void** given;
static char stacks[MANY][1 << 15];
static void thread() {
  KERNEL(ARGUMENTS);
  // Those that wait for this thread may go on; the last thread ends the block.
  done[threadIdx.x] = true;
  for (unsigned i = 1; i < MANY; ++i) {
    const unsigned next = (threadIdx.x + i) % MANY;
    if (done[next]) continue;
    threadIdx.x = next;
    setcontext(threads + next);
  }
  setcontext(&ended);
}
extern "C" void start(void** arguments, int across, int down) {
  given = arguments;
  blockDim.x = MANY;
  for (blockIdx.y = 0; blockIdx.y < down; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < across; ++blockIdx.x) {
      for (int i = 0; i < MANY; ++i) {
        getcontext(threads + i);
        threads[i].uc_stack.ss_sp = stacks[i];
        threads[i].uc_stack.ss_size = sizeof stacks[i];
        makecontext(threads + i, thread, 0);
        done[i] = false;
        begun[i] = committed[i] = 0;
      }
      memset(arrived, 0, sizeof arrived);
      memset(memory, 255, sizeof memory);
      threadIdx.x = 0;
      swapcontext(&ended, threads);
    }
}
"""


def run(step: ExpertStep, arguments: tuple[Any, ...], precision: Precision, folder: Path) -> None:
    """Runs all blocks of a step's kernel on arrays, addresses and integers."""
    source = step.source
    for part in (PREAMBLE[precision], instructions(precision) if precision in _HALF else ""):
        source = source.replace(part, "") if part else source
    for mark, instead in (
        ("extern __shared__", "extern"),
        ("__shared__", "static"),
        ("#pragma unroll", "//"),
    ):
        source = source.replace(mark, instead)
    found = re.search(rf"{step.name}\(([^)]*)\)", source)
    assert found, f"there is a kernel {step.name}"
    parameters = [each.rpartition(" ")[0] for each in found[1].replace("\n", " ").split(", ")]
    defined = {
        "BITS_OF_FLOATS": 16 if precision in _HALF else 32,
        "HALF": _HALF.get(precision, 0),
        "MANY": step.threads,
        "SHARED": step.shared,
        "KERNEL": step.name,
        "ARGUMENTS": ", ".join(
            f"({kind})given[{place}]" if "*" in kind else f"*(int*)given[{place}]"
            for place, kind in enumerate(parameters)
        ),
    }
    head = "".join(f"#define {name} {value}\n" for name, value in defined.items())
    whole = head + _CUDA + source + _START
    name = hashlib.sha256(whole.encode()).hexdigest()[:16]
    if not (folder / f"{name}.so").exists():
        (folder / f"{name}.cpp").write_text(whole, encoding="utf-8")
        command = f"c++ -O1 -std=c++17 -w -shared -fPIC -o {name}.so {name}.cpp".split()
        subprocess.run(command, check=True, cwd=folder)
    kept = [each for each in arguments if isinstance(each, np.ndarray)]
    numbers = [ctypes.c_int(int(each)) for each in arguments if isinstance(each, np.int32)]
    pointers = [
        each.ctypes.data if isinstance(each, np.ndarray) else int(each)
        for each in arguments
        if not isinstance(each, np.int32)
    ] + [ctypes.addressof(each) for each in numbers]
    assert len(pointers) == len(parameters), "numbers are the last"
    started = ctypes.CDLL(str(folder / f"{name}.so")).start
    started((ctypes.c_void_p * len(pointers))(*pointers), *map(ctypes.c_int, step.grid))
    del kept


_HALF: dict[Precision, int] = {"fp16": 1, "bf16": 0}
