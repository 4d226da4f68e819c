"""The statements of a section: its reductions, then its results."""

from collections.abc import Hashable, Mapping, Sequence
from math import gcd, prod

from benanza_runner.cuda.calls.region import JOINED, Reduced, Region
from benanza_runner.cuda.elements import IN_MEMORY, variable
from benanza_runner.cuda.kernels.regions.body import (
    LANE,
    Body,
    Condition,
    Names,
    by_lane,
    lane,
)
from benanza_runner.cuda.kernels.regions.elements import Elements, Indices, OperandMemory
from benanza_runner.cuda.kernels.regions.index import (
    ZERO,
    Index,
    Variable,
    loop,
    parted,
    total,
    unflattened,
)
from benanza_runner.cuda.kernels.regions.loop_nest import LoopAxis, LoopNest, in_memory_order
from benanza_runner.cuda.kernels.regions.section import Section
from benanza_runner.cuda.kernels.regions.threads import SectionSize
from benanza_runner.cuda.unsupported import UnsupportedError

MOST_REPEATED = 64
"""So many elements are reduced by one thread, if it needs them for a row of its own."""

_START = {"sum": "0", "prod": "1", "max": "-LARGEST - 1", "min": "LARGEST"}
_LARGEST = {
    "float": "__int_as_float(0x7f800000)",
    "int": "0x7fffffff",
    "long long": "0x7fffffffffffffffLL",
}


class SectionWriter:
    """Writes the statements of a section."""

    def __init__(
        self,
        region: Region,
        operands: Mapping[str, OperandMemory],
        section: Section,
        width: int,
        names: Names,
        tile: int = 1,
    ) -> None:
        self._region = region
        self._operands = operands
        self._section = section
        self._names = names
        inner = section.inner
        fastest = section.axes[-1] if section.axes else LoopAxis("", 1)
        self._width = gcd(width, fastest.size) if inner and inner[-1] == fastest else 1
        # A row of one result has no other loop than that of its reduction.
        self._reduced_width = self._width if prod(axis.size for axis in inner) > 1 else width
        self._elements = {
            pack_width: Elements(region, operands, pack_width, names)
            for pack_width in {1, self._width, self._reduced_width}
        }
        self._of_row: list[str] = []
        self._known_of_row: dict[Hashable, str] = {}
        self._rows = section.rows or frozenset()
        self._tile = tile if _is_tiled(section, tile) else 1
        rows = prod(axis.size for axis in section.outer)
        packs = prod(axis.size for axis in inner) // self._width // self._tile
        self.size = SectionSize(rows, packs, packs, section.rows is not None)

    @property
    def by_row(self) -> bool:
        """Whether some operand has the same elements of rows next to each other, once written."""
        places = [place for elements in self._elements.values() for place in elements.read]
        return any(
            step == 1 and variable.of and variable.of <= self._rows
            for place in places
            for variable, step in place.terms
            if place.high >= self.size.rows  # Not those that all rows share.
        )

    @property
    def loads(self) -> int:
        """The number of places that are loaded from, once written."""
        return sum(len(elements.read) for elements in self._elements.values())

    @property
    def loads_by_element(self) -> int:
        """The number of loads of single elements, once written."""
        return sum(elements.loads_by_element for elements in self._elements.values())

    def lines(self) -> list[str]:
        """All statements of the section."""
        section = self._section
        if section.rows is None:
            return [
                "#pragma unroll",
                "for (int n = 0; n < TURNS; ++n) {",
                "const int own = (block * TURNS + n) * blockDim.y + threadIdx.y;",
                "const int at = own * (blockDim.x * CLUSTER) + THREAD;",
                f"if (at < {self.size.packs}) {{",
                *self._results(self._tiles(), "true"),
                "}}",
            ]
        loops = _counted("row", section.outer, 1) | _counted("i", section.inner, self._width)
        results = self._results([loops], "there")
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

    def _tiles(self) -> list[dict[str, Index]]:
        """The indices of the loops for each pack of a thread, next to each other on the axis before
        the fastest.
        """
        axes = [*self._section.axes]
        if self._tile == 1:
            return [_counted("at", axes, self._width)]
        name, size = axes[-2]
        axes[-2] = LoopAxis(name, size // self._tile)
        loops = _counted("at", axes, self._width)
        return [
            loops | {name: total((loops[name], self._tile), constant=pack)}
            for pack in range(self._tile)
        ]

    def _results(self, tiles: list[dict[str, Index]], there: str) -> list[str]:
        """The statements that compute and store the results, at each of these indices of loops."""
        of_row = None if self._section.rows is None else self._of_row
        body = Body(self._known_of_row, of_row, self._rows)
        elements = self._elements[self._width]
        after = []
        for number, loops in enumerate(tiles):
            indices = self._section.indices(loops)
            place = _place(self._section, loops)
            for position, value in zip(self._section.results, self._section.values, strict=True):
                name = elements.element(value, indices, body, self._reduced)
                element = self._region.values[value].element
                kind = IN_MEMORY.get(element, "T")
                stored = f"({kind})({name})" if element else f"store({name})"
                if self._width > 1:
                    out = f"out{position}_{number}"
                    body.before.append(f"Pack<{kind}, {self._width}> {out};")
                    body.each.append(f"{out}.v[{LANE}] = {stored};")
                    parts = parted(place, self._width)
                    assert parts is not None
                    after.append(
                        f"if ({there}) reinterpret_cast<Pack<{kind}, {self._width}>*>(q{position})"
                        f"[{parts[0].text()}] = {out};"
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

    def _reduced(self, value: int, indices: Indices, body: Body) -> str:
        """A reduction, by all threads of a row together or, where it must be, by each alone."""
        of = frozenset[str]().union(*(index.of for index in indices))
        if not of <= self._rows:
            return self._reduced_alone(value, indices, body)
        known = self._known_of_row.get((value, indices))
        if known is not None:
            return known
        reduced = self._value(value)
        nest = self._nest(reduced, indices)
        width = gcd(self._reduced_width, nest.axes[-1].size)
        width = width if width == self._reduced_width else 1
        counter = self._names.new("i")
        places = nest.places(indices, _counted(counter, nest.axes, width))
        within = Body(self._known_of_row, self._of_row, self._rows)
        element = self._elements[width].element(reduced.input, places, within, self._reduced)
        name, kind = self._started(reduced)
        packs = prod(axis.size for axis in nest.axes) // width
        self.size = self.size._replace(longest=max(packs, self.size.longest))
        join = f"[]({kind} a, {kind} b) {{ return {_joined(reduced.kind, 'a', 'b')}; }}"
        within.each.append(f"{name} = {_joined(reduced.kind, name, element)};")
        self._of_row += [
            f"{kind} {name} = {_start(reduced.kind, kind)};",
            *self._loop(counter, packs, self._pass(within, width)),
            f"{name} = over_lanes({name}, {join});",
        ]
        self._known_of_row[value, indices] = name
        return name

    def _nest(self, reduced: Reduced, indices: Indices) -> LoopNest:
        shape = self._region.values[reduced.input].shape
        sizes = {axis: shape[axis] for axis in reduced.axes}
        return in_memory_order(self._region, self._operands, reduced.input, indices, sizes)

    def _reduced_alone(self, value: int, indices: Indices, body: Body) -> str:
        reduced = self._value(value)
        shape = self._region.values[reduced.input].shape
        length = prod(shape[axis] for axis in reduced.axes)
        if length > MOST_REPEATED:
            raise UnsupportedError("a reduction of rows is needed for several rows at once")
        name, kind = self._started(reduced)
        lines = body.lines(by_lane=any(map(by_lane, indices)))
        lines.append(f"{kind} {name} = {_start(reduced.kind, kind)};")
        places, loops = list(indices), []
        for axis in reduced.axes:
            counter = self._names.new("k")
            places[axis] = loop(counter, shape[axis])
            loops.append(f"for (int {counter} = 0; {counter} < {shape[axis]}; ++{counter}) ")
        lines.append("".join(loops))
        with body.branch(Condition("true", by_lane=True), lines):
            element = self._elements[1].element(reduced.input, tuple(places), body, self._reduced)
            lines.append(f"{name} = {_joined(reduced.kind, name, element)};")
        body.remember((value, indices), name)
        return name

    def _value(self, value: int) -> Reduced:
        reduced = self._region.values[value]
        assert isinstance(reduced, Reduced)
        return reduced

    def _started(self, reduced: Reduced) -> tuple[str, str]:
        return self._names.new("r"), variable(reduced.element)


def _is_tiled(section: Section, tile: int) -> bool:
    """Whether a thread may compute so many packs next to each other."""
    return section.rows is None and len(section.axes) > 1 and section.axes[-2].size % tile == 0


def _counted(counter: str, axes: Sequence[LoopAxis], width: int) -> dict[str, Index]:
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
    place = Index(())
    for axis in section.axes:
        place = total((place, axis.size), (loops[axis.name], 1))
    return place


def _start(kind: str, variable: str) -> str:
    return _START[kind].replace("LARGEST", _LARGEST[variable])


def _joined(kind: str, a: str, b: str) -> str:
    return JOINED[kind].format(a=a, b=b)
