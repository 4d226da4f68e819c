"""Calls that only move elements, through CuPy."""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.arrays import BYTES
from benanza_runner.cuda.bench import Bench
from benanza_runner.cuda.calls import Concatenation, View
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.layouts import image_layouts
from benanza_schemas.events import Variant

LIBRARY = "cupy"
THREADS = (128, 256)
WORDS = {16: "uint4", 8: "uint2", 4: "unsigned", 2: "unsigned short"}
MOST_PARTS = 64


class MovementKernels:
    """Candidates for concatenations and copies with other steps."""

    def candidates(self, bench: Bench) -> Iterator[Candidate | Variant]:
        call = bench.call
        if isinstance(call, Concatenation):
            yield from _concatenations(bench, call)
        elif isinstance(call, View):
            image, result = bench.operand("image"), bench.result(call.output)
            cut = tuple(map(slice, call.starts, call.stops, call.steps))
            view = cupy.broadcast_to(image.array[cut].transpose(call.order), call.output)

            def run() -> None:
                cupy.copyto(result.array, view)

            yield Candidate(LIBRARY, "copyto", "", no_scratch, run, result)


def _concatenations(bench: Bench, call: Concatenation) -> Iterator[Candidate | Variant]:
    rank = len(call.output)
    layouts = list(image_layouts(rank)) if rank >= 4 else [("", tuple(range(rank)))]
    if len(call.shapes) > MOST_PARTS:
        yield refused(LIBRARY, "concatenation kernel", "", "it has too many parts for one kernel")
        return
    for layout, order in layouts:
        place = order.index(call.axis)
        inner = prod(call.output[axis] for axis in order[place + 1 :])
        lengths = [shape[call.axis] * inner for shape in call.shapes]
        result = bench.result(call.output, order)
        parts = [bench.operand(f"in{index}", order) for index in range(len(call.shapes))]
        size = BYTES[bench.precision]
        # The widest word that no border between parts cuts.
        width = next(w for w in WORDS if all(n * size % w == 0 for n in lengths))
        words = [length * size // width for length in lengths]
        total = prod(call.output) * size // width
        kernel = _concatenation(len(parts), WORDS[width])
        ends = np.cumsum(words)
        arguments = (
            *(part.array for part in parts),
            *map(np.uint32, ends),
            result.array,
            np.uint32(total),
        )
        for threads in THREADS:
            run = _launch(kernel, -(-total // threads), threads, arguments)
            name = f"concatenation kernel ({width} bytes wide, {threads} threads)"
            yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


def _launch(kernel: Any, blocks: int, threads: int, arguments: tuple[Any, ...]) -> Any:
    return lambda: kernel((blocks,), (threads,), arguments)


@cache
def _concatenation(parts: int, word: str) -> Any:
    pointers = "".join(f"const {word}* __restrict__ p{i}, " for i in range(parts))
    ends = "".join(f"unsigned e{i}, " for i in range(parts))
    choices = "\n  else ".join(
        f"if (column < e{i}) "
        + (
            f"v = p{i}[row * e0 + column];"
            if i == 0
            else f"v = p{i}[row * (e{i} - e{i - 1}) + column - e{i - 1}];"
        )
        for i in range(parts)
    )
    source = f"""
extern "C" __global__ void concatenate({pointers}{ends}{word}* __restrict__ q, unsigned total) {{
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= total) return;
  const unsigned row = at / e{parts - 1}, column = at % e{parts - 1};
  {word} v;
  {choices}
  q[at] = v;
}}
"""
    return cupy.RawKernel(source, "concatenate")
