"""Attention of few queries over many keys, by the kernel compiled for this machine's processor."""

import ctypes
from collections.abc import Mapping
from math import prod, sqrt
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Attention, Pages, QuantisedCache
from benanza_runner.cuda.elements import FLOAT8
from benanza_runner.cuda.kernels.source.attention.cached_rows import line_bytes
from benanza_runner.cuda.kernels.source.attention.scores import scoring_of
from benanza_runner.cuda.kernels.source.attention.split_attention import (
    KEYS,
    PADDING,
    WARPS,
    source,
)
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.kernels.source.tensor_cores import LOADS, instructions
from tests.runner.cuda.in_numpy.attention import attention
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

OPERANDS = ("query", "key", "value", "key_scales", "value_scales", "ends", "past", "table")

_START = """
alignas(64) char memory[SHARED];
static void *operands[8], *result;
static float* parts;
static unsigned arrived[64], n[10];
static long long steps[13];
#if PAGED
#define LENGTHS (int*)operands[5], (int*)operands[6], (int*)operands[7], n[8], n[9],
#else
#define LENGTHS
#endif
static void call() {
  attend((T*)operands[0], (C*)operands[1], (C*)operands[2], 0, 0, 0, 0, (float*)operands[3],
         (float*)operands[4], (T*)result, LENGTHS parts, arrived, 1 / sqrtf(SIZE), 0, 0, 0,
         n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7],
         steps[0], steps[1], steps[2], steps[3], steps[4], steps[5], steps[6], steps[7], steps[8],
         0, 0, 0, 0, steps[9], steps[10], steps[11], steps[12]);
}
static void run_blocks(int across, int down);
extern "C" void start(void** given, void* given_result, float* of_parts, const unsigned* numbers,
                      const long long* given_steps, int blocks) {
  memcpy(operands, given, sizeof operands);
  memcpy(n, numbers, sizeof n);
  memcpy(steps, given_steps, sizeof steps);
  parts = of_parts;
  result = given_result;
  run_blocks(blocks, 1);
}
"""


def ran(
    call: Attention, operands: Mapping[str, Array], splits: int, late: bool, folder: Path
) -> Array:
    """The results in float16. Operands are float16 or codes."""
    stages = 3
    text = source("fp16", call.size, stages, scoring_of(call, ""))
    for part in (PREAMBLE["fp16"], instructions("fp16"), LOADS):
        assert part in text
        text = text.replace(part, "")
    text = text.replace("extern __shared__ __align__(16) char memory[];", "extern char memory[];")
    text = text.replace("__shared__", "static").replace("#pragma unroll", "//")
    row = call.size // call.stored.per_byte if call.stored else 2 * call.size
    defined = {
        "HALF": 1,
        "MANY": THREADS,
        "MOST_COPIES": stages * 2 * row // 16 * 16 // 32 + 8,
        "SHARED": max(
            stages * 2 * 16 * line_bytes(row) * WARPS, 4 * WARPS * 16 * (call.size + PADDING)
        ),
    }
    head = "".join(f"#define {name} {number}\n" for name, number in defined.items())
    parts_of = (head, COROUTINES, NUMBERS, HALVES, LOADS_ON_THE_CPU)
    whole = "".join((*parts_of, text, _START, RUNNING))
    group = call.heads // call.key_heads
    wholes = call.batch * call.key_heads * -(-call.queries * group // 16)
    per_split = -(-call.keys // splits)
    if call.pages:
        per_split = -(-per_split // KEYS) * KEYS
    result = np.full(prod(call.output), np.nan, np.float16)
    scratch = np.full((wholes * splits, 16 * (call.size + 2)), np.nan, np.float32)
    in_order = [operands.get(name, operands["query"]).ctypes.data for name in OPERANDS]
    pages = (call.pages.width, call.pages.block) if call.pages else (0, 0)
    lengths = call.queries, call.keys, splits, per_split, call.before, call.window
    steps = call.query_steps[:3], call.key_steps[:3], call.value_steps[:3], call.output_steps
    compiled(whole, folder, late=late).start(
        (ctypes.c_void_p * 8)(*in_order),
        ctypes.c_void_p(result.ctypes.data),
        ctypes.c_void_p(scratch.ctypes.data),
        (ctypes.c_uint * 10)(call.key_heads, group, *lengths, *pages),
        (ctypes.c_longlong * 13)(*(step for of_operand in steps for step in of_operand)),
        wholes * splits,
    )
    return result.reshape(call.output)


def check(call: Attention, operands: Mapping[str, Array], splits: int, folder: Path) -> None:
    wide = {n: a.astype(np.float64) if a.dtype == np.float16 else a for n, a in operands.items()}
    expected = attention(call, wide)
    for late in (False, True):
        found = ran(call, operands, splits, late, folder).astype(np.float64)
        np.testing.assert_allclose(found, expected, atol=1e-3)


def call_of(shape: tuple[int, ...], causal: bool = False, per_byte: int = 1) -> Attention:
    """The call for a batch, heads of keys, heads of queries for each, queries, size, and keys."""
    batch, key_heads, group, queries, size, keys = shape
    heads, row = key_heads * group, size // per_byte
    of_query = heads * queries * size, queries * size, size, 1
    of_key = key_heads * keys * row, keys * row, row, 1
    return Attention(
        output=(batch, heads, queries, size),
        batch=batch,
        heads=heads,
        key_heads=key_heads,
        value_heads=key_heads,
        queries=queries,
        keys=keys,
        size=size,
        width=size,
        query_steps=of_query,
        key_steps=of_key,
        value_steps=of_key,
        output_steps=of_query,
        scale=1 / sqrt(size),
        causal=causal,
        before=keys - queries if causal else 0,
    )


def drawn(seed: int, *sizes: int) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, sizes).astype(np.float16)


@pytest.mark.parametrize(
    ("shape", "splits", "causal"),
    [
        ((2, 2, 4, 1, 64, 4 * 64 - 5), 1, False),
        ((1, 1, 4, 1, 256, 10 * 64 - 9), 10, False),
        ((1, 2, 3, 5, 128, 3 * 64 + 21), 3, True),
        ((2, 1, 20, 1, 64, 2 * 64 + 40), 2, False),
        ((1, 2, 1, 99, 32, 99), 1, False),
    ],
)
def test_it_is_attention(shape: tuple[int, ...], splits: int, causal: bool, tmp_path: Path) -> None:
    batch, key_heads, group, queries, size, keys = shape
    operands = {
        "query": drawn(1, batch, key_heads * group, queries, size),
        "key": drawn(2, batch, key_heads, keys, size),
        "value": drawn(3, batch, key_heads, keys, size),
    }
    check(call_of(shape, causal), operands, splits, tmp_path)


def codes(stored: QuantisedCache, key_heads: int, size: int, *cache: int) -> dict[str, Array]:
    """Random keys and values, and their scales, which make numbers up to one."""
    random = np.random.default_rng(9)
    bits = random.integers(0, 256, (2, *cache), np.uint8)
    if stored.element == FLOAT8:
        bits[bits & 0x7F == 0x7F] = 0  # no NaN
    largest = {"int8": 128, FLOAT8: 448, "int4": 8}[stored.element]
    by_channel = stored.keys_by_channel, stored.values_by_channel
    scales = [
        random.uniform(0.3, 1, key_heads * size if each else 1).astype(np.float32) / largest
        for each in by_channel
    ]
    names = ("key", "value", "key_scales", "value_scales")
    return dict(zip(names, (*bits, *scales), strict=True))


STORED = [
    QuantisedCache("int8"),
    QuantisedCache("int8", keys_by_channel=True, values_by_channel=True),
    QuantisedCache(FLOAT8, keys_by_channel=True),
    QuantisedCache("int4", values_by_channel=True),
]


@pytest.mark.parametrize(
    ("stored", "shape", "splits"),
    [
        (STORED[0], (2, 1, 4, 1, 64, 2 * 64 - 5), 1),
        (STORED[1], (1, 2, 3, 5, 128, 3 * 64 + 21), 3),
        (STORED[2], (1, 2, 4, 3, 96, 3 * 64 + 21), 2),
        (STORED[3], (1, 2, 4, 1, 64, 3 * 64 + 21), 2),
        (STORED[3], (1, 1, 2, 2, 128, 64), 1),
    ],
)
def test_codes_become_numbers(
    stored: QuantisedCache, shape: tuple[int, ...], splits: int, tmp_path: Path
) -> None:
    batch, key_heads, group, queries, size, keys = shape
    call = replace(call_of(shape, per_byte=stored.per_byte), stored=stored)
    operands = codes(stored, key_heads, size, batch, key_heads, keys, size // stored.per_byte)
    operands["query"] = drawn(1, batch, key_heads * group, queries, size)
    check(call, operands, splits, tmp_path)


@pytest.mark.parametrize(
    ("stored", "window", "splits"), [(None, 0, 1), (None, 40, 2), (STORED[1], 0, 3)]
)
def test_sequences_of_different_lengths_have_keys_in_blocks(
    stored: QuantisedCache | None, window: int, splits: int, tmp_path: Path
) -> None:
    new, past = np.array([1, 7, 0, 3]), np.array([200, 0, 90, 45])
    size, key_heads, block, blocks, width = 64, 2, 32, 20, 8
    tokens, heads = int(new.sum()), 3 * key_heads
    row = size // (stored.per_byte if stored else 1)
    in_cache = 0, row, key_heads * row, 1
    call = replace(
        call_of((4, key_heads, 3, int(new.max()), size, int((past + new).max()))),
        output=(tokens, heads * size),
        query_steps=(0, size, heads * size, 1),
        key_steps=in_cache,
        value_steps=in_cache,
        output_steps=(0, size, heads * size, 1),
        causal=True,
        window=window,
        stored=stored,
        pages=Pages(tokens, block, width),
    )
    table = np.zeros((4, width), np.int32)
    table.reshape(-1)[:blocks] = np.random.default_rng(3).permutation(blocks)
    table[3, :2] = table[2, 4:6]  # The third has its keys in three blocks.
    cache = (blocks, block, key_heads, row)
    kept = codes(stored, key_heads, size, *cache) if stored else {}
    operands = {
        "query": drawn(1, tokens, heads, size),
        "key": drawn(2, *cache),
        "value": drawn(3, *cache),
        "ends": np.concatenate(([0], new.cumsum())).astype(np.int32),
        "past": past.astype(np.int32),
        "table": table,
        **kept,
    }
    check(call, operands, splits, tmp_path)
