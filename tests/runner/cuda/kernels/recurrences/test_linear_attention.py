"""Linear attention by the kernel compiled for this machine's processor, as NumPy computes it."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import LinearAttention
from benanza_runner.cuda.kernels.recurrences.linear_attention_source import source
from benanza_runner.cuda.kernels.recurrences.tiles import StateTile, tiles
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.onnx_layers.precision import retyped
from benanza_schemas.layer import Precision
from tests.runner.cuda.in_numpy.recurrent import linear_attention
from tests.runner.cuda.kernels.source.coroutines import COROUTINES, HALVES, NUMBERS, RUNNING
from tests.runner.cuda.kernels.source.on_the_cpu import aligned
from tests.runner.cuda.layers.states import LINEAR

pytestmark = [pytest.mark.integration, pytest.mark.needs_program("c++")]

NAMES = ("query", "key", "value", "past", "decay", "beta")

EVERY_TILE = ("linear attention of a token", "linear attention, delta")

_START = """
static char memory[1];
static T* given[8];
static int length;
static float scale;
static void call() {
  attend(given[0], given[1], given[2], given[3], given[4], given[5], given[6], given[7], length,
         scale);
}
static void run_blocks(int across, int down);
extern "C" void start(void** arrays, int of_length, float of_scale, int blocks) {
  memcpy(given, arrays, sizeof given);
  length = of_length;
  scale = of_scale;
  run_blocks(blocks, 1);
}
"""


@pytest.mark.parametrize("name", list(LINEAR))
def test_states_and_results_are_right(name: str, tmp_path: Path) -> None:
    layer = retyped(LINEAR[name], "fp32")
    call, operands, _ = lower(layer, random_inputs(layer, "fp32"))
    assert isinstance(call, LinearAttention)
    arrays = [aligned(operands.get(n, operands["query"])) for n in NAMES]
    expected = linear_attention(call, operands)
    found = tiles(call, 4)
    for tile in found if name in EVERY_TILE else found[-1:]:
        results = [aligned(np.full(each.shape, np.nan)) for each in expected]
        written = [results[call.results.index(number)] for number in (0, 1)]
        pointers = [each.ctypes.data for each in (*arrays, *written)]
        _compiled(call, tile, tmp_path).start(
            (ctypes.c_void_p * 8)(*pointers),
            call.length,
            ctypes.c_float(call.scale),
            tile.blocks(call),
        )
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, wanted, 1e-4, 1e-5)


@pytest.mark.parametrize("name", ["linear attention of tokens", "linear attention, delta"])
def test_halves_are_read_eight_at_once(name: str, tmp_path: Path) -> None:
    layer = retyped(LINEAR[name], "fp32")
    call, operands, _ = lower(layer, random_inputs(layer, "fp16"))
    assert isinstance(call, LinearAttention)
    halves = [_halves(operands.get(n, operands["query"])) for n in NAMES]
    tile = next(each for each in tiles(call, 8) if each.columns == 8)
    results = [_halves(np.full(shape, np.nan)) for shape in (call.output, call.state)]
    pointers = [each.ctypes.data for each in (*halves, *results)]
    _compiled(call, tile, tmp_path, "fp16").start(
        (ctypes.c_void_p * 8)(*pointers),
        call.length,
        ctypes.c_float(call.scale),
        tile.blocks(call),
    )
    for number, wanted in zip(call.results, linear_attention(call, operands), strict=True):
        np.testing.assert_allclose(results[number].astype(np.float32), wanted, 2e-3, 2e-3)


def _halves(array: Array) -> Array:
    """A copy as float16 that lies in memory as a GPU's allocations do."""
    room = aligned(np.zeros((array.size + 1) // 2)).view(np.float16)[: array.size]
    room[...] = array.reshape(-1)
    return room.reshape(array.shape)


def _compiled(
    call: LinearAttention, tile: StateTile, folder: Path, precision: Precision = "fp32"
) -> ctypes.CDLL:
    text = source(precision, call, tile).replace("__shared__", "static")
    macros = f"#define MANY {tile.threads}\n#define MOST_COPIES 1\n#define LATE 0\n#define HALF 1\n"
    if precision == "fp16":
        text = text.replace(PREAMBLE[precision], HALVES)
    written = folder / f"{tile.lanes}_{tile.columns}.cpp"
    written.write_text(macros + COROUTINES + NUMBERS + text + _START + RUNNING)
    library = written.with_suffix(".so")
    command = [
        "c++",
        "-O1",
        "-w",
        "-std=c++17",
        "-shared",
        "-fPIC",
        "-o",
        str(library),
        str(written),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(library))
