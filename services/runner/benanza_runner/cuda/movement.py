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
from benanza_schemas.events import Variant

LIBRARY = "cupy"
THREADS = (128, 256)
WORDS = {16: "uint4", 8: "uint2", 4: "unsigned", 2: "unsigned short"}
MOST_PARTS = 64
MOST_AXES = 8


class MovementKernels:
    """Candidates for concatenations and copies with other steps."""

    library = LIBRARY

    def candidates(self, bench: Bench) -> Iterator[Candidate | Variant]:
        call = bench.call
        if isinstance(call, Concatenation):
            yield from _concatenations(bench, call)
        elif isinstance(call, View):
            yield from _views(bench, call)


def _views(bench: Bench, call: View) -> Iterator[Candidate | Variant]:
    image, result = bench.operand("image"), bench.result(call.output)
    cut = tuple(map(slice, call.starts, call.stops, call.steps))
    view = cupy.broadcast_to(image.array[cut].transpose(call.order), call.output)

    def run() -> None:
        cupy.copyto(result.array, view)

    layout = bench.natural_layout(call.image)
    yield Candidate(LIBRARY, "copyto", layout, no_scratch, run, result)
    size = BYTES[bench.precision]
    axes = merged(call.output, tuple(step // size for step in view.strides))
    first = (int(view.data.ptr) - image.pointer) // size
    # The widest word that keeps to one run of elements, here and there.
    numbers = [first, *(step for _, step in axes[:-1])]
    run_length = axes[-1][0] if axes[-1][1] == 1 else 1
    width = next(
        w for w in WORDS if all(n * size % w == 0 for n in (run_length, *numbers)) or w == size
    )
    scale = width // size
    lengths = [length for length, _ in axes[:-1]] + [axes[-1][0] // scale]
    steps = [step // scale for _, step in axes[:-1]] + [axes[-1][1]]
    total = prod(lengths)
    if total >= 2**31 or len(axes) > MOST_AXES:
        return
    kernel = _strided(len(axes), WORDS[width])
    arguments = (
        image.array,
        result.array,
        np.int64(first // scale),
        np.uint32(total),
        *map(np.uint32, lengths),
        *map(np.int64, steps),
    )
    for threads in THREADS:
        launch = _launch(kernel, -(-total // threads), threads, arguments)
        name = f"strided copy kernel ({width} bytes wide, {threads} threads)"
        yield Candidate(LIBRARY, name, layout, no_scratch, launch, result)


def merged(shape: tuple[int, ...], steps: tuple[int, ...]) -> list[tuple[int, int]]:
    """Length and step of each axis, those that run on into the next one joined with it."""
    axes: list[tuple[int, int]] = []
    for length, step in zip(shape, steps, strict=True):
        if length == 1:
            continue
        if axes and axes[-1][1] == length * step:
            axes[-1] = (axes[-1][0] * length, step)
        else:
            axes.append((length, step))
    return axes or [(1, 1)]


@cache
def _strided(rank: int, word: str) -> Any:
    lengths = "".join(f", unsigned n{i}" for i in range(rank))
    steps = "".join(f", long long s{i}" for i in range(rank))
    walk = " ".join(f"from += rest % n{i} * s{i}; rest /= n{i};" for i in reversed(range(rank)))
    source = f"""
extern "C" __global__ void strided(const {word}* __restrict__ p, {word}* __restrict__ q,
    long long from, unsigned total{lengths}{steps}) {{
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= total) return;
  unsigned rest = at;
  {walk}
  q[at] = p[from];
}}
"""
    return cupy.RawKernel(source, "strided")


def _concatenations(bench: Bench, call: Concatenation) -> Iterator[Candidate | Variant]:
    rank = len(call.output)
    layouts = list(bench.layouts(rank)) if rank >= 4 else [("", tuple(range(rank)))]
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
