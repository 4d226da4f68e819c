"""Generated kernels compiled for the processor: their threads run one after the other.

Kernels whose threads exchange anything need a GPU.
"""

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from benanza_runner.arrays import Array
from tests.runner.cuda.kernels.compiler import COMPILER, LINKED
from tests.skipping.programs import need_program

HEAD = """
#include <math.h>
#include <string.h>
#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __align__(size) alignas(size)
template <typename V> static V max(V a, V b) { return a < b ? b : a; }
template <typename V> static V min(V a, V b) { return b < a ? b : a; }
static struct { unsigned x; } blockIdx, blockDim, threadIdx;
#define rsqrtf(v) (1.0f / sqrtf(v))
static float __int_as_float(unsigned bits) { float v; memcpy(&v, &bits, 4); return v; }
static int __float_as_int(float v) { int bits; memcpy(&bits, &v, 4); return bits; }
"""
THREADS = 64
ALIGNMENT = 64

C_TYPES: dict[str, Any] = {"float": ctypes.c_float, "int": ctypes.c_int, "unsigned": ctypes.c_uint}


def run(source: str, folder: Path, threads: int, *arguments: Array | float) -> None:
    """Runs so many threads of the only kernel of a source, on arrays and numbers.

    Arrays have to be `aligned`.
    """
    need_program("c++")
    found = re.search(r"__global__ void (\w+)\(([^)]*)\)", source)
    assert found, "there is a kernel"
    name, parameters = found[1], [each.split() for each in found[2].split(",")]
    names = [each[-1].lstrip("*") for each in parameters]
    start = f"""
extern "C" void start({found[2]}, int blocks) {{
  blockDim.x = {THREADS};
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < {THREADS}; ++threadIdx.x) {name}({", ".join(names)});
}}
"""
    written, library = folder / f"{name}.cpp", folder / f"{name}.so"
    written.write_text(HEAD + source.replace("#pragma unroll", "//") + start, encoding="utf-8")
    subprocess.run([*COMPILER, written, "-o", library, *LINKED], check=True)
    given = [
        ctypes.c_void_p(value.ctypes.data)
        if isinstance(value, np.ndarray)
        else C_TYPES[parameter[0]](value)
        for parameter, value in zip(parameters, arguments, strict=True)
    ]
    ctypes.CDLL(str(library)).start(*given, -(-threads // THREADS))


def aligned(array: Array) -> Array:
    """A copy that lies in memory as a GPU's allocations do, of floats as float32."""
    dtype = np.float32 if array.dtype.kind == "f" else array.dtype
    room = np.zeros(array.size + ALIGNMENT, dtype)
    first = -room.ctypes.data % ALIGNMENT // room.itemsize
    room[first : first + array.size] = array.reshape(-1)
    return room[first : first + array.size].reshape(array.shape)
