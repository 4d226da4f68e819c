"""Reductions and normalisations of rows, as kernels compiled through CuPy.

A row is what is reduced to one number; its elements need not lie next to each other.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any, NamedTuple

import cupy
import numpy as np

from benanza_runner.cuda.bench import Bench
from benanza_runner.cuda.calls import Reduction, RowNormalisation, Shape
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.indexing import Axis, Rows, split, walk
from benanza_runner.cuda.launching import LIBRARY, MOST_ELEMENTS, launch, preamble
from benanza_runner.cuda.layouts import image_layouts
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

SHAPES = ((1, 128), (32, 128), (128, 128), (256, 256), (1024, 1024))
"""Threads that share a row, and threads in a block."""

NORM_THREADS = (32, 128, 256, 512, 1024)
MOST_FOR_A_THREAD = 1 << 16
MOST_HELD = 16
"""Elements of a row that a thread may keep in registers, instead of reading them again."""


class NormKernels:
    """Candidates for reductions and normalisations of rows: layouts, threads that share a row."""

    def candidates(self, bench: Bench) -> Iterator[Candidate | Variant]:
        call = bench.call
        if not isinstance(call, Reduction | RowNormalisation):
            return
        size = prod(call.image if isinstance(call, Reduction) else call.output)
        if size >= MOST_ELEMENTS:
            yield refused(LIBRARY, "kernel", "", "it has too many elements for one kernel")
        elif isinstance(call, Reduction):
            yield from _reductions(bench, call)
        else:
            yield from _normalisations(bench, call)


def _reductions(bench: Bench, call: Reduction) -> Iterator[Candidate]:
    """Results that have no axes of one where they were reduced are written in ONNX's order."""
    rank = len(call.image)
    kept = len(call.output) == rank
    layouts = [("", tuple(range(rank)))]
    if rank >= 4 and (kept or len(call.output) <= 2):
        layouts = list(image_layouts(rank))
    reduced = tuple(axis in call.axes for axis in range(rank))
    for layout, order in layouts:
        image = bench.operand("image", order)
        result = bench.result(call.output, order if kept else None, call.element)
        # Rows are counted as their results lie, elements of a row as they lie themselves.
        counted = order if kept else tuple(range(rank))
        outside = split(*_picked(call.image, image.strides, reduced, counted)).outside
        inside = split(*_picked(call.image, image.strides, reduced, order)).inside
        rows = Rows(outside, inside)
        outputs, size = prod(call.output), prod(call.image[axis] for axis in call.axes)
        arguments = (image.array, result.array, np.uint32(outputs), np.uint32(size))
        for lanes, threads in SHAPES:
            if (lanes == 1 and size > MOST_FOR_A_THREAD) or lanes >= 2 * max(size, 32):
                continue
            ranks = len(rows.outside), len(rows.inside)
            kernel = _reduction(bench.precision, call.element, call.kind, *ranks, lanes)
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


def _normalisations(bench: Bench, call: RowNormalisation) -> Iterator[Candidate]:
    rank = len(call.output)
    layouts = [("", tuple(range(rank)))]
    if call.by_channel and rank >= 3:
        layouts = list(image_layouts(rank))
    for layout, order in layouts:
        image, result = bench.operand("image", order), bench.result(call.output, order)
        steps = _steps(call.lengths, call.by_channel and order[1] != 1)
        affine, after = [], 1
        for length, mine in zip(reversed(call.lengths), reversed(call.affine), strict=True):
            affine.append(after if mine else 0)
            after *= length if mine else 1
        rows = split(call.lengths, steps, call.reduced, tuple(reversed(affine)))
        named = (("scale", call.scale), ("bias", call.bias))
        extra = [bench.operand(name) if there else image for name, there in named]
        size = prod(n for n, mine in zip(call.lengths, call.reduced, strict=True) if mine)
        arguments = (
            image.array,
            *(each.array for each in extra),
            result.array,
            np.uint32(size),
            np.float32(call.epsilon),
            *map(np.uint32, rows.numbers()),
        )
        count = prod(call.output) // size
        flags = call.kind, call.scale, call.bias, len(rows.outside), len(rows.inside)
        for threads in NORM_THREADS:
            if threads >= 2 * max(size, 32):
                continue
            share = -(-size // threads)
            for held in (0, share) if share <= MOST_HELD else (0,):
                kernel = _normalisation(bench.precision, *flags, held)
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


def _axes(side: str, rank: int, *targets: str) -> list[Axis]:
    letters = "st"[: len(targets)]
    return [
        Axis(f"{side}n{at}", [(t, f"{side}{s}{at}") for t, s in zip(targets, letters, strict=True)])
        for at in range(rank)
    ]


def _parameters(outside: int, inside: int) -> str:
    return "".join(
        f", unsigned {side}n{at}, unsigned {side}s{at}, unsigned {side}t{at}"
        for side, rank in (("o", outside), ("i", inside))
        for at in range(rank)
    )


OVER_LANES = """
__device__ __forceinline__ V over_lanes(V v) {
#if LANES > 1
  for (int offset = 16; offset; offset /= 2) {
    const V other = __shfl_xor_sync(0xffffffffu, v, offset);
    v = JOIN(v, other);
  }
#endif
#if LANES > 32
  __shared__ V parts[32];
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = parts[0];
  for (int i = 1; i < blockDim.x / 32; ++i) v = JOIN(v, parts[i]);
#endif
  return v;
}
"""

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
    {walk("part", _axes("i", inside, "at"))}
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
    unsigned size{_parameters(outside, inside)}) {{
  const unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const unsigned lane = threadIdx.x % LANES;
  if (row >= rows) return;
  unsigned rest = row;
  long long first = 0;
  {walk("rest", _axes("o", outside, "first"))}
  {largest}
  V found = {fold.start};
  {loop.replace("BODY", f"found = JOIN(found, {fold.each});")}
  found = over_lanes(found);
  if (lane == 0) y[row] = write({fold.end});
}}
"""
    return cupy.RawKernel(source, "reduce")


FACTORS = {
    "variance": ("(v - mean) * (v - mean)", "rsqrtf(sum / size + epsilon)"),
    "rms": ("v * v", "rsqrtf(sum / size + epsilon)"),
    "l1": ("fabsf(v)", "1.0f / sum"),
    "l2": ("v * v", "rsqrtf(sum)"),
}
"""What is summed up in a row, and what its elements are multiplied with."""


@cache
def _normalisation(
    precision: Precision, kind: str, scale: bool, bias: bool, outside: int, inside: int, held: int
) -> Any:
    """`held` elements a thread are read once; with 0, rows are read as often as they are used."""
    each, factor = FACTORS[kind]
    find = f"""unsigned part = i, mine = first_mine;
    long long at = first;
    {walk("part", _axes("i", inside, "at", "mine"))}"""
    read = "const float v = load(x[at]);"
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
extern "C" __global__ void normalise_rows(const T* __restrict__ x, const T* __restrict__ scale,
    const T* __restrict__ bias, T* __restrict__ y, unsigned size,
    float epsilon{_parameters(outside, inside)}) {{
  unsigned rest = blockIdx.x, first_mine = 0;
  long long first = 0;
  {walk("rest", _axes("o", outside, "first", "first_mine"))}
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
