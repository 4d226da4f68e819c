"""Element-wise calls: one generated kernel, compiled through CuPy.

Sizes are arguments, so calls of the same statements share a compiled kernel.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.arrays import BYTES
from benanza_runner.cuda.bench import Bench
from benanza_runner.cuda.calls import Elementwise, Operand
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.storage import PREAMBLE
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

LIBRARY = "cupy"
THREADS = (128, 256)
WIDE_BYTES = 16
"""The widest access that a thread makes at once."""


class ElementwiseKernels:
    """Candidates for element-wise calls: layouts, widths of access, threads in a block."""

    library = LIBRARY

    def candidates(self, bench: Bench) -> Iterator[Candidate | Variant]:
        call = bench.call
        if not isinstance(call, Elementwise):
            return
        elements = prod(call.output)
        whole = all(prod(operand.shape) in (1, elements) for operand in call.operands)
        rank = len(call.output)
        layouts = [("", tuple(range(rank)))]
        if rank >= 3 and not whole:
            layouts = list(bench.layouts(rank))
        for layout, order in layouts:
            yield from _candidates(bench, call, layout, order)


def _candidates(
    bench: Bench, call: Elementwise, layout: str, order: tuple[int, ...]
) -> Iterator[Candidate | Variant]:
    elements = prod(call.output)
    result = bench.result(call.output, order)
    steps = [_steps(operand, call.output, order) for operand in call.operands]
    if any(step is None for step in steps) or elements >= 2**31:
        yield refused(LIBRARY, "kernel", layout, "the broadcast is along axes that are apart")
        return
    found = [step for step in steps if step is not None]
    inputs = []
    for index, operand in enumerate(call.operands):
        full = (1,) * (len(call.output) - len(operand.shape)) + operand.shape
        inputs.append(bench.expanded(f"in{index}", full, order).array)
    wide = WIDE_BYTES // BYTES[bench.precision]
    kinds = "".join("w" if step == (1, elements) else "b" for step in found)
    for width in (1, wide // 2, wide):
        if elements % width or (width > 1 and elements < 4096):
            continue
        kernel = _kernel(call.statements, call.result, kinds, bench.precision, width)
        sizes = [np.uint32(number) for step in found for number in step]
        arguments = (*inputs, result.array, np.uint32(elements // width), *sizes)
        for threads in THREADS:
            blocks = -(-elements // (width * threads))
            name = f"elementwise kernel ({width} wide, {threads} threads)"
            run = _launch(kernel, blocks, threads, arguments)
            yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


def _launch(kernel: Any, blocks: int, threads: int, arguments: tuple[Any, ...]) -> Any:
    return lambda: kernel((blocks,), (threads,), arguments)


def _steps(
    operand: Operand, output: tuple[int, ...], order: tuple[int, ...]
) -> tuple[int, int] | None:
    """`inner` and `size`: at output index i in this order lies element (i // inner) % size."""
    if prod(operand.shape) == prod(output):
        return 1, prod(output)
    if not operand.axes:
        return 1, 1
    places = sorted(order.index(axis) for axis in operand.axes)
    if places != list(range(places[0], places[-1] + 1)):
        return None
    inner = prod(output[axis] for axis in order[places[-1] + 1 :])
    return inner, prod(output[axis] for axis in operand.axes)


@cache
def _kernel(
    statements: tuple[str, ...], result: str, kinds: str, precision: Precision, width: int
) -> Any:
    return cupy.RawKernel(source(statements, result, kinds, precision, width), "chain")


def source(
    statements: tuple[str, ...], result: str, kinds: str, precision: Precision, width: int
) -> str:
    """A kernel in which each thread computes `width` elements next to each other.

    `kinds` says of each operand whether it is read as a whole (`w`) or repeated (`b`).
    """
    count = range(len(kinds))
    pointers = "".join(f"const T* __restrict__ p{i}, " for i in count)
    sizes = "".join(f", unsigned inner{i}, unsigned size{i}" for i in count)
    wide = [
        f"const Pack w{i} = reinterpret_cast<const Pack*>(p{i})[at];"
        for i in count
        if kinds[i] == "w"
    ]
    reads = [
        f"const float in{i} = load(w{i}.v[j]);"
        if kinds[i] == "w"
        else f"const float in{i} = load(p{i}[(at * {width}u + j) / inner{i} % size{i}]);"
        for i in count
    ]
    lines = [*reads, *(f"const {line}" for line in statements), f"out.v[j] = store({result});"]
    body = "\n    ".join(lines)
    return f"""{PREAMBLE[precision]}
struct __align__(sizeof(T) * {width}) Pack {{ T v[{width}]; }};
extern "C" __global__ void chain({pointers}T* __restrict__ q, unsigned packs{sizes}) {{
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= packs) return;
  {" ".join(wide)}
  Pack out;
  #pragma unroll
  for (unsigned j = 0; j < {width}u; ++j) {{
    {body}
  }}
  reinterpret_cast<Pack*>(q)[at] = out;
}}
"""
