"""Statements of C that compute elements of a region's values at some index.

A value is computed where it is read: what lies between it and the operands is only arithmetic of
indices.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.calls.region import (
    AxisIndex,
    Concatenated,
    Gathered,
    GatheredByElement,
    Given,
    Padded,
    Pointwise,
    Reduced,
    Region,
    Reindexed,
    Reshaped,
    Rolled,
)
from benanza_runner.cuda.elements import IN_MEMORY, variable
from benanza_runner.cuda.kernels.regions.body import (
    LANE,
    LOCAL,
    Body,
    Condition,
    Names,
    by_lane,
)
from benanza_runner.cuda.kernels.regions.index import (
    ZERO,
    Index,
    Variable,
    flattened,
    number,
    parted,
    remainder,
    total,
    unflattened,
)

Indices = tuple[Index, ...]

Reduce = Callable[[int, Indices, Body], str]
"""Writes what computes a `Reduced` value, by its number; the variable that holds it."""


class OperandMemory(NamedTuple):
    """Where an operand is in memory: the parameter, and the stride of each axis in elements."""

    pointer: str
    strides: Shape


class Elements:
    """Writes the statements for a region whose operands lie in memory like this.

    A thread reads and writes `width` elements at once. `seen` collects the variables of all indices
    that were used, and `read` the places in operands; `loads_by_element` counts the loads of single
    elements, once the loops over the elements of a thread are unrolled.
    """

    def __init__(
        self, region: Region, operands: Mapping[str, OperandMemory], width: int, names: Names
    ) -> None:
        self._region = region
        self._operands = operands
        self._width = width
        self._names = names
        self.seen: set[Variable] = set()
        self.read: list[Index] = []
        self.loads_by_element = 0

    def element(self, value: int, indices: Indices, body: Body, reduce: Reduce) -> str:
        """The variable that holds the element of a value at these indices."""
        definition = self._region.values[value]
        match definition:
            case Reshaped():
                inputs = self._region.values[definition.input]
                index = flattened(indices, definition.shape)
                return self.element(
                    definition.input, unflattened(index, inputs.shape), body, reduce
                )
            case Reindexed():
                moved = tuple(
                    number(start) if axis < 0 else total((indices[axis], step), constant=start)
                    for axis, start, step in zip(
                        definition.axes, definition.starts, definition.steps, strict=True
                    )
                )
                return self.element(definition.input, moved, body, reduce)
            case Rolled():
                size = definition.shape[definition.axis]
                index = remainder(
                    total((indices[definition.axis], 1), constant=definition.shift), size
                )
                moved = (*indices[: definition.axis], index, *indices[definition.axis + 1 :])
                return self.element(definition.input, moved, body, reduce)
        known = body.find((value, indices))
        if known is not None:
            return known
        match definition:
            case Given():
                return self._loaded(value, definition, indices, body)
            case AxisIndex():
                name = self._declared(
                    "long long", indices, body, f"{indices[definition.axis].text()}"
                )
            case Pointwise():
                name = self._computed(definition, indices, body, reduce)
            case Reduced():
                return reduce(value, indices, body)
            case Concatenated():
                name = self._concatenated(definition, indices, body, reduce)
            case Padded():
                name = self._padded(definition, indices, body, reduce)
            case Gathered():
                return self._gathered(definition, indices, body, reduce)
            case GatheredByElement():
                name = self._gathered_by_element(definition, indices, body, reduce)
        body.remember((value, indices), name)
        return name

    def _declared(self, kind: str, indices: Indices, body: Body, expression: str) -> str:
        name = self._names.new("v")
        body.lines(by_lane=_any_by_lane(indices)).append(f"const {kind} {name} = {expression};")
        return name

    def _loaded(self, value: int, given: Given, indices: Indices, body: Body) -> str:
        pointer, strides = self._operands[given.name]
        offset = total(*zip(indices, strides, strict=True))
        self.seen.update(variable for variable, _ in offset.terms)
        self.read.append(offset)
        guard = body.guard()
        if by_lane(offset) and guard is not None and self._is_pack(offset):
            place = self._pack(pointer, given.element, offset, guard, body)
        else:
            self.loads_by_element += self._width if by_lane(offset) else 1
            place = f"{pointer}[{offset.text()}]"
        expression = place if given.element else f"load({place})"
        kind = variable(given.element)
        name = self._declared(kind, indices, body, expression)
        body.remember((value, indices), name)
        return name

    def _is_pack(self, offset: Index) -> bool:
        """Whether the elements of a thread lie next to each other, from a multiple of the width."""
        parts = parted(offset, self._width)
        return parts is not None and not by_lane(parts[0]) and parts[1].constant == 0

    def _pack(self, pointer: str, element: str, offset: Index, guard: str, body: Body) -> str:
        parts = parted(offset, self._width)
        assert parts is not None
        key = pointer, parts[0]
        name = body.find(key)
        if name is None:
            name = self._names.new("w")
            kind = f"Pack<{IN_MEMORY.get(element, 'T')}, {self._width}>"
            body.before.append(f"{kind} {name};")
            read = f"{name} = reinterpret_cast<const {kind}*>({pointer})[{parts[0].text()}];"
            body.before.append(f"if ({guard}) {read}" if guard else read)
            if not guard:
                body.remember_before(key, name)
        return f"{name}.v[{parts[1].text()}]"

    def _computed(self, pointwise: Pointwise, indices: Indices, body: Body, reduce: Reduce) -> str:
        names = []
        for value in pointwise.inputs:
            shape = self._region.values[value].shape
            mine = indices[len(indices) - len(shape) :]
            places = tuple(
                ZERO if size == 1 else index for index, size in zip(mine, shape, strict=True)
            )
            names.append((value, self.element(value, places, body, reduce)))
        name = self._names.new("v")
        kinds = [variable(self._region.values[value].element) for value, _ in names]
        read = "".join(
            f" const {kind} in{position} = {given};"
            for position, (kind, (_, given)) in enumerate(zip(kinds, names, strict=True))
        )
        statements = "".join(f" {line}" for line in pointwise.statements)
        body.lines(by_lane=_any_by_lane(indices)).append(
            f"{variable(pointwise.element)} {name}; "
            f"{{{read}{statements} {name} = {pointwise.result}; }}"
        )
        return name

    def _concatenated(
        self, concatenated: Concatenated, indices: Indices, body: Body, reduce: Reduce
    ) -> str:
        name = self._names.new("v")
        lines = body.lines(by_lane=_any_by_lane(indices))
        lines.append(f"{variable(concatenated.element)} {name} = 0;")
        start = 0
        for value in concatenated.inputs:
            length = self._region.values[value].shape[concatenated.axis]
            index, condition = self._within(indices[concatenated.axis], start, length, lines, body)
            start += length
            if condition is not None:
                places = (*indices[: concatenated.axis], index, *indices[concatenated.axis + 1 :])
                with body.branch(condition, lines):
                    lines.append(f"{name} = {self.element(value, places, body, reduce)};")
        return name

    def _padded(self, padded: Padded, indices: Indices, body: Body, reduce: Reduce) -> str:
        name = self._names.new("v")
        lines = body.lines(by_lane=_any_by_lane(indices))
        lines.append(f"{variable(padded.element)} {name} = {padded.fill};")
        given = self._region.values[padded.input].shape
        places, conditions = [], []
        for index, before, size in zip(indices, padded.before, given, strict=True):
            place, condition = self._within(index, before, size, lines, body)
            if condition is None:
                return name
            places.append(place)
            conditions.append(condition)
        text = " && ".join(test.text for test in conditions)
        inside = Condition(text, any(test.by_lane for test in conditions))
        with body.branch(inside, lines):
            lines.append(f"{name} = {self.element(padded.input, tuple(places), body, reduce)};")
        return name

    def _within(
        self, index: Index, start: int, length: int, lines: list[str], body: Body
    ) -> tuple[Index, Condition | None]:
        """An index counted from `start`, and the condition that it is at least 0 and less than
        `length`; None if it never is.
        """
        width = self._width if start % self._width == length % self._width == 0 else 1
        whole, rest = parted(index, width) or (index, ZERO)
        if whole is index:
            width = 1
        low, high = start // width, (start + length) // width
        if whole.high < low or whole.low >= high:
            return index, None
        self.seen.update(variable for variable, _ in whole.terms)
        bounds = []
        if whole.low < low:
            bounds.append(f"{whole.text()} >= {low}")
        if whole.high >= high:
            bounds.append(f"{whole.text()} < {high}")
        if not bounds:
            return total((index, 1), constant=-start), Condition("true", by_lane=False)
        name = self._names.new("p")
        early = not by_lane(whole) and body.guard() is not None
        target = body.before if early else lines
        target.append(f"const int {name} = {whole.text()} - {low};")
        fresh = Index(((Variable(name, high - low, whole.of | {LOCAL}), 1),))
        condition = Condition(f"({' && '.join(bounds)})", by_lane(whole))
        return total((fresh, width), (rest, 1)), condition

    def _gathered(self, gathered: Gathered, indices: Indices, body: Body, reduce: Reduce) -> str:
        shape = self._region.values[gathered.indices].shape
        length = self._region.values[gathered.input].shape[gathered.axis]
        after = gathered.axis + len(shape)
        places = tuple(
            ZERO if size == 1 else index
            for index, size in zip(indices[gathered.axis : after], shape, strict=True)
        )
        of = frozenset[str]().union(*(place.of for place in places))
        lines = body.lines_of_row(of)
        if lines is None:
            index = self.element(gathered.indices, places, body, reduce)
            lines = body.lines(by_lane=_any_by_lane(places))
            of |= {LOCAL} if lines is body.before else {LOCAL, LANE}
        else:
            before = Body({})
            index = self.element(gathered.indices, places, before, reduce)
            lines += [*before.before, *before.each]
        row = self._named(index, length, of, lines)
        moved = (*indices[: gathered.axis], row, *indices[after:])
        return self.element(gathered.input, moved, body, reduce)

    def _gathered_by_element(
        self, gathered: GatheredByElement, indices: Indices, body: Body, reduce: Reduce
    ) -> str:
        length = self._region.values[gathered.input].shape[gathered.axis]
        index = self.element(gathered.indices, indices, body, reduce)
        lines = body.lines(by_lane=_any_by_lane(indices))
        of = frozenset[str]().union(*(axis_index.of for axis_index in indices))
        of |= {LOCAL} if lines is body.before else {LOCAL, LANE}
        place = self._named(index, length, of, lines)
        moved = (*indices[: gathered.axis], place, *indices[gathered.axis + 1 :])
        return self.element(gathered.input, moved, body, reduce)

    def _named(self, index: str, length: int, of: frozenset[str], lines: list[str]) -> Index:
        """An index on an axis of this length that an operand has, declared in these lines."""
        name = self._names.new("p")
        lines.append(f"const int {name} = {index} < 0 ? {index} + {length} : {index};")
        return Index(((Variable(name, length, of), 1),))


def _any_by_lane(indices: Indices) -> bool:
    return any(map(by_lane, indices))
