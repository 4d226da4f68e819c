"""Normalisations of rows, as kernels compiled through CuPy.

A row is what shares a mean or a norm; its elements need not lie next to each other.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import RowNormalisation, Shape
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, launch, preamble
from benanza_runner.cuda.kernels.source.indexing import split, walk
from benanza_runner.cuda.kernels.source.rows import OVER_LANES, row_axes, row_parameters
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.variants import FailedVariant
from benanza_schemas.layer import Precision

THREADS = (32, 128, 256, 512, 1024)
MOST_HELD = 16
"""Elements of a row that a thread may keep in registers, instead of reading them again."""


class NormKernels:
    """Candidates for normalisations of rows: layouts, threads of a block, which has a row."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        call = workspace.call
        if not isinstance(call, RowNormalisation):
            return
        if prod(call.output) >= MOST_ELEMENTS:
            yield refused(LIBRARY, "kernel", "", "it has too many elements for one kernel")
        else:
            yield from _normalisations(workspace, call)


def _normalisations(workspace: Workspace, call: RowNormalisation) -> Iterator[Candidate]:
    rank = len(call.output)
    layouts = [("", tuple(range(rank)))]
    if call.by_channel and rank >= 3:
        layouts = list(workspace.layouts(rank))
    for layout, order in layouts:
        x, result = workspace.operand("input", order), workspace.result(call.output, order)
        steps = _steps(call.lengths, call.by_channel and order[1] != 1)
        affine, after = [], 1
        for length, mine in zip(reversed(call.lengths), reversed(call.affine), strict=True):
            affine.append(after if mine else 0)
            after *= length if mine else 1
        rows = split(call.lengths, steps, call.reduced, tuple(reversed(affine)))
        named = (("scale", call.scale), ("bias", call.bias))
        extra = [workspace.operand(name) if there else x for name, there in named]
        residual = workspace.operand("residual", order) if call.residual else x
        size = prod(n for n, mine in zip(call.lengths, call.reduced, strict=True) if mine)
        arguments = (
            x.array,
            residual.array,
            *(each.array for each in extra),
            result.array,
            np.uint32(size),
            np.float32(call.epsilon),
            *map(np.uint32, rows.numbers()),
        )
        count = prod(call.output) // size
        axes = len(rows.outside), len(rows.inside)
        flags = call.kind, call.scale, call.bias, call.residual, *axes
        for threads in THREADS:
            if threads >= 2 * max(size, 32):
                continue
            share = -(-size // threads)
            for held in (0, share) if share <= MOST_HELD else (0,):
                kernel = _normalisation(workspace.precision, *flags, held)
                run = launch(kernel, count, threads, arguments)
                way = f"{held} elements held, " if held else ""
                name = f"row normalisation kernel ({way}{threads} threads)"
                yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


def _steps(lengths: Shape, channels_last: bool) -> Shape:
    """Of each axis in memory; with channels last, of batch, groups, channels and space."""
    if channels_last:
        _, groups, channels, space = lengths
        return groups * channels * space, channels, 1, groups * channels
    return tuple(prod(lengths[at + 1 :]) for at in range(len(lengths)))


FACTORS = {
    "variance": ("(v - mean) * (v - mean)", "rsqrtf(sum / size + epsilon)"),
    "rms": ("v * v", "rsqrtf(sum / size + epsilon)"),
    "l1": ("fabsf(v)", "1.0f / sum"),
    "l2": ("v * v", "rsqrtf(sum)"),
}
"""What is summed up in a row, and what its elements are multiplied with."""


@cache
def _normalisation(
    precision: Precision,
    kind: str,
    scale: bool,
    bias: bool,
    residual: bool,
    outside: int,
    inside: int,
    held: int,
) -> Any:
    """`held` elements a thread are read once; with 0, rows are read as often as they are used."""
    each, factor = FACTORS[kind]
    find = f"""unsigned part = i, mine = first_mine;
    long long at = first;
    {walk("part", row_axes("i", inside, "at", "mine"))}"""
    read = f"const float v = load(x[at]){' + load(residual[at])' if residual else ''};"
    if held:
        some = f"""#pragma unroll
  for (int j = 0; j < {held}; ++j) {{
    const unsigned i = threadIdx.x + j * blockDim.x;
    if (i >= size) continue;
    FIND
    BODY
  }}"""
        begin = some.replace("FIND", find).replace("BODY", f"{read} held[j] = v;")
        begin = f"float held[{held}];\n  {begin}"
        loop = some.replace("FIND", "const float v = held[j];")
        last = some.replace("FIND", f"{find}\n    const float v = held[j];")
    else:
        every = "for (unsigned i = threadIdx.x; i < size; i += blockDim.x)"
        begin = ""
        loop = last = f"{every} {{\n    {find}\n    {read}\n    BODY\n  }}"
    mean = ""
    if kind == "variance":
        mean = f"{loop.replace('BODY', 'mean += v;')}\n  mean = over_lanes(mean) / size;"
    result = "(v - mean) * factor"
    if scale:
        result += " * load(scale[mine])"
    if bias:
        result += " + load(bias[mine])"
    source = f"""{preamble(precision, "")}
#define LANES 1024
#define JOIN(a, b) ((a) + (b))
{OVER_LANES}
extern "C" __global__ void normalise_rows(const T* __restrict__ x,
    const T* __restrict__ residual, const T* __restrict__ scale, const T* __restrict__ bias,
    T* __restrict__ y, unsigned size,
    float epsilon{row_parameters(outside, inside)}) {{
  unsigned rest = blockIdx.x, first_mine = 0;
  long long first = 0;
  {walk("rest", row_axes("o", outside, "first", "first_mine"))}
  float mean = 0.0f, sum = 0.0f;
  {begin}
  {mean}
  {loop.replace("BODY", f"sum += {each};")}
  sum = over_lanes(sum);
  const float factor = {factor};
  {last.replace("BODY", f"y[at] = store({result});")}
}}
"""
    return cupy.RawKernel(source, "normalise_rows")
