"""Region kernels compiled for this machine's processor, with one thread in a block."""

import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Region, Shape
from benanza_runner.cuda.calls.region import Given
from benanza_runner.cuda.device_tensor import from_float8, stored_as
from benanza_runner.cuda.elements import FLOAT8
from benanza_runner.cuda.feature_maps import feature_maps
from benanza_runner.cuda.kernels.regions.kernel import NAME, KernelSource, KernelWriter
from benanza_runner.cuda.kernels.regions.section import RegionResult
from benanza_runner.cuda.kernels.regions.threads import Threads
from tests.runner.cuda.kernels.compiler import COMPILER, LINKED

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
static int __float_as_int(float v) { int found; memcpy(&found, &v, 4); return found; }
"""
"""What CUDA defines, for a block of one thread."""


class Variant(NamedTuple):
    """Threads have up to so many elements at once, and up to so many times a `tile`. Feature maps
    have their channels first, or `last`.
    """

    width: int
    tile: int = 1
    last: bool = False


class _Kernel(NamedTuple):
    """`operands` and `results` are what it reads and writes; `orders` those of the results' axes
    in memory.
    """

    source: KernelSource
    operands: list[Array]
    results: list[Array]
    orders: list[tuple[int, ...]]

    def pointers(self) -> list[ctypes.c_void_p]:
        """Its first parameters."""
        return [ctypes.c_void_p(a.ctypes.data) for a in (*self.operands, *self.results)]


def region(
    call: Region, operands: Mapping[str, Array], folder: Path, variants: Sequence[Variant]
) -> list[list[Array]]:
    """The results, of float8 in float32, by a kernel of each of the variants."""
    kernels = [_kernel(call, operands, variant) for variant in variants]
    float8 = {n for n, at in enumerate(call.outputs) if call.values[at].element == FLOAT8}
    for kernel, run in zip(kernels, _compiled(kernels, folder), strict=True):
        run(*kernel.pointers())
    return [
        [
            (from_float8(result) if number in float8 else result).transpose(np.argsort(order))
            for number, (result, order) in enumerate(
                zip(kernel.results, kernel.orders, strict=True)
            )
        ]
        for kernel in kernels
    ]


def _kernel(call: Region, operands: Mapping[str, Array], variant: Variant) -> _Kernel:
    maps = feature_maps(call) if variant.last else frozenset()
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
    source = KernelWriter(call, strides, written, "fp32").written(variant.width, variant.tile)
    return _Kernel(source, list(arrays.values()), results, [each.order for each in written])


def _order(shape: Shape, maps: frozenset[Shape]) -> tuple[int, ...]:
    """The axes in memory, from the slowest to the fastest."""
    return (0, *range(2, len(shape)), 1) if shape in maps else tuple(range(len(shape)))


def _in_memory(operand: Array, value: Given, maps: frozenset[Shape]) -> Array:
    """The operand with its axes in the order that the region wants."""
    order = value.order or _order(operand.shape, maps)
    stored = operand.view(np.uint8) if value.element == FLOAT8 else operand
    lying = np.array(stored.transpose(order), stored_as("fp32", value.element), order="C")
    return lying.transpose(np.argsort(order))


def _compiled(kernels: Sequence[_Kernel], folder: Path) -> Iterator[Callable[..., object]]:
    """A function for each kernel, with its pointers. One call of the compiler makes all: to start,
    and to read what is included, takes it as long as one or two kernels.
    """
    texts = [_text(kernel) for kernel in kernels]
    # Kernels of other widths and tiles often are the same.
    different = {text: f"run{at}" for at, text in enumerate(dict.fromkeys(texts))}
    spaces = (f"namespace of_{name} {{\n{text}}}\n" for text, name in different.items())
    arrays = ", ".join(f"a{at}" for at in range(len(kernels[0].pointers())))
    parameters = arrays.replace("a", "void* a")
    starts = (
        f'extern "C" void {name}({parameters}) {{ of_{name}::run({arrays}); }}\n'
        for name in different.values()
    )
    library = Path(tempfile.mkdtemp(dir=folder)) / "kernels.so"
    written = library.with_suffix(".cpp")
    written.write_text("".join((_CUDA, *spaces, *starts)), encoding="utf-8")
    subprocess.run([*COMPILER, "-o", library, written, *LINKED], check=True, capture_output=True)
    loaded = ctypes.CDLL(str(library))
    return (loaded[different[text]] for text in texts)


def _text(kernel: _Kernel) -> str:
    """The kernel, and `run`, which starts it with these pointers."""
    source = kernel.source
    pointers = len(kernel.pointers())
    alone = Threads(lanes=1, rows=1)
    blocks = sum(section.blocks(alone) for section in source.sections)
    parameters = source.text.split(f"{NAME}(")[1].split(")")[0].split(", ")
    types = [each.rpartition(" ")[0] for each in parameters[:pointers]]
    arguments = ", ".join(f"({kind})a{at}" for at, kind in enumerate(types))
    names = ", ".join(f"void* a{at}" for at in range(pointers))
    # In its namespace each kernel has the name that it has everywhere.
    return f"""{source.compiled_for(alone).replace('extern "C"', "")}
static void run({names}) {{
  blockDim = {{1, 1}};
  for (unsigned block = 0; block < {blocks}u; ++block) {{
    blockIdx = {{block, 0}};
    {NAME}({arguments});
  }}
}}
"""
