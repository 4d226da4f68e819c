"""Which results of a region are computed in one pass, and in which loops."""

from typing import NamedTuple

from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.calls.region import Reduced, Region, Reshaped
from benanza_runner.cuda.kernels.regions.body import Body, Names
from benanza_runner.cuda.kernels.regions.elements import Elements, Indices, OperandMemory
from benanza_runner.cuda.kernels.regions.index import Index, flattened, loop, unflattened
from benanza_runner.cuda.kernels.regions.loop_nest import MOST_SPLITS, LoopAxis
from benanza_runner.cuda.layouts import Order


class RegionResult(NamedTuple):
    """A result: its value, and its axes from the slowest to the fastest in memory."""

    value: int
    order: tuple[int, ...]


class Section(NamedTuple):
    """Results that are computed together.

    `results` are the positions of the region's outputs, `values` the values that they are, all of
    the same `shape`. The loops go over `axes`, in the order in which results lie in memory; `order`
    is that of the shape. `rows` names those axes that decide on the row of a reduction: with none,
    there are no reductions.
    """

    results: tuple[int, ...]
    values: tuple[int, ...]
    shape: tuple[int, ...]
    order: tuple[int, ...]
    axes: tuple[LoopAxis, ...]
    rows: frozenset[str] | None

    def indices(self, loops: dict[str, Index]) -> Indices:
        """The index on each axis of the shape, given those of the loops."""
        sizes = tuple(axis.size for axis in self.axes)
        flat_index = flattened(tuple(loops[axis.name] for axis in self.axes), sizes)
        in_memory = unflattened(flat_index, tuple(self.shape[axis] for axis in self.order))
        return tuple(in_memory[self.order.index(axis)] for axis in range(len(self.shape)))

    @property
    def outer(self) -> tuple[LoopAxis, ...]:
        """The loops over rows; none if nothing is reduced."""
        return tuple(a for a in self.axes if self.rows is not None and a.name in self.rows)

    @property
    def inner(self) -> tuple[LoopAxis, ...]:
        """The loops over the elements of a row; all of them if nothing is reduced."""
        return tuple(a for a in self.axes if a not in self.outer)


def sections(
    region: Region, results: tuple[RegionResult, ...], operands: dict[str, OperandMemory]
) -> list[Section]:
    """The sections that compute all results, each once."""
    alike: dict[tuple[Shape, Order], list[tuple[int, int]]] = {}
    for position, (value, order) in enumerate(results):
        if order == tuple(range(len(order))):
            # What is only reshaped lies in memory as before.
            value = _without_reshapes(region, value)
            order = tuple(range(len(region.values[value].shape)))
        alike.setdefault((region.values[value].shape, order), []).append((position, value))
    distinct_sections = []
    for (shape, order), members in alike.items():
        positions = tuple(position for position, _ in members)
        values = tuple(value for _, value in members)
        distinct_sections.append(_with_loops(region, operands, positions, values, shape, order))
    return distinct_sections


def _without_reshapes(region: Region, value: int) -> int:
    definition = region.values[value]
    while isinstance(definition, Reshaped):
        value = definition.input
        definition = region.values[value]
    return value


def _with_loops(
    region: Region,
    operands: dict[str, OperandMemory],
    positions: tuple[int, ...],
    values: tuple[int, ...],
    shape: tuple[int, ...],
    order: tuple[int, ...],
) -> Section:
    """The section, its loops split where indices divide them."""
    sizes = [shape[axis] for axis in order]
    for _ in range(MOST_SPLITS):
        axes = tuple(LoopAxis(f"a{number}", size) for number, size in enumerate(sizes))
        section = Section(positions, values, shape, order, axes, None)
        tried = _Trial(region, operands, section)
        split_axis = next(
            (number for number, axis in enumerate(axes) if axis.name in tried.splits), None
        )
        if split_axis is None:
            return section._replace(rows=tried.rows)
        length = tried.splits[axes[split_axis].name]
        sizes[split_axis : split_axis + 1] = [sizes[split_axis] // length, length]
    return section._replace(rows=tried.rows)


class _Trial:
    """What is found out by writing a section's statements once.

    `splits` are loops that indices divide, with the lengths by which they do. `rows` are the loops
    that decide on the row of a reduction; None without reductions.
    """

    def __init__(
        self, region: Region, operands: dict[str, OperandMemory], section: Section
    ) -> None:
        self._region = region
        self._elements = Elements(region, operands, 1, Names())
        self._sizes = {axis.name: axis.size for axis in section.axes}
        self.rows: frozenset[str] | None = None
        loops = {axis.name: loop(axis.name, axis.size) for axis in section.axes}
        body = Body({})
        for value in section.values:
            self._elements.element(value, section.indices(loops), body, self._reduced)
        self.splits: dict[str, int] = {}
        for variable in self._elements.seen:
            size = self._sizes.get(variable.splits, 0)
            if variable.divisor and size > variable.divisor and size % variable.divisor == 0:
                self.splits[variable.splits] = variable.divisor

    def _reduced(self, value: int, indices: Indices, body: Body) -> str:
        reduced = self._region.values[value]
        assert isinstance(reduced, Reduced)
        of = frozenset[str]().union(*(index.of for index in indices)) & self._sizes.keys()
        self.rows = of | (self.rows or frozenset())
        for index in indices:
            self._elements.seen.update(variable for variable, _ in index.terms)
        shape = self._region.values[reduced.input].shape
        inside = tuple(
            loop(f"k{value}_{axis}", shape[axis]) if axis in reduced.axes else index
            for axis, index in enumerate(indices)
        )
        name = self._elements.element(reduced.input, inside, body, self._reduced)
        body.remember((value, indices), name)
        return name
