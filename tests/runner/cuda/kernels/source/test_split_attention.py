"""Attention of few queries over many keys, by the kernel compiled for this machine's processor."""

import ctypes
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.kernels.source.scores import Scoring
from benanza_runner.cuda.kernels.source.split_attention import WARPS, source
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.kernels.source.tensor_cores import LOADS, instructions
from tests.runner.cuda.kernels.source.coroutines import (
    COROUTINES,
    HALVES,
    LOADS_ON_THE_CPU,
    NUMBERS,
    RUNNING,
    compiled,
)

pytestmark = [pytest.mark.integration, pytest.mark.needs_program("c++")]

THREADS = 32 * WARPS

_START = """
alignas(64) T memory[SHARED / sizeof(T)];
static T* operands[4];
static float* parts;
static unsigned arrived[64], n[8];
static long long steps[16];
static void call() {
  attend(operands[0], operands[1], operands[2], 0, 0, 0, 0, operands[3], parts, arrived,
         1 / sqrtf(SIZE), 0, 0, 0, n[0], n[1], n[2], n[3], n[4], n[5], n[6], 0,
         steps[0], steps[1], steps[2], steps[3], steps[4], steps[5], steps[6], steps[7], steps[8],
         0, 0, 0, 0, steps[9], steps[10], steps[11], 1);
}
static void run_blocks(int across, int down);
extern "C" void start(void** given, float* of_parts, const unsigned* numbers,
                      const long long* given_steps, int blocks) {
  memcpy(operands, given, sizeof operands);
  memcpy(n, numbers, sizeof n);
  memcpy(steps, given_steps, sizeof steps);
  parts = of_parts;
  run_blocks(blocks, 1);
}
"""


def ran(
    query: Array, key: Array, value: Array, splits: int, causal: bool, late: bool, folder: Path
) -> Array:
    """The results in float16, as the queries lie: by batch, head, row and column."""
    batch, heads, queries, size = query.shape
    _, key_heads, keys, _ = key.shape
    stages = 3
    text = source("fp16", size, stages, Scoring(causal=causal))
    for part in (PREAMBLE["fp16"], instructions("fp16"), LOADS):
        assert part in text
        text = text.replace(part, "")
    text = text.replace("extern __shared__ __align__(16) T memory[];", "extern T memory[];")
    text = text.replace("__shared__", "static").replace("#pragma unroll", "//")
    line = 2 * (size + 16)
    defined = {
        "HALF": 1,
        "MANY": THREADS,
        "MOST_COPIES": stages * 2 * size // 8 * 16 // 32 + 8,
        "SHARED": max(stages * 2 * 16 * line * WARPS, 4 * WARPS * 16 * size),
    }
    head = "".join(f"#define {name} {number}\n" for name, number in defined.items())
    parts_of = (head, COROUTINES, NUMBERS, HALVES, LOADS_ON_THE_CPU)
    whole = "".join((*parts_of, text, _START, RUNNING))
    group = heads // key_heads
    wholes = batch * key_heads * -(-queries * group // 16)
    result = np.full_like(query, np.nan)
    scratch = np.full((wholes * splits, 16 * (size + 2)), np.nan, np.float32)
    operands = [array.ctypes.data for array in (query, key, value, result)]
    numbers = key_heads, group, queries, keys, splits, -(-keys // splits), keys - queries, 0
    of_query = heads * queries * size, queries * size, size
    of_key = key_heads * keys * size, keys * size, size
    steps = *of_query, *of_key, *of_key, *of_query, 0, 0, 0, 0
    compiled(whole, folder, late=late).start(
        (ctypes.c_void_p * 4)(*operands),
        ctypes.c_void_p(scratch.ctypes.data),
        (ctypes.c_uint * 8)(*numbers),
        (ctypes.c_longlong * 16)(*steps),
        wholes * splits,
    )
    return result


@pytest.mark.parametrize(
    ("shape", "splits", "causal"),
    [
        # Batch, heads of keys, heads of queries for each, queries, size, and keys.
        ((2, 2, 4, 1, 64, 4 * 64 - 5), 1, False),
        ((1, 1, 4, 1, 256, 10 * 64 - 9), 10, False),
        ((1, 2, 3, 5, 128, 3 * 64 + 21), 3, True),
        ((2, 1, 20, 1, 64, 2 * 64 + 40), 2, False),
    ],
)
def test_it_is_attention(shape: tuple[int, ...], splits: int, causal: bool, tmp_path: Path) -> None:
    batch, key_heads, group, queries, size, keys = shape
    random = np.random.default_rng(9)

    def drawn(*sizes: int) -> Array:
        return random.uniform(-1, 1, sizes).astype(np.float16)

    query = drawn(batch, key_heads * group, queries, size)
    key, value = drawn(batch, key_heads, keys, size), drawn(batch, key_heads, keys, size)
    wide = [np.repeat(each.astype(np.float64), group, 1) for each in (key, value)]
    scores = query.astype(np.float64) @ wide[0].transpose(0, 1, 3, 2) / sqrt(size)
    if causal:
        seen = np.arange(keys) <= np.arange(queries)[:, None] + keys - queries
        scores = np.where(seen, scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    expected = shares / shares.sum(-1, keepdims=True) @ wide[1]
    for late in (False, True):
        found = ran(query, key, value, splits, causal, late, tmp_path).astype(np.float64)
        np.testing.assert_allclose(found, expected, atol=1e-3)
