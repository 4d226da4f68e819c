"""The kernel of a region: sections side by side, each of them a range of blocks."""

from collections.abc import Hashable, Mapping, Sequence
from math import gcd, prod
from typing import NamedTuple

from benanza_runner.cuda.calls.region import Given, Reduced, Region
from benanza_runner.cuda.elements import IN_MEMORY, variable
from benanza_runner.cuda.kernels.regions.body import (
    LANE,
    Body,
    Condition,
    Names,
    by_lane,
    lane,
)
from benanza_runner.cuda.kernels.regions.elements import Elements, Indices, Operand
from benanza_runner.cuda.kernels.regions.index import (
    ZERO,
    Index,
    Variable,
    loop,
    parted,
    total,
    unflattened,
)
from benanza_runner.cuda.kernels.regions.section import Axis, Result, Section, sections
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Precision

NAME = "region"

MOST_REPEATED = 64
"""A reduction that a thread needs for a row of its own is computed by it alone, up to this length."""

_START = {"sum": "0", "prod": "1", "max": "-LARGEST", "min": "LARGEST"}
_JOIN = {"sum": "a + b", "prod": "a * b", "max": "a > b ? a : b", "min": "a < b ? a : b"}

_SHARED = """
template <typename U, int N> struct __align__(sizeof(U) * N > 16 ? 16 : sizeof(U) * N) Pack {
  U v[N];
};
"""

_ALONG = """
#define LANE threadIdx.x
#define OWN threadIdx.y
template <typename V, typename F> __device__ __forceinline__ V over_lanes(V v, F join) {
  #pragma unroll
  for (int offset = (LANES < 32 ? LANES : 32) / 2; offset; offset /= 2)
    v = join(v, (V)__shfl_xor_sync(0xffffffffu, v, offset));
#if LANES > 32
  __shared__ V parts[32];
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = parts[0];
  #pragma unroll
  for (int i = 1; i < LANES / 32; ++i) v = join(v, parts[i]);
#endif
  return v;
}
"""

_ACROSS = """
#define LANE threadIdx.y
#define OWN threadIdx.x
template <typename V, typename F> __device__ __forceinline__ V over_lanes(V v, F join) {
  __shared__ V parts[LANES][ROWS];
  __syncthreads();
  parts[LANE][OWN] = v;
  __syncthreads();
  v = parts[0][OWN];
  #pragma unroll
  for (int i = 1; i < LANES; ++i) v = join(v, parts[i][OWN]);
  return v;
}
"""


class Threads(NamedTuple):
    """The threads of a block: so many `lanes` share a row, for so many `rows`.

    Threads next to each other have the same row, or the next one if they lie `across`.
    """

    lanes: int
    rows: int
    across: bool = False

    def shape(self) -> tuple[int, int]:
        """As CUDA wants it."""
        return (self.rows, self.lanes) if self.across else (self.lanes, self.rows)


class SectionSize(NamedTuple):
    """How much a section has to do: `rows` of a reduction, each of so many `packs` that a thread
    computes at once; without reductions, all packs are one row.
    """

    rows: int
    packs: int
    reduces: bool

    def blocks(self, threads: Threads) -> int:
        """How many blocks of such threads it takes."""
        if self.reduces:
            return -(-self.rows // threads.rows)
        return -(-self.packs // (threads.lanes * threads.rows))


class KernelSource(NamedTuple):
    """The text, and the sizes of its sections.

    Parameters are the operands in order, and the results in order. `by_row` says whether some
    operand has the same elements of rows next to each other, rather than those of a row.
    """

    text: str
    sections: tuple[SectionSize, ...]
    by_row: bool

    def compiled_for(self, threads: Threads) -> str:
        """The text for blocks of such threads."""
        sizes = f"#define LANES {threads.lanes}\n#define ROWS {threads.rows}\n"
        blocks = "".join(
            f"#define BLOCKS{at} {section.blocks(threads)}u\n"
            for at, section in enumerate(self.sections)
        )
        return sizes + blocks + (_ACROSS if threads.across else _ALONG) + self.text


def kernel_source(
    region: Region,
    strides: Mapping[str, tuple[int, ...]],
    results: Sequence[Result],
    precision: Precision,
    width: int,
) -> KernelSource:
    """A kernel in which each thread computes up to `width` elements at once.

    `strides` holds the strides in memory of each operand, in elements. Raises `UnsupportedError`
    if a result needs a reduction for other rows than its own.
    """
    given = {v.name: v for v in region.values if isinstance(v, Given)}
    operands = {name: Operand(f"x{at}", strides[name]) for at, name in enumerate(strides)}
    parameters = [
        f"const {IN_MEMORY.get(given[name].element, 'T')}* __restrict__ x{at}"
        for at, name in enumerate(strides)
    ]
    for at, result in enumerate(results):
        kind = IN_MEMORY.get(region.values[result.value].element, "T")
        parameters.append(f"{kind}* __restrict__ q{at}")
    found = sections(region, tuple(results), operands)
    names = Names()
    parts = []
    sizes = []
    by_row = False
    for at, section in enumerate(found):
        writer = _SectionWriter(region, operands, section, width, names)
        lines = "\n    ".join(writer.lines())
        sizes.append(writer.size)
        by_row |= writer.by_row
        parts.append(
            f"  if (block < BLOCKS{at}) {{\n    {lines}\n    return;\n  }}\n  block -= BLOCKS{at};"
        )
    text = f"""{PREAMBLE[precision]}{_SHARED}
extern "C" __global__ void {NAME}({", ".join(parameters)}) {{
  unsigned block = blockIdx.x;
{chr(10).join(parts)}
}}
"""
    return KernelSource(text, tuple(sizes), by_row)


class _SectionWriter:
    """Writes the statements of a section."""

    def __init__(
        self,
        region: Region,
        operands: Mapping[str, Operand],
        section: Section,
        width: int,
        names: Names,
    ) -> None:
        self._region = region
        self._section = section
        self._names = names
        inner = section.inner if section.rows is not None else section.axes
        fastest = section.axes[-1] if section.axes else Axis("", 1)
        self._width = gcd(width, fastest.size) if inner and inner[-1] == fastest else 1
        self._elements = {
            each: Elements(region, operands, each, names) for each in {1, self._width}
        }
        self._of_row: list[str] = []
        self._known_of_row: dict[Hashable, str] = {}
        self._rows = section.rows or frozenset()
        rows = prod(axis.size for axis in section.outer) if section.rows is not None else 1
        packs = prod(axis.size for axis in inner) // self._width
        self.size = SectionSize(rows, packs, section.rows is not None)

    @property
    def by_row(self) -> bool:
        """Whether some operand has the same elements of rows next to each other, once written."""
        places = [place for each in self._elements.values() for place in each.read]
        return any(
            step == 1 and variable.of and variable.of <= self._rows
            for place in places
            for variable, step in place.terms
            if place.high >= self.size.rows  # Not those that all rows share.
        )

    def lines(self) -> list[str]:
        """All statements of the section."""
        section = self._section
        if section.rows is None:
            return [
                "const int at = (block * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;",
                f"if (at >= {self.size.packs}) return;",
                *self._results(_counted("at", section.axes, self._width), "true"),
            ]
        loops = _counted("row", section.outer, 1) | _counted("i", section.inner, self._width)
        results = self._results(loops, "there")
        return [
            "const int own = block * ROWS + OWN;",
            f"const bool there = own < {self.size.rows};",
            f"const int row = there ? own : {self.size.rows - 1};",
            *self._of_row,
            *self._loop("i", self.size.packs, results),
        ]

    def _loop(self, counter: str, turns: int, lines: list[str]) -> list[str]:
        """The turns of a loop shared out among the threads of a row.

        Where each thread has the same number of turns, and few, the loop is unrolled.
        """
        return [
            "#pragma unroll 8",
            f"for (int n = 0; n < ({turns} + LANES - 1) / LANES; ++n) {{",
            f"const int {counter} = LANE + n * LANES;",
            f"if ({turns} % LANES == 0 || {counter} < {turns}) {{",
            *lines,
            "}}",
        ]

    def _results(self, loops: dict[str, Index], there: str) -> list[str]:
        """The statements that compute and store the results, at these indices of loops."""
        body = Body(self._known_of_row)
        elements = self._elements[self._width]
        at = self._section.indices(loops)
        place = _place(self._section, loops)
        after = []
        for position, value in zip(self._section.results, self._section.values, strict=True):
            name = elements.element(value, at, body, self._reduced)
            element = self._region.values[value].element
            kind = IN_MEMORY.get(element, "T")
            stored = f"({kind})({name})" if element else f"store({name})"
            if self._width > 1:
                body.before.append(f"Pack<{kind}, {self._width}> out{position};")
                body.each.append(f"out{position}.v[{LANE}] = {stored};")
                parts = parted(place, self._width)
                assert parts is not None
                after.append(
                    f"if ({there}) reinterpret_cast<Pack<{kind}, {self._width}>*>(q{position})"
                    f"[{parts[0].text()}] = out{position};"
                )
            else:
                body.each.append(f"if ({there}) q{position}[{place.text()}] = {stored};")
        return [*self._pass(body, self._width), *after]

    def _pass(self, body: Body, width: int) -> list[str]:
        if width == 1:
            return [*body.before, *body.each]
        return [
            *body.before,
            "#pragma unroll",
            f"for (int {LANE} = 0; {LANE} < {width}; ++{LANE}) {{",
            *body.each,
            "}",
        ]

    def _reduced(self, value: int, at: Indices, body: Body) -> str:
        """A reduction, by all threads of a row together or, where it must be, by each alone."""
        of = frozenset[str]().union(*(index.of for index in at))
        if not of <= self._rows:
            return self._reduced_alone(value, at, body)
        known = self._known_of_row.get((value, at))
        if known is not None:
            return known
        found = self._value(value)
        shape = self._region.values[found.input].shape
        axes = [Axis(self._names.new("k"), shape[axis]) for axis in found.axes]
        width = gcd(self._width, axes[-1].size)
        width = width if width == self._width else 1
        counter = self._names.new("i")
        loops = _counted(counter, axes, width)
        places = list(at)
        for axis, each in zip(found.axes, axes, strict=True):
            places[axis] = loops[each.name]
        within = Body(self._known_of_row)
        element = self._elements[width].element(
            found.input, tuple(places), within, self._reduced
        )
        name, kind = self._started(found)
        packs = prod(axis.size for axis in axes) // width
        within.each.append(f"{name} = {_joined(found.kind, name, element)};")
        self._of_row += [
            f"{kind} {name} = {_start(found.kind, kind)};",
            *self._loop(counter, packs, self._pass(within, width)),
            f"{name} = over_lanes({name}, []({kind} a, {kind} b) {{ return {_JOIN[found.kind]}; }});",
        ]
        self._known_of_row[value, at] = name
        return name

    def _reduced_alone(self, value: int, at: Indices, body: Body) -> str:
        found = self._value(value)
        shape = self._region.values[found.input].shape
        length = prod(shape[axis] for axis in found.axes)
        if length > MOST_REPEATED:
            raise UnsupportedError("a reduction of rows is needed for several rows at once")
        name, kind = self._started(found)
        lines = body.lines(by_lane=any(map(by_lane, at)))
        lines.append(f"{kind} {name} = {_start(found.kind, kind)};")
        places, loops = list(at), []
        for axis in found.axes:
            counter = self._names.new("k")
            places[axis] = loop(counter, shape[axis])
            loops.append(f"for (int {counter} = 0; {counter} < {shape[axis]}; ++{counter}) ")
        lines.append("".join(loops))
        with body.branch(Condition("true", by_lane=True), lines):
            element = self._elements[1].element(found.input, tuple(places), body, self._reduced)
            lines.append(f"{name} = {_joined(found.kind, name, element)};")
        body.remember((value, at), name)
        return name

    def _value(self, value: int) -> Reduced:
        found = self._region.values[value]
        assert isinstance(found, Reduced)
        return found

    def _started(self, found: Reduced) -> tuple[str, str]:
        return self._names.new("r"), variable(found.element)


def _counted(counter: str, axes: Sequence[Axis], width: int) -> dict[str, Index]:
    """The index of each loop, by its name, where a counter goes over packs of all of them."""
    sizes = [axis.size for axis in axes]
    if not sizes:
        return {}
    sizes[-1] //= width
    whole = Variable(counter, prod(sizes), frozenset(axis.name for axis in axes))
    parts = list(unflattened(Index(((whole, 1),)) if whole.size > 1 else ZERO, tuple(sizes)))
    parts[-1] = total((parts[-1], width), (lane(width), 1))
    return {axis.name: part for axis, part in zip(axes, parts, strict=True)}


def _place(section: Section, loops: dict[str, Index]) -> Index:
    """The place of an element in the memory of a result."""
    found = Index(())
    for axis in section.axes:
        found = total((found, axis.size), (loops[axis.name], 1))
    return found


def _start(kind: str, variable: str) -> str:
    largest = "__int_as_float(0x7f800000)" if variable == "float" else "0x7fffffffffffffffLL"
    return _START[kind].replace("LARGEST", largest)


def _joined(kind: str, a: str, b: str) -> str:
    pattern = {"sum": "{a} + {b}", "prod": "{a} * {b}", "max": "{a} > {b} ? {a} : {b}"}
    return pattern.get(kind, "{a} < {b} ? {a} : {b}").format(a=a, b=b)
