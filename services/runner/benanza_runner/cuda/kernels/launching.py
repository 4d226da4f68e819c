"""Generated kernels as candidates."""

from typing import Any

from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.elements import IN_MEMORY
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_schemas.layer import Precision
from benanza_schemas.vocabulary import GENERATED

LIBRARY = GENERATED

MOST_ELEMENTS = 2**31
"""Kernels count elements with 32 bits, so they take fewer than this."""

WIDE_BYTES = 16
"""The widest access of a thread, in bytes."""

WORDS = {16: "uint4", 8: "uint2", 4: "unsigned", 2: "unsigned short", 1: "unsigned char"}
"""Types in which so many bytes are moved at once, the widest first."""


def launch(kernel: Any, blocks: int, threads: int, arguments: tuple[Any, ...]) -> Run:
    """What starts a kernel of CuPy's in so many blocks of so many threads."""
    return lambda: kernel((blocks,), (threads,), arguments)


def preamble(precision: Precision, element: str) -> str:
    """The beginning of a source. It defines `E`, the type of an element in memory; `V`, the type
    of a variable for it; and `read` and `write`, which convert between them.
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
