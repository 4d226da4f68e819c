"""Attention to vectors that are keys and values, by the kernel compiled for this processor."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.kernels.latent.source import WARPS, Shape, shared_bytes, source
from benanza_runner.cuda.kernels.source.attention.scores import Scoring
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.kernels.source.tensor_cores import LOADS, instructions
from tests.runner.cuda.kernels.source.coroutines import (
    COROUTINES,
    HALVES,
    LOADS_ON_THE_CPU,
    NUMBERS,
    RUNNING,
)

pytestmark = [pytest.mark.integration, pytest.mark.needs_program("c++")]

SCALE = 0.125

_START = """
alignas(64) T memory[SHARED / sizeof(T)];
static T* operands[4];
static float* parts;
static unsigned arrived[64], n[7];
static long long steps[9];
static void call() {
  attend(operands[0], operands[1], 0, operands[2], operands[3], parts, arrived, SCALE, 0, 0, 0,
         n[0], n[1], n[2], n[3], n[4], n[5], n[6], 0, steps[0], steps[1], steps[2], steps[3],
         steps[4], steps[5], 0, 0, 0, 0, steps[6], steps[7], steps[8], 1);
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
    query: Array, kept: Array, sinks: Array, width: int, shape: Shape, how: Scoring,
    splits: int, late: bool, folder: Path,
) -> Array:  # fmt: skip
    """The results in float16, by batch, head, row and column; of queries that lie so, too, and of
    vectors by batch and place.
    """
    batch, heads, queries, size = query.shape
    keys = kept.shape[1]
    text = source("fp16", size, width, shape, how)
    for part in (PREAMBLE["fp16"], instructions("fp16"), LOADS):
        assert part in text
        text = text.replace(part, "")
    text = text.replace("extern __shared__ __align__(16) T memory[];", "extern T memory[];")
    text = text.replace("__shared__", "static").replace("#pragma unroll", "//")
    threads = 32 * WARPS
    defined = {
        "HALF": 1,
        "MANY": threads,
        "LATE": int(late),
        "MOST_COPIES": (shape.rows + shape.stages * shape.keys) * size // 8 // threads + 16,
        "SHARED": shared_bytes(size, shape),
        "SCALE": f"{SCALE}f",
    }
    head = "".join(f"#define {name} {number}\n" for name, number in defined.items())
    parts_of = (head, COROUTINES, NUMBERS, HALVES, LOADS_ON_THE_CPU)
    written = "".join((*parts_of, text, _START, RUNNING))
    (folder / "latent.cpp").write_text(written, encoding="utf-8")
    command = "c++ -O1 -std=c++17 -w -shared -fPIC -o latent.so latent.cpp".split()
    subprocess.run(command, check=True, cwd=folder)
    wholes = batch * -(-queries * heads // shape.rows)
    result = np.full((batch, heads, queries, width), np.nan, np.float16)
    scratch = np.full((wholes * splits, shape.rows * (width + 2)), np.nan, np.float32)
    operands = [array.ctypes.data for array in (query, kept, sinks, result)]
    numbers = 1, heads, queries, keys, splits, -(-keys // splits), keys - queries
    of_query = heads * queries * size, queries * size, size
    of_result = heads * queries * width, queries * width, width
    ctypes.CDLL(str(folder / "latent.so")).start(
        (ctypes.c_void_p * 4)(*operands),
        ctypes.c_void_p(scratch.ctypes.data),
        (ctypes.c_uint * 7)(*numbers),
        (ctypes.c_longlong * 9)(*of_query, keys * size, 0, size, *of_result),
        wholes * splits,
    )
    return result


@pytest.mark.parametrize(
    ("sizes", "shape", "splits", "how"),
    [
        # Batch, heads, queries, size, width, and keys.
        ((2, 16, 1, 160, 128, 75), Shape(16, 32, 2), 1, Scoring()),
        ((1, 16, 1, 576, 512, 300), Shape(16, 64, 2), 3, Scoring()),
        ((2, 5, 2, 160, 128, 140), Shape(16, 32, 4), 2, Scoring(causal=True)),
        ((1, 70, 1, 160, 128, 200), Shape(64, 32, 3), 2, Scoring(sinks=True)),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_it_is_attention(
    sizes: tuple[int, ...], shape: Shape, splits: int, how: Scoring, late: bool, tmp_path: Path
) -> None:
    batch, heads, queries, size, width, keys = sizes
    random = np.random.default_rng(9)

    def drawn(*of: int) -> Array:
        return random.uniform(-1, 1, of).astype(np.float16)

    query, kept, sinks = drawn(batch, heads, queries, size), drawn(batch, keys, size), drawn(heads)
    result = ran(query, kept, sinks, width, shape, how, splits, late, tmp_path)
    vectors = kept.astype(np.float64)[:, None]
    scores = SCALE * query.astype(np.float64) @ vectors.transpose(0, 1, 3, 2)
    if how.causal:
        seen = np.arange(keys) <= np.arange(queries)[:, None] + keys - queries
        scores = np.where(seen, scores, -np.inf)
    shares = np.exp(scores)
    more = np.exp(sinks.astype(np.float64))[:, None, None] if how.sinks else 0
    expected = shares / (shares.sum(-1, keepdims=True) + more) @ vectors[..., :width]
    np.testing.assert_allclose(result.astype(np.float64), expected, atol=1e-3)
