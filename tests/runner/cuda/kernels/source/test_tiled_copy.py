"""Tiles are copied as NumPy would, by the kernel compiled for this machine's processor."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.kernels.source.tiled_copy import NAME, THREADS, TiledCopy, tiled_copy
from tests.runner.cuda.kernels.compiler import COMPILER

_CUDA = """
#define __global__
#define __restrict__
#define __shared__ static
struct Place { unsigned x; };
static Place blockIdx, threadIdx;
static bool loaded;
#define __syncthreads() if (!loaded) return
struct uint4 { unsigned each[4]; };
struct uint2 { unsigned each[2]; };
"""
"""What CUDA defines. All threads of a block load; then all load the same again, and store."""


def ran(copy: TiledCopy, x: Array, result: Array, folder: Path) -> None:
    arguments = [f"{number}{'u' if number.dtype == np.uint32 else 'll'}" for number in copy.numbers]
    pointers = copy.source.split("tiled(const ")[1].split("*")[0]
    call = ", ".join([f"(const {pointers}*)p", f"({pointers}*)q", *arguments])
    text = f"""{_CUDA}{copy.source}
extern "C" void run(void* p, void* q) {{
  for (blockIdx.x = 0; blockIdx.x < {copy.blocks}u; ++blockIdx.x)
    for (int phase = 0; phase < 2; ++phase) {{
      loaded = phase;
      for (threadIdx.x = 0; threadIdx.x < {THREADS}; ++threadIdx.x) {NAME}({call});
    }}
}}
"""
    (folder / "tiled.cpp").write_text(text, encoding="utf-8")
    subprocess.run([*COMPILER, "-o", "tiled.so", "tiled.cpp"], check=True, cwd=folder)
    library = ctypes.CDLL(str(folder / "tiled.so"))
    library.run(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(result.ctypes.data))


@pytest.mark.needs_program("c++")
@pytest.mark.parametrize(
    ("shape", "order", "dtype"),
    [
        ((70, 131), (1, 0), "float16"),
        ((3, 65, 40), (0, 2, 1), "float32"),
        ((2, 3, 5, 33), (3, 0, 2, 1), "float16"),
        ((2, 7, 5, 33), (1, 3, 0, 2), "int64"),
        ((9, 100), (1, 0), "int8"),
    ],
)
def test_axes_are_exchanged(
    shape: tuple[int, ...], order: tuple[int, ...], dtype: str, tmp_path: Path
) -> None:
    """All but the first element along the first axis, so that the view begins later."""
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    view = x[1:].transpose(order)
    axes = [(n, step // x.itemsize) for n, step in zip(view.shape, view.strides, strict=True)]
    copy = tiled_copy(x[0].size, axes, x.itemsize)
    assert copy is not None
    result = np.full(view.shape, -1, dtype)
    ran(copy, x, result, tmp_path)
    np.testing.assert_array_equal(result, view)


def test_where_the_fastest_axis_stays_nothing_is_tiled() -> None:
    assert tiled_copy(0, [(4, 8), (8, 1)], 2) is None
    assert tiled_copy(0, [(4, 16), (8, 2)], 2) is None
