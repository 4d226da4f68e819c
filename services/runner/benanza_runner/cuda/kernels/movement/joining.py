"""Tensors joined along an axis, or cut into parts, as kernels compiled through CuPy."""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Concatenation, Splitting
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.kernels.launching import (
    COPY_THREADS,
    LIBRARY,
    MOST_ELEMENTS,
    WORDS,
    launch,
)
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.variants import FailedVariant

MOST_PARTS = 64


def concatenations(
    workspace: Workspace, call: Concatenation
) -> Iterator[Candidate | FailedVariant]:
    """Candidates for parts joined along an axis, in each layout of feature maps."""
    rank = len(call.output)
    layouts = list(workspace.layouts(rank)) if rank >= 4 else [("", tuple(range(rank)))]
    if len(call.shapes) > MOST_PARTS:
        yield refused(LIBRARY, "concatenation kernel", "", "it has too many parts for one kernel")
        return
    for layout, order in layouts:
        place = order.index(call.axis)
        inner = prod(call.output[axis] for axis in order[place + 1 :])
        lengths = [shape[call.axis] * inner for shape in call.shapes]
        result = workspace.result(call.output, order, call.element)
        parts = [workspace.operand(f"in{index}", order) for index in range(len(call.shapes))]
        size = result.element_bytes
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
        for threads in COPY_THREADS:
            run = launch(kernel, -(-total // threads), threads, arguments)
            name = f"concatenation kernel ({width} bytes wide, {threads} threads)"
            yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


def splittings(workspace: Workspace, call: Splitting) -> Iterator[Candidate | FailedVariant]:
    """Candidates for a tensor cut into parts along an axis, in each layout of feature maps."""
    rank = len(call.input)
    layouts = list(workspace.layouts(rank)) if rank >= 4 else [("", tuple(range(rank)))]
    if len(call.lengths) > MOST_PARTS or prod(call.input) >= MOST_ELEMENTS:
        yield refused(LIBRARY, "partition kernel", "", "it is too large for one kernel")
        return
    for layout, order in layouts:
        inner = prod(call.input[axis] for axis in order[order.index(call.axis) + 1 :])
        x = workspace.operand("input", order)
        results = [
            workspace.result(
                _with(call.input, call.axis, call.lengths[part]), order, call.element, at
            )
            for at, part in enumerate(call.results)
        ]
        size = x.element_bytes
        width = next(w for w in WORDS if all(n * inner * size % w == 0 for n in call.lengths))
        words = [length * inner * size // width for length in call.lengths]
        total = prod(call.input) * size // width
        kernel = _splitting(len(call.lengths), call.results, WORDS[width])
        arguments = (
            *(result.array for result in results),
            *map(np.uint32, np.cumsum(words)),
            x.array,
            np.uint32(total),
        )
        for threads in COPY_THREADS:
            run = launch(kernel, -(-total // threads), threads, arguments)
            name = f"partition kernel ({width} bytes wide, {threads} threads)"
            first, *more = results
            yield Candidate(LIBRARY, name, layout, no_scratch, run, first, tuple(more))


def _with(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


@cache
def _concatenation(parts: int, word: str) -> Any:
    pointers = "".join(f"const {word}* __restrict__ p{i}, " for i in range(parts))
    ends = "".join(f"unsigned e{i}, " for i in range(parts))
    choices = _choices([f"v = {place};" for place in _places(parts)])
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


@cache
def _splitting(parts: int, results: tuple[int, ...], word: str) -> Any:
    """A kernel that writes the parts that are results."""
    pointers = "".join(f"{word}* __restrict__ p{i}, " for i in results)
    ends = "".join(f"unsigned e{i}, " for i in range(parts))
    writes = [f"{place} = v;" for place in _places(parts)]
    choices = _choices([writes[i] if i in results else ";" for i in range(parts)])
    source = f"""
extern "C" __global__ void divide({pointers}{ends}const {word}* __restrict__ q, unsigned total) {{
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= total) return;
  const unsigned row = at / e{parts - 1}, column = at % e{parts - 1};
  const {word} v = q[at];
  {choices}
}}
"""
    return cupy.RawKernel(source, "divide")


def _places(parts: int) -> list[str]:
    """Expressions for where in each part a column of the whole is, if it is in that part."""
    later = [f"p{i}[row * (e{i} - e{i - 1}) + column - e{i - 1}]" for i in range(1, parts)]
    return ["p0[row * e0 + column]", *later]


def _choices(moves: list[str]) -> str:
    return "\n  else ".join(f"if (column < e{i}) {move}" for i, move in enumerate(moves))
