"""Region kernels compiled for this machine's processor, with one thread in a block."""

import ctypes
import subprocess
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Region, Shape
from benanza_runner.cuda.calls.region import Given
from benanza_runner.cuda.device_tensor import stored_as
from benanza_runner.cuda.feature_maps import feature_maps
from benanza_runner.cuda.kernels.regions.kernel import NAME, KernelSource, KernelWriter
from benanza_runner.cuda.kernels.regions.section import RegionResult
from benanza_runner.cuda.kernels.regions.threads import Threads

_CUDA = """
#include <math.h>
#include <string.h>
#define __device__
#define __forceinline__ inline
#define __global__
#define __restrict__
#define __shared__ static
#define __align__(bytes)
struct Place { unsigned x, y; };
static Place blockIdx, threadIdx, blockDim;
#define rsqrtf(v) (1.0f / sqrtf(v))
template <typename V> static V __shfl_xor_sync(unsigned, V v, int) { return v; }
static void __syncthreads() {}
static float __int_as_float(int bits) { float found; memcpy(&found, &bits, 4); return found; }
"""
"""What CUDA defines, for a block of one thread."""


def region(
    call: Region,
    operands: Mapping[str, Array],
    folder: Path,
    width: int,
    *,
    tile: int = 1,
    last: bool = False,
) -> list[Array]:
    """The results in float32, by a kernel whose threads have up to so many elements at once, and
    up to so many times a `tile`.

    Feature maps have their channels first, or `last`.
    """
    maps = feature_maps(call) if last else frozenset()
    given = {value.name: value for value in call.values if isinstance(value, Given)}
    arrays = {name: _in_memory(operands[name], value, maps) for name, value in given.items()}
    strides = {
        name: tuple(step // array.itemsize for step in array.strides)
        for name, array in arrays.items()
    }
    values = [call.values[each] for each in call.outputs]
    written = [
        RegionResult(number, _order(value.shape, maps))
        for number, value in zip(call.outputs, values, strict=True)
    ]
    results = [
        np.zeros([value.shape[axis] for axis in each.order], stored_as("fp32", value.element))
        for value, each in zip(values, written, strict=True)
    ]
    source = KernelWriter(call, strides, written, "fp32").written(width, tile)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays.values(), *results)]
    _compiled(source, len(pointers), folder).run(*pointers)
    return [
        result.transpose(np.argsort(each.order))
        for result, each in zip(results, written, strict=True)
    ]


def _order(shape: Shape, maps: frozenset[Shape]) -> tuple[int, ...]:
    """The axes in memory, from the slowest to the fastest."""
    return (0, *range(2, len(shape)), 1) if shape in maps else tuple(range(len(shape)))


def _in_memory(operand: Array, value: Given, maps: frozenset[Shape]) -> Array:
    """The operand with its axes in the order that the region wants."""
    order = value.order or _order(operand.shape, maps)
    lying = np.array(operand.transpose(order), stored_as("fp32", value.element), order="C")
    return lying.transpose(np.argsort(order))


def _compiled(source: KernelSource, pointers: int, folder: Path) -> ctypes.CDLL:
    alone = Threads(lanes=1, rows=1)
    blocks = sum(section.blocks(alone) for section in source.sections)
    parameters = source.text.split(f"{NAME}(")[1].split(")")[0].split(", ")
    types = [each.rpartition(" ")[0] for each in parameters[:pointers]]
    arguments = ", ".join(f"({kind})a{at}" for at, kind in enumerate(types))
    names = ", ".join(f"void* a{at}" for at in range(pointers))
    text = f"""{_CUDA}{source.compiled_for(alone)}
extern "C" void run({names}) {{
  blockDim = {{1, 1}};
  for (unsigned block = 0; block < {blocks}u; ++block) {{
    blockIdx = {{block, 0}};
    {NAME}({arguments});
  }}
}}
"""
    # Kernels of other widths and tiles often are the same.
    library = folder / f"{sha256(text.encode()).hexdigest()}.so"
    if not library.exists():
        written = library.with_suffix(".cpp")
        written.write_text(text, encoding="utf-8")
        # The headers of C alone: those of C++ take longer than the kernel.
        flags = "-std=c++14 -nostdinc++ -w -shared -fPIC".split()
        command = ["c++", *flags, "-o", str(library), str(written)]
        subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(library))
