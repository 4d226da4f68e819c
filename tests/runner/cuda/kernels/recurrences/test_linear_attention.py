"""Linear attention by the kernel compiled for this machine's processor, as NumPy computes it."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.cuda.calls import LinearAttention
from benanza_runner.cuda.kernels.recurrences.linear_attention_source import source
from benanza_runner.cuda.kernels.recurrences.tiles import StateTile, tiles
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.onnx_layers.precision import retyped
from tests.runner.cuda.in_numpy.recurrent import linear_attention
from tests.runner.cuda.kernels.source.coroutines import COROUTINES, NUMBERS, RUNNING
from tests.runner.cuda.kernels.source.on_the_cpu import aligned
from tests.runner.cuda.layers.states import LINEAR

pytestmark = [pytest.mark.integration, pytest.mark.needs_program("c++")]

NAMES = ("query", "key", "value", "past", "decay", "beta")

EVERY_TILE = ("linear attention of a token", "linear attention, delta")

_START = """
static char memory[1];
static float* given[8];
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


def _compiled(call: LinearAttention, tile: StateTile, folder: Path) -> ctypes.CDLL:
    text = source("fp32", call, tile).replace("__shared__", "static")
    macros = f"#define MANY {tile.threads}\n#define MOST_COPIES 1\n#define LATE 0\n"
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
