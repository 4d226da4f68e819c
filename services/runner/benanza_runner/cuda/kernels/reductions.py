"""Reductions over axes, as kernels compiled through CuPy.

A row is the elements that are reduced to one number. They need not lie next to each other.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any, NamedTuple

import cupy
import numpy as np

from benanza_runner.cuda.calls import Reduction, Shape
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.feature_maps import reduces_feature_maps
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, launch, preamble
from benanza_runner.cuda.kernels.source.indexing import Rows, split, walk
from benanza_runner.cuda.kernels.source.rows import OVER_LANES, row_axes, row_parameters
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.variants import FailedVariant
from benanza_schemas.layer import Precision

SHAPES = ((1, 128), (32, 128), (128, 128), (256, 256), (1024, 1024))
"""Threads that share a row, and threads in a block."""

MOST_FOR_A_THREAD = 1 << 16


class ReductionKernels:
    """Candidates for reductions: layouts, threads that share a row."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        """One for each layout and number of threads that share a row."""
        call = workspace.call
        if not isinstance(call, Reduction):
            return
        if prod(call.input) >= MOST_ELEMENTS:
            yield refused(LIBRARY, "kernel", "", "it has too many elements for one kernel")
        else:
            yield from _reductions(workspace, call)


def _reductions(workspace: Workspace, call: Reduction) -> Iterator[Candidate]:
    """Results without the reduced axes are written in ONNX's order."""
    rank = len(call.input)
    kept = len(call.output) == rank
    layouts = [("", tuple(range(rank)))]
    if reduces_feature_maps(call):
        layouts = list(workspace.layouts(rank))
    reduced = tuple(axis in call.axes for axis in range(rank))
    for layout, order in layouts:
        x = workspace.operand("input", order)
        result = workspace.result(call.output, order if kept else None, call.element)
        # Rows are counted as their results lie, elements of a row as they lie themselves.
        counted = order if kept else tuple(range(rank))
        outside = split(*_picked(call.input, x.strides, reduced, counted)).outside
        inside = split(*_picked(call.input, x.strides, reduced, order)).inside
        rows = Rows(outside, inside)
        outputs, size = prod(call.output), prod(call.input[axis] for axis in call.axes)
        arguments = (x.array, result.array, np.uint32(outputs), np.uint32(size))
        for lanes, threads in SHAPES:
            if (lanes == 1 and size > MOST_FOR_A_THREAD) or lanes >= 2 * max(size, 32):
                continue
            ranks = len(rows.outside), len(rows.inside)
            kernel = _reduction(workspace.precision, call.element, call.kind, *ranks, lanes)
            blocks = -(-outputs * lanes // threads)
            run = launch(kernel, blocks, threads, (*arguments, *map(np.uint32, rows.numbers())))
            name = f"reduction kernel ({lanes} threads a row, {threads} a block)"
            yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


def _picked(
    lengths: Shape, steps: Shape, reduced: tuple[bool, ...], order: tuple[int, ...]
) -> tuple[Shape, Shape, tuple[bool, ...]]:
    return (
        tuple(lengths[axis] for axis in order),
        tuple(steps[axis] for axis in order),
        tuple(reduced[axis] for axis in order),
    )


LEAST = "-__int_as_float(0x7f800000)"


class Fold(NamedTuple):
    """How a reduction begins, what it makes of an element, how it joins two, how it ends."""

    start: str = "0"
    each: str = "v"
    join: str = "((a) + (b))"
    end: str = "found"


FOLDS = {
    "L1": Fold(each="fabsf(v)"),
    "L2": Fold(each="v * v", end="sqrtf(found)"),
    "LogSum": Fold(end="logf(found)"),
    "LogSumExp": Fold(each="expf(v - most)", end="logf(found) + most"),
    "Max": Fold(LEAST, join="fmaxf(a, b)"),
    "Mean": Fold(end="found / size"),
    "Min": Fold("__int_as_float(0x7f800000)", join="fminf(a, b)"),
    "Prod": Fold("1", join="((a) * (b))"),
    "Sum": Fold(),
    "SumSquare": Fold(each="v * v"),
}

INTEGER_FOLDS = FOLDS | {
    "Max": Fold("-0x7fffffffffffffffLL - 1", join="((a) > (b) ? (a) : (b))"),
    "Min": Fold("0x7fffffffffffffffLL", join="((a) < (b) ? (a) : (b))"),
}


@cache
def _reduction(
    precision: Precision, element: str, kind: str, outside: int, inside: int, lanes: int
) -> Any:
    fold = (INTEGER_FOLDS if element else FOLDS)[kind]
    loop = f"""for (unsigned i = lane; i < size; i += LANES) {{
    unsigned part = i;
    long long at = first;
    {walk("part", row_axes("i", inside, "at"))}
    const V v = read(x[at]);
    BODY
  }}"""
    largest = ""
    if kind == "LogSumExp":
        largest = f"V most = {LEAST};\n  {loop.replace('BODY', 'most = fmaxf(most, v);')}"
        largest += "\n  most = largest_over_lanes(most);"
    over_most = OVER_LANES.replace("over_lanes", "largest_over_lanes").replace("JOIN", "fmaxf")
    source = f"""{preamble(precision, element)}
#define LANES {lanes}
#define JOIN(a, b) {fold.join}
{OVER_LANES}
{over_most if largest else ""}
extern "C" __global__ void reduce(const E* __restrict__ x, E* __restrict__ y, unsigned rows,
    unsigned size{row_parameters(outside, inside)}) {{
  const unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const unsigned lane = threadIdx.x % LANES;
  if (row >= rows) return;
  unsigned rest = row;
  long long first = 0;
  {walk("rest", row_axes("o", outside, "first"))}
  {largest}
  V found = {fold.start};
  {loop.replace("BODY", f"found = JOIN(found, {fold.each});")}
  found = over_lanes(found);
  if (lane == 0) y[row] = write({fold.end});
}}
"""
    return cupy.RawKernel(source, "reduce")
