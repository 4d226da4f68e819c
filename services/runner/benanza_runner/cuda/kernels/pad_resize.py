"""Padding and resizing, as kernels compiled through CuPy: a thread for each output."""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Padding, Resizing
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, launch, preamble
from benanza_runner.cuda.kernels.source.indexing import joined
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.variants import FailedVariant
from benanza_schemas.layer import Precision

THREADS = (128, 256)


class PadResizeKernels:
    """Candidates for padding and resizing: layouts, threads in a block."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        call = workspace.call
        if not isinstance(call, Padding | Resizing):
            return
        if prod(call.output) >= MOST_ELEMENTS or prod(call.input) >= MOST_ELEMENTS:
            yield refused(LIBRARY, "kernel", "", "it has too many elements for one kernel")
            return
        rank = len(call.input)
        layouts = list(workspace.layouts(rank)) if rank >= 4 else [("", tuple(range(rank)))]
        for layout, order in layouts:
            yield from _candidates(workspace, call, layout, order)


def _candidates(
    workspace: Workspace, call: Padding | Resizing, layout: str, order: tuple[int, ...]
) -> Iterator[Candidate]:
    x, result = (
        workspace.operand("input", order),
        workspace.result(call.output, order, call.element),
    )
    total = prod(call.output)
    extra: tuple[Any, ...] = ()
    if isinstance(call, Padding):
        axes = joined(call.output, call.input, call.before, 0, order)
        number = np.int64 if call.element else np.float32
        kernel = _padding(workspace.precision, call.element, len(axes), call.mode)
        extra = (number(call.value), *(np.int32(before) for *_, before in axes))
        what = "padding"
    else:
        axes = joined(call.output, call.input, call.scales, 1, order)
        resized = tuple(out != size or scale != 1 for out, size, scale in axes)
        how = call.mode, call.coordinates, call.rounding
        kernel = _resizing(workspace.precision, call.element, resized, *how)
        extra = tuple(np.float32(scale) for *_, scale in axes)
        what = "resizing"
    steps = [prod(size for _, size, _ in axes[at + 1 :]) for at in range(len(axes))]
    arguments = (
        x.array,
        result.array,
        np.uint32(total),
        *(np.int32(out) for out, _, _ in axes),
        *(np.int32(size) for _, size, _ in axes),
        *map(np.int32, steps),
        *extra,
    )
    for threads in THREADS:
        run = launch(kernel, -(-total // threads), threads, arguments)
        name = f"{what} kernel ({threads} threads)"
        yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


def _parameters(rank: int) -> str:
    names = [f"int {letter}{at}" for letter in "ons" for at in range(rank)]
    return f"const E* __restrict__ p, E* __restrict__ q, unsigned total, {', '.join(names)}"


MOVES = {
    "constant": "inside = inside && c >= 0 && c < n{0};",
    "edge": "c = min(max(c, 0), n{0} - 1);",
    "reflect": "if (n{0} == 1) c = 0;"
    " else {{ c = abs(c) % (2 * n{0} - 2); if (c >= n{0}) c = 2 * n{0} - 2 - c; }}",
    "wrap": "c = (c % n{0} + n{0}) % n{0};",
}
"""Where an element comes from whose place in the input is `c`."""


@cache
def _padding(precision: Precision, element: str, rank: int, mode: str) -> Any:
    value = "long long" if element else "float"
    before = "".join(f", int b{at}" for at in range(rank))
    walk = "\n  ".join(
        f"{{ int c = rest % o{at} - b{at}; rest /= o{at}; {MOVES[mode].format(at)}"
        f" place += (long long)c * s{at}; }}"
        for at in reversed(range(rank))
    )
    source = f"""{preamble(precision, element)}
extern "C" __global__ void pad({_parameters(rank)}, {value} value{before}) {{
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= total) return;
  int rest = at;
  bool inside = true;
  long long place = 0;
  {walk}
  q[at] = inside ? p[place] : write(value);
}}
"""
    return cupy.RawKernel(source, "pad")


COORDINATES = {
    "half_pixel": "(c + 0.5f) / f{0} - 0.5f",
    "asymmetric": "c / f{0}",
    "align_corners": "o{0} == 1 ? 0.0f : (float)c * (n{0} - 1) / (o{0} - 1)",
    "half_pixel_symmetric": (
        "n{0} / 2.0f * (1.0f - o{0} / (f{0} * n{0})) + (c + 0.5f) / f{0} - 0.5f"
    ),
    "pytorch_half_pixel": "o{0} > 1 ? (c + 0.5f) / f{0} - 0.5f : 0.0f",
}
"""Where in the input the element `c` of the output is."""

ROUNDINGS = {
    "round_prefer_floor": "ceilf(x - 0.5f)",
    "round_prefer_ceil": "floorf(x + 0.5f)",
    "floor": "floorf(x)",
    "ceil": "ceilf(x)",
}


@cache
def _resizing(
    precision: Precision,
    element: str,
    resized: tuple[bool, ...],
    mode: str,
    coordinates: str,
    rounding: str,
) -> Any:
    """Each axis that is resized gives one place in the input, or two with a weight each."""
    rank = len(resized)
    scales = "".join(f", float f{at}" for at in range(rank))
    lines = []
    for at in reversed(range(rank)):
        lines.append(f"c = rest % o{at}; rest /= o{at};")
        if not resized[at]:
            lines.append(f"place += (long long)c * s{at};")
        elif mode == "nearest":
            lines.append(f"x = {COORDINATES[coordinates].format(at)};")
            chosen = f"min(max((int){ROUNDINGS[rounding]}, 0), n{at} - 1)"
            lines.append(f"place += (long long){chosen} * s{at};")
        else:
            lines.append(f"x = {COORDINATES[coordinates].format(at)};")
            lines.append(f"x = fminf(fmaxf(x, 0.0f), n{at} - 1.0f);")
            lines.append(f"const int low{at} = min((int)x, n{at} - 1);")
            lines.append(f"const int high{at} = min(low{at} + 1, n{at} - 1);")
            lines.append(f"const float w{at} = x - low{at};")
    taps = [at for at in range(rank) if resized[at] and mode == "linear"]
    if taps:
        lines += ["float sum = 0.0f;", *_taps(taps)]
    found = "write(sum)" if taps else "p[place]"
    body = "\n  ".join(lines)
    source = f"""{preamble(precision, element)}
extern "C" __global__ void resize({_parameters(rank)}{scales}) {{
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= total) return;
  int rest = at, c;
  float x = 0.0f;
  long long place = 0;
  {body}
  q[at] = {found};
}}
"""
    return cupy.RawKernel(source, "resize")


def _taps(axes: list[int]) -> list[str]:
    """The sum over the corners of the cell, each with the product of its weights."""
    lines = []
    for corner in range(1 << len(axes)):
        upper = [bool(corner >> bit & 1) for bit in range(len(axes))]
        sides = list(zip(axes, upper, strict=True))
        weight = " * ".join(f"w{at}" if up else f"(1.0f - w{at})" for at, up in sides)
        where = "".join(f" + (long long){'high' if up else 'low'}{at} * s{at}" for at, up in sides)
        lines.append(f"sum += {weight} * read(p[place{where}]);")
    return lines
