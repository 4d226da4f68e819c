"""Padding and resizing, as kernels compiled through CuPy: a thread for each output."""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import msgspec
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
        """One for each layout and number of threads."""
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
        how = msgspec.structs.replace(call, input=(), output=(), scales=())
        kernel = _resizing(workspace.precision, resized, how)
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


TAPS = {
    "linear": "{1.0f - t, t}",
    "cubic": "{outer(A, 1.0f + t), inner(A, t), inner(A, 1.0f - t), outer(A, 2.0f - t)}",
}
"""The weights of neighbouring elements, at `t` after the last one before the place in question.
`A` is the coefficient of the cubic kernel."""

BEFORE = {"linear": 0, "cubic": 1}
"""How many of these neighbours come before the place in question."""

CUBIC = """
__device__ __forceinline__ float inner(float a, float t) {
  return ((a + 2.0f) * t - (a + 3.0f)) * t * t + 1.0f;
}
__device__ __forceinline__ float outer(float a, float t) {
  return ((a * t - 5.0f * a) * t + 8.0f * a) * t - 4.0f * a;
}
"""
"""Both parts of the cubic convolution kernel (R. Keys, "Cubic convolution interpolation for digital
image processing", 1981)."""


@cache
def _resizing(precision: Precision, resized: tuple[bool, ...], how: Resizing) -> Any:
    """A kernel in which each resized axis has one place in the input, or several with a weight
    each. `how` has no sizes and no scales.
    """
    rank = len(resized)
    scales = "".join(f", float f{at}" for at in range(rank))
    lines = []
    for at in reversed(range(rank)):
        lines.append(f"c = rest % o{at}; rest /= o{at};")
        if not resized[at]:
            lines.append(f"place += (long long)c * s{at};")
        elif how.mode == "nearest":
            lines.append(f"x = {COORDINATES[how.coordinates].format(at)};")
            chosen = f"min(max((int){ROUNDINGS[how.rounding]}, 0), n{at} - 1)"
            lines.append(f"place += (long long){chosen} * s{at};")
        else:
            lines.append(f"x = {COORDINATES[how.coordinates].format(at)};")
            lines += _weights(how, at)
    taps = [at for at in range(rank) if resized[at] and how.mode != "nearest"]
    if taps:
        lines += ["float sum = 0.0f;", *_sum(how, taps)]
    found = "write(sum)" if taps else "p[place]"
    body = "\n  ".join(lines)
    source = f"""{preamble(precision, how.element)}
#define A {how.steepness}f
{CUBIC}
extern "C" __global__ void resize({_parameters(rank)}{scales}) {{
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= total) return;
  int rest = at, c;
  float x = 0.0f, t;
  long long place = 0;
  {body}
  q[at] = {found};
}}
"""
    return cupy.RawKernel(source, "resize")


def _count(how: Resizing) -> int:
    """The number of elements on an axis that one follows from."""
    return 2 * BEFORE[how.mode] + 2


def _weights(how: Resizing, at: int) -> list[str]:
    """Statements for the weights on an axis, and for the place of the first."""
    lines = [f"x = fminf(fmaxf(x, 0.0f), n{at} - 1.0f);"] if how.mode == "linear" else []
    lines.append(f"t = x - floorf(x); const int first{at} = (int)floorf(x) - {BEFORE[how.mode]};")
    lines.append(f"float w{at}[] = {TAPS[how.mode]};")
    if how.only_inside:
        count = _count(how)
        inside = f"first{at} + i >= 0 && first{at} + i < n{at}"
        lines.append(f"for (int i = 0; i < {count}; i++) if (!({inside})) w{at}[i] = 0.0f;")
        total = " + ".join(f"w{at}[{i}]" for i in range(count))
        lines.append(f"t = {total};")
        lines.append(f"for (int i = 0; i < {count}; i++) w{at}[i] /= t;")
    return lines


def _sum(how: Resizing, axes: list[int]) -> list[str]:
    """Statements that add up the neighbours, each times its weights."""
    loops = [
        f"#pragma unroll\n  for (int i{at} = 0; i{at} < {_count(how)}; i{at}++)" for at in axes
    ]
    weight = " * ".join(f"w{at}[i{at}]" for at in axes)
    where = "".join(
        f" + (long long)min(max(first{at} + i{at}, 0), n{at} - 1) * s{at}" for at in axes
    )
    return [*loops, f"  sum += {weight} * read(p[place{where}]);"]
