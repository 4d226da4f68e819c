"""Kernels of element-wise calls, as CUDA C++."""

from math import prod
from typing import NamedTuple

from benanza_runner.cuda.calls import Elementwise, Operand, Shape
from benanza_runner.cuda.elements import IN_MEMORY, INDEX, variable
from benanza_runner.cuda.kernels.source.indexing import Axis, repeats, walk, walked
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_schemas.layer import Precision

WHOLE, REPEATED, ALIKE, ALONG, STRIDED, SHARED, NEAR, COUNTED = "wbcashni"
"""How an operand is read at output index `i`, in this order:

- whole: the element `i`;
- repeated: the element `(i // inner) % size`;
- alike: the same, which is one element for all outputs of a thread;
- along: the same, which lie next to each other as the outputs of a thread do;
- strided: the element at the place of `i` on each axis;
- shared: the same, which is one element for all outputs of a thread;
- near: the same, which lie next to each other as the outputs of a thread do;
- counted: not at all, because it is the number `(i // inner) % size` itself.
"""

PLACED = REPEATED + ALIKE + ALONG + COUNTED
"""The ways that have an `inner` and a `size`."""

WALKED = STRIDED + SHARED + NEAR
"""The ways that have a stride for each axis that is walked."""


class OperandReadings(NamedTuple):
    """How the operands of a call are read in an order of axes.

    `kinds` has one of the above for each operand, `numbers` are arguments of the kernel, and `axes`
    is how many axes it walks for strided operands.
    """

    kinds: str
    numbers: tuple[int, ...]
    axes: int


def reading(call: Elementwise, order: tuple[int, ...]) -> OperandReadings:
    """How operands are read if the output has its axes in this order."""
    kinds = "".join(_kind(operand, call.output, order) for operand in call.operands)
    numbers: list[int] = []
    for operand, kind in zip(call.operands, kinds, strict=True):
        if kind in PLACED:
            numbers += repeats(call.output, operand.axes, order) or ()
    strided = [o for o, kind in zip(call.operands, kinds, strict=True) if kind == STRIDED]
    walk = walked(call.output, [operand.axes for operand in strided], order)
    if strided:
        numbers += (*walk.lengths, *(step for steps in walk.steps for step in steps))
    return OperandReadings(kinds, tuple(numbers), len(walk.lengths))


def _kind(operand: Operand, output: Shape, order: tuple[int, ...]) -> str:
    if operand.element == INDEX:
        return COUNTED
    if prod(operand.shape) == prod(output):
        return WHOLE
    return REPEATED if repeats(output, operand.axes, order) else STRIDED


def by_thread(call: Elementwise, kinds: str, order: tuple[int, ...], width: int) -> str:
    """The kinds for threads that compute `width` elements each: then more is known of some."""
    strided = [o.axes for o, kind in zip(call.operands, kinds, strict=True) if kind == STRIDED]
    walk = walked(call.output, strided, order)
    fastest = {axes: steps[-1] for axes, steps in zip(strided, walk.steps, strict=True)}
    known = []
    for operand, kind in zip(call.operands, kinds, strict=True):
        if kind == REPEATED:
            kind = _repeated(operand, call.output, order, width)
        elif kind == STRIDED and width > 1 and walk.lengths[-1] % width == 0:
            kind = NEAR if fastest[operand.axes] else SHARED
        known.append(kind)
    return "".join(known)


def _repeated(operand: Operand, output: Shape, order: tuple[int, ...], width: int) -> str:
    inner, size = repeats(output, operand.axes, order) or (1, 1)
    if width > 1 and (inner % width == 0 or size == 1):
        return ALIKE
    return ALONG if width > 1 and inner == 1 and size % width == 0 else REPEATED


def source(
    written: tuple[tuple[str, ...], str, str],
    kinds: str,
    types: tuple[str, ...],
    precision: Precision,
    width: int,
    rank: int,
) -> str:
    """A kernel in which each thread computes `width` elements next to each other.

    `written` holds the statements, the name of the result and its element type; `kinds` and
    `types` have one item for each operand; `rank` counts the axes of what is strided.
    """
    statements, result, element = written
    count = range(len(kinds))
    memory = [IN_MEMORY.get(kind, "T") for kind in types]
    target = IN_MEMORY.get(element, "T")
    parameters = [f"const {memory[i]}* __restrict__ p{i}" for i in count if kinds[i] != COUNTED]
    parameters += [f"{target}* __restrict__ q", "unsigned packs"]
    parameters += [f"unsigned inner{i}, unsigned size{i}" for i in count if kinds[i] in PLACED]
    walked_operands = [i for i in count if kinds[i] in WALKED]
    if walked_operands:
        parameters += [f"unsigned n{axis}" for axis in range(rank)]
        parameters += [f"unsigned s{i}_{axis}" for i in walked_operands for axis in range(rank)]
    wide = [
        f"const Pack<{memory[i]}> w{i} = reinterpret_cast<const Pack<{memory[i]}>*>(p{i})[at];"
        for i in count
        if kinds[i] == WHOLE
    ]
    wide += [
        f"const Pack<{memory[i]}> w{i} = "
        f"reinterpret_cast<const Pack<{memory[i]}>*>(p{i})[at % (size{i} / {width}u)];"
        for i in count
        if kinds[i] == ALONG
    ]
    wide += [
        f"const {memory[i]} a{i} = p{i}[at * {width}u / inner{i} % size{i}];"
        for i in count
        if kinds[i] == ALIKE
    ]
    wide += _walk([i for i in walked_operands if kinds[i] != STRIDED], f"at * {width}u", rank)
    wide += [
        f"const Pack<{memory[i]}> w{i} = "
        f"reinterpret_cast<const Pack<{memory[i]}>*>(p{i})[o{i} / {width}u];"
        for i in count
        if kinds[i] == NEAR
    ]
    wide += [f"const {memory[i]} a{i} = p{i}[o{i}];" for i in count if kinds[i] == SHARED]
    lines = _walk([i for i in walked_operands if kinds[i] == STRIDED], "i", rank)
    for i in count:
        place = f"i / inner{i} % size{i}"
        where = {
            WHOLE: f"w{i}.v[j]",
            ALONG: f"w{i}.v[j]",
            NEAR: f"w{i}.v[j]",
            ALIKE: f"a{i}",
            SHARED: f"a{i}",
            REPEATED: f"p{i}[{place}]",
            STRIDED: f"p{i}[o{i}]",
        }
        value = where.get(kinds[i], place)
        value = value if types[i] else f"load({value})"
        lines.append(f"const {_variable(types[i])} in{i} = {value};")
    lines += [f"const {line}" for line in statements]
    lines.append(f"out.v[j] = {f'({target})({result})' if element else f'store({result})'};")
    body = "\n    ".join(lines)
    return f"""{PREAMBLE[precision]}
template <typename U> struct __align__(sizeof(U) * {width}) Pack {{ U v[{width}]; }};
extern "C" __global__ void chain({", ".join(parameters)}) {{
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= packs) return;
  {" ".join(wide)}
  Pack<{target}> out;
  #pragma unroll
  for (unsigned j = 0; j < {width}u; ++j) {{
    const unsigned i = at * {width}u + j;
    {body}
  }}
  reinterpret_cast<Pack<{target}>*>(q)[at] = out;
}}
"""


def _variable(kind: str) -> str:
    return "long long" if kind == INDEX else variable(kind)


def _walk(walked_operands: list[int], index: str, rank: int) -> list[str]:
    """Statements that find the offset `o` of each of these operands at an index."""
    if not walked_operands:
        return []
    axes = [
        Axis(f"n{axis}", [(f"o{i}", f"s{i}_{axis}") for i in walked_operands])
        for axis in range(rank)
    ]
    found = " ".join(f"unsigned o{i} = 0;" for i in walked_operands)
    return [found, f"{{ unsigned rest = {index};\n  {walk('rest', axes)} }}"]
