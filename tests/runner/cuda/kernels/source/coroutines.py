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
