"""Calls that only move elements, through CuPy, and rows moved together after a call."""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Concatenation, Shuffle, Splitting, View
from benanza_runner.cuda.candidate import Candidate, Run, no_scratch, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, WIDE_BYTES, launch
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.variants import FailedVariant

THREADS = (128, 256)
WORDS = {16: "uint4", 8: "uint2", 4: "unsigned", 2: "unsigned short", 1: "unsigned char"}
UNPADDING_THREADS = 256
MOST_PARTS = 64
MOST_AXES = 8


class MovementKernels:
    """Candidates for concatenations, splittings, shuffles and copies with other steps."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        """Kernels; for views and shuffles CuPy's `copyto` as well."""
        call = workspace.call
        if isinstance(call, Concatenation):
            yield from _concatenations(workspace, call)
        elif isinstance(call, View):
            yield from _views(workspace, call)
        elif isinstance(call, Shuffle):
            yield from _shuffles(workspace, call)
        elif isinstance(call, Splitting):
            yield from _splittings(workspace, call)


def _views(workspace: Workspace, call: View) -> Iterator[Candidate]:
    x, result = workspace.operand("input"), workspace.result(call.output, None, call.element)
    cut = tuple(map(slice, call.starts, call.stops, call.steps))
    seen = x.array.reshape(call.input)[cut].transpose(call.order)
    view = cupy.broadcast_to(seen, call.output)
    yield from _copies(x, view, result, workspace.natural_layout(call.input))


def _shuffles(workspace: Workspace, call: Shuffle) -> Iterator[Candidate]:
    for layout, order in workspace.layouts(len(call.input)):
        x = workspace.operand("input", order)
        result = workspace.result(call.input, order, call.element)
        place = order.index(1)
        before, (channels, *after) = x.array.shape[:place], x.array.shape[place:]
        table = x.array.reshape((*before, call.rows, channels // call.rows, *after))
        yield from _copies(x, table.swapaxes(place, place + 1), result, layout)


def _copies(x: DeviceTensor, view: Any, result: DeviceTensor, layout: str) -> Iterator[Candidate]:
    """Copies of a view of a tensor into a result of as many elements."""
    target = result.array.reshape(view.shape)

    def copy() -> None:
        cupy.copyto(target, view)

    yield Candidate(LIBRARY, "copyto", layout, no_scratch, copy, result)
    size = x.element_bytes
    axes = merged(view.shape, tuple(step // size for step in view.strides))
    first = (int(view.data.ptr) - x.pointer) // size
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
    if total >= MOST_ELEMENTS or len(axes) > MOST_AXES:
        return
    kernel = _strided(len(axes), WORDS[width])
    arguments = (
        x.array,
        result.array,
        np.int64(first // scale),
        np.uint32(total),
        *map(np.uint32, lengths),
        *map(np.int64, steps),
    )
    for threads in THREADS:
        run = launch(kernel, -(-total // threads), threads, arguments)
        name = f"strided copy kernel ({width} bytes wide, {threads} threads)"
        yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


def merged(shape: tuple[int, ...], steps: tuple[int, ...]) -> list[tuple[int, int]]:
    """Length and stride of each axis. Axes that continue into the next one are joined with it."""
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


def _concatenations(
    workspace: Workspace, call: Concatenation
) -> Iterator[Candidate | FailedVariant]:
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
        for threads in THREADS:
            run = launch(kernel, -(-total // threads), threads, arguments)
            name = f"concatenation kernel ({width} bytes wide, {threads} threads)"
            yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


def _splittings(workspace: Workspace, call: Splitting) -> Iterator[Candidate | FailedVariant]:
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
        for threads in THREADS:
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


def unpad(source: DeviceTensor, target: DeviceTensor) -> Run:
    """What starts the copy of the first elements of each row of `source`, which has two axes, so
    many that they fill `target`.
    """
    rows, padded = source.array.shape
    size = source.element_bytes
    pack = WIDE_BYTES // size
    total = target.array.size
    arguments = (
        source.array,
        target.array,
        np.uint32(total),
        np.uint32(total // rows),
        np.uint32(padded),
    )
    return launch(
        _unpadding(WORDS[size], pack),
        -(-total // (UNPADDING_THREADS * pack)),
        UNPADDING_THREADS,
        arguments,
    )


@cache
def _unpadding(word: str, pack: int) -> Any:
    source = f"""
extern "C" __global__ void unpad(const {word}* __restrict__ p, {word}* __restrict__ q,
    unsigned total, unsigned length, unsigned padded) {{
  const unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * {pack};
  if (first >= total) return;
  unsigned row = first / length, column = first % length;
  union {{ {word} each[{pack}]; uint4 all; }} found;
  #pragma unroll
  for (int at = 0; at < {pack}; ++at) {{
    if (first + at < total) found.each[at] = p[(size_t)row * padded + column];
    if (++column == length) {{ column = 0; ++row; }}
  }}
  if (first + {pack} <= total) {{
    reinterpret_cast<uint4*>(q)[first / {pack}] = found.all;
    return;
  }}
  for (int at = 0; first + at < total; ++at) q[first + at] = found.each[at];
}}
"""
    return cupy.RawKernel(source, "unpad")
