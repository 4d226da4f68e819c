"""Attention of few queries over many keys, by the kernel compiled for this machine's processor."""

import ctypes
import subprocess
from collections.abc import Sequence
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import QuantisedCache
from benanza_runner.cuda.elements import FLOAT8
from benanza_runner.cuda.kernels.source.cached_rows import line_bytes
from benanza_runner.cuda.kernels.source.scores import Scoring
from benanza_runner.cuda.kernels.source.split_attention import WARPS, source
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.kernels.source.tensor_cores import LOADS, instructions
from tests.runner.cuda.in_numpy.attention import numbers
from tests.runner.cuda.kernels.source.coroutines import (
    COROUTINES,
    HALVES,
    LOADS_ON_THE_CPU,
    NUMBERS,
    RUNNING,
)

pytestmark = [pytest.mark.integration, pytest.mark.needs_program("c++")]

THREADS = 32 * WARPS

_START = """
alignas(64) char memory[SHARED];
static void* operands[4];
static float* scales[2];
static float* parts;
static unsigned arrived[64], n[8];
static long long steps[16];
static void call() {
  attend((T*)operands[0], (C*)operands[1], (C*)operands[2], 0, 0, 0, 0, scales[0], scales[1],
         (T*)operands[3], parts, arrived, 1 / sqrtf(SIZE), 0, 0, 0, n[0], n[1], n[2], n[3], n[4], n[5], n[6], 0,
         steps[0], steps[1], steps[2], steps[3], steps[4], steps[5], steps[6], steps[7], steps[8],
         0, 0, 0, 0, steps[9], steps[10], steps[11], 1);
}
static void run_blocks(int across, int down);
extern "C" void start(void** given, float** given_scales, float* of_parts, const unsigned* numbers,
                      const long long* given_steps, int blocks) {
  memcpy(operands, given, sizeof operands);
  memcpy(scales, given_scales, sizeof scales);
  memcpy(n, numbers, sizeof n);
  memcpy(steps, given_steps, sizeof steps);
  parts = of_parts;
  run_blocks(blocks, 1);
}
"""


def ran(
    query: Array,
    caches: Sequence[Array],
    scales: Sequence[Array],
    splits: int,
    scoring: Scoring,
    late: bool,
    folder: Path,
) -> Array:
    """The results in float16, as the queries lie: by batch, head, row and column."""
    batch, heads, queries, size = query.shape
    _, key_heads, keys, row = caches[0].shape
    stages = 3
    text = source("fp16", size, stages, scoring)
    for part in (PREAMBLE["fp16"], instructions("fp16"), LOADS):
        assert part in text
        text = text.replace(part, "")
    text = text.replace("extern __shared__ __align__(16) char memory[];", "extern char memory[];")
    text = text.replace("__shared__", "static").replace("#pragma unroll", "//")
    line = line_bytes(row * caches[0].itemsize)
    defined = {
        "HALF": 1,
        "MANY": THREADS,
        "LATE": int(late),
        "MOST_COPIES": stages * 2 * size // 8 * 16 // 32 + 8,
        "SHARED": max(stages * 2 * 16 * line * WARPS, 4 * WARPS * 16 * size),
    }
    head = "".join(f"#define {name} {number}\n" for name, number in defined.items())
    parts_of = (head, COROUTINES, NUMBERS, HALVES, LOADS_ON_THE_CPU)
    (folder / "split.cpp").write_text("".join((*parts_of, text, _START, RUNNING)), encoding="utf-8")
    command = "c++ -O1 -std=c++17 -w -shared -fPIC -o split.so split.cpp".split()
    subprocess.run(command, check=True, cwd=folder)
    group = heads // key_heads
    wholes = batch * key_heads * -(-queries * group // 16)
    result = np.full_like(query, np.nan)
    scratch = np.full((wholes * splits, 16 * (size + 2)), np.nan, np.float32)
    operands = [array.ctypes.data for array in (query, *caches, result)]
    numbers = key_heads, group, queries, keys, splits, -(-keys // splits), keys - queries, 0
    of_query = heads * queries * size, queries * size, size
    of_key = key_heads * keys * row, keys * row, row
    steps = *of_query, *of_key, *of_key, *of_query, 0, 0, 0, 0
    ctypes.CDLL(str(folder / "split.so")).start(
        (ctypes.c_void_p * 4)(*operands),
        (ctypes.c_void_p * 2)(*(array.ctypes.data for array in scales)),
        ctypes.c_void_p(scratch.ctypes.data),
        (ctypes.c_uint * 8)(*numbers),
        (ctypes.c_longlong * 16)(*steps),
        wholes * splits,
    )
    return result


def expected(query: Array, key: Array, value: Array, causal: bool) -> Array:
    group = query.shape[1] // key.shape[1]
    wide = [np.repeat(each.astype(np.float64), group, 1) for each in (key, value)]
    queries, keys, size = query.shape[2], key.shape[2], query.shape[3]
    scores = query.astype(np.float64) @ wide[0].transpose(0, 1, 3, 2) / sqrt(size)
    if causal:
        seen = np.arange(keys) <= np.arange(queries)[:, None] + keys - queries
        scores = np.where(seen, scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    found: Array = shares / shares.sum(-1, keepdims=True) @ wide[1]
    return found


def drawn(*sizes: int) -> Array:
    return np.random.default_rng(sum(sizes)).uniform(-1, 1, sizes).astype(np.float16)


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
@pytest.mark.parametrize("late", [False, True])
def test_it_is_attention(
    shape: tuple[int, ...], splits: int, causal: bool, late: bool, tmp_path: Path
) -> None:
    batch, key_heads, group, queries, size, keys = shape
    query = drawn(batch, key_heads * group, queries, size)
    key, value = drawn(batch, key_heads, keys, size), drawn(batch, key_heads, size, keys)
    value = np.ascontiguousarray(value.swapaxes(2, 3))
    scoring, unscaled = Scoring(causal=causal), [np.ones(1, np.float32)] * 2
    found = ran(query, (key, value), unscaled, splits, scoring, late, tmp_path)
    np.testing.assert_allclose(
        found.astype(np.float64), expected(query, key, value, causal), atol=1e-3
    )


@pytest.mark.parametrize(
    ("stored", "shape", "splits"),
    [
        (QuantisedCache("int8"), (2, 1, 4, 1, 64, 2 * 64 - 5), 1),
        (QuantisedCache("int8", True, True), (1, 2, 3, 5, 128, 3 * 64 + 21), 3),
        (QuantisedCache(FLOAT8, True, False), (1, 2, 4, 1, 64, 3 * 64 + 21), 2),
        (QuantisedCache(FLOAT8), (1, 1, 4, 3, 96, 64), 1),
        (QuantisedCache("int4", False, True), (1, 2, 4, 1, 64, 3 * 64 + 21), 2),
        (QuantisedCache("int4", True, True), (1, 1, 2, 2, 128, 64), 1),
    ],
)
def test_codes_become_numbers(
    stored: QuantisedCache, shape: tuple[int, ...], splits: int, tmp_path: Path
) -> None:
    batch, key_heads, group, queries, size, keys = shape
    random = np.random.default_rng(9)
    query = drawn(batch, key_heads * group, queries, size)
    bits = random.integers(0, 256, (2, batch, key_heads, keys, size // stored.per_byte), np.uint8)
    if stored.element == FLOAT8:
        bits[bits & 0x7F == 0x7F] = 0  # no NaN
    size_of_codes = {"int8": 100, FLOAT8: 400, "int4": 8}[stored.element]
    scales = random.uniform(0.3, 1, (2, key_heads, 1, size)).astype(np.float32) / size_of_codes
    for of_cache, by_channel in zip(
        scales, (stored.keys_by_channel, stored.values_by_channel), strict=True
    ):
        of_cache[:] = of_cache if by_channel else of_cache[0, 0, 0]
    found = ran(query, bits, scales, splits, Scoring(stored=stored), True, tmp_path)
    key, value = (numbers(stored, codes) * of for codes, of in zip(bits, scales, strict=True))
    np.testing.assert_allclose(
        found.astype(np.float64), expected(query, key, value, False), atol=1e-3
    )
