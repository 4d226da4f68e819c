"""Generated kernels as candidates."""

from typing import Any

from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.elements import IN_MEMORY
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_schemas.layer import Precision

LIBRARY = "cupy"

MOST_ELEMENTS = 2**31
"""Kernels count with 32 bits: they take fewer."""

WIDE_BYTES = 16
"""The widest access that a thread makes at once."""


def launch(kernel: Any, blocks: int, threads: int, arguments: tuple[Any, ...]) -> Run:
    """What starts a kernel of CuPy's in so many blocks."""
    return lambda: kernel((blocks,), (threads,), arguments)


def preamble(precision: Precision, element: str) -> str:
    """The beginning of a source: `E`, an element in memory; `V`, the variable for it; `read`
    and `write`, which turn one into the other.
    """
    if not element:
        names = "typedef T E; typedef float V;\n#define read load\n#define write store\n"
    else:
        names = (
            f"typedef {IN_MEMORY[element]} E; typedef long long V;\n"
            "__device__ __forceinline__ V read(E v) { return v; }\n"
            "__device__ __forceinline__ E write(V v) { return (E)v; }\n"
        )
    return PREAMBLE[precision] + names
