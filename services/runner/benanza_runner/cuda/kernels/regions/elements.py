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

    def element(self, value: int, at: Indices, body: Body, reduce: Reduce) -> str:
        """The variable that holds the element of a value at these indices."""
        found = self._region.values[value]
        match found:
            case Reshaped():
                inputs = self._region.values[found.input]
                index = flattened(at, found.shape)
                return self.element(found.input, unflattened(index, inputs.shape), body, reduce)
            case Reindexed():
                moved = tuple(
                    number(start) if axis < 0 else total((at[axis], step), constant=start)
                    for axis, start, step in zip(found.axes, found.starts, found.steps, strict=True)
                )
                return self.element(found.input, moved, body, reduce)
            case Rolled():
                size = found.shape[found.axis]
                index = remainder(total((at[found.axis], 1), constant=found.shift), size)
                moved = (*at[: found.axis], index, *at[found.axis + 1 :])
                return self.element(found.input, moved, body, reduce)
        known = body.find((value, at))
        if known is not None:
            return known
        match found:
            case Given():
                return self._loaded(value, found, at, body)
            case AxisIndex():
                name = self._declared("long long", at, body, f"{at[found.axis].text()}")
            case Pointwise():
                name = self._computed(found, at, body, reduce)
            case Reduced():
                return reduce(value, at, body)
            case Concatenated():
                name = self._concatenated(found, at, body, reduce)
            case Padded():
                name = self._padded(found, at, body, reduce)
            case Gathered():
                return self._gathered(found, at, body, reduce)
            case GatheredByElement():
                name = self._gathered_by_element(found, at, body, reduce)
        body.remember((value, at), name)
        return name

    def _declared(self, kind: str, at: Indices, body: Body, expression: str) -> str:
        name = self._names.new("v")
        body.lines(by_lane=_any_by_lane(at)).append(f"const {kind} {name} = {expression};")
        return name

    def _loaded(self, value: int, found: Given, at: Indices, body: Body) -> str:
        pointer, strides = self._operands[found.name]
        offset = total(*zip(at, strides, strict=True))
        self.seen.update(variable for variable, _ in offset.terms)
        self.read.append(offset)
        guard = body.guard()
        if by_lane(offset) and guard is not None and self._is_pack(offset):
            place = self._pack(pointer, found.element, offset, guard, body)
        else:
            self.loads_by_element += self._width if by_lane(offset) else 1
            place = f"{pointer}[{offset.text()}]"
        expression = place if found.element else f"load({place})"
        kind = variable(found.element)
        name = self._declared(kind, at, body, expression)
        body.remember((value, at), name)
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

    def _computed(self, found: Pointwise, at: Indices, body: Body, reduce: Reduce) -> str:
        names = []
        for each in found.inputs:
            shape = self._region.values[each].shape
            mine = at[len(at) - len(shape) :]
            places = tuple(
                ZERO if size == 1 else index for index, size in zip(mine, shape, strict=True)
            )
            names.append((each, self.element(each, places, body, reduce)))
        name = self._names.new("v")
        kinds = [variable(self._region.values[each].element) for each, _ in names]
        read = "".join(
            f" const {kind} in{at} = {given};"
            for at, (kind, (_, given)) in enumerate(zip(kinds, names, strict=True))
        )
        statements = "".join(f" {line}" for line in found.statements)
        body.lines(by_lane=_any_by_lane(at)).append(
            f"{variable(found.element)} {name}; {{{read}{statements} {name} = {found.result}; }}"
        )
        return name

    def _concatenated(self, found: Concatenated, at: Indices, body: Body, reduce: Reduce) -> str:
        name = self._names.new("v")
        lines = body.lines(by_lane=_any_by_lane(at))
        lines.append(f"{variable(found.element)} {name} = 0;")
        start = 0
        for each in found.inputs:
            length = self._region.values[each].shape[found.axis]
            index, condition = self._within(at[found.axis], start, length, lines, body)
            start += length
            if condition is not None:
                places = (*at[: found.axis], index, *at[found.axis + 1 :])
                with body.branch(condition, lines):
                    lines.append(f"{name} = {self.element(each, places, body, reduce)};")
        return name

    def _padded(self, found: Padded, at: Indices, body: Body, reduce: Reduce) -> str:
        name = self._names.new("v")
        lines = body.lines(by_lane=_any_by_lane(at))
        lines.append(f"{variable(found.element)} {name} = {found.fill};")
        given = self._region.values[found.input].shape
        places, conditions = [], []
        for index, before, size in zip(at, found.before, given, strict=True):
            place, condition = self._within(index, before, size, lines, body)
            if condition is None:
                return name
            places.append(place)
            conditions.append(condition)
        text = " && ".join(each.text for each in conditions)
        inside = Condition(text, any(each.by_lane for each in conditions))
        with body.branch(inside, lines):
            lines.append(f"{name} = {self.element(found.input, tuple(places), body, reduce)};")
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

    def _gathered(self, found: Gathered, at: Indices, body: Body, reduce: Reduce) -> str:
        shape = self._region.values[found.indices].shape
        length = self._region.values[found.input].shape[found.axis]
        after = found.axis + len(shape)
        places = tuple(
            ZERO if size == 1 else index
            for index, size in zip(at[found.axis : after], shape, strict=True)
        )
        of = frozenset[str]().union(*(each.of for each in places))
        lines = body.lines_of_row(of)
        if lines is None:
            index = self.element(found.indices, places, body, reduce)
            lines = body.lines(by_lane=_any_by_lane(places))
            of |= {LOCAL} if lines is body.before else {LOCAL, LANE}
        else:
            before = Body({})
            index = self.element(found.indices, places, before, reduce)
            lines += [*before.before, *before.each]
        row = self._named(index, length, of, lines)
        moved = (*at[: found.axis], row, *at[after:])
        return self.element(found.input, moved, body, reduce)

    def _gathered_by_element(
        self, found: GatheredByElement, at: Indices, body: Body, reduce: Reduce
    ) -> str:
        length = self._region.values[found.input].shape[found.axis]
        index = self.element(found.indices, at, body, reduce)
        lines = body.lines(by_lane=_any_by_lane(at))
        of = frozenset[str]().union(*(each.of for each in at))
        of |= {LOCAL} if lines is body.before else {LOCAL, LANE}
        place = self._named(index, length, of, lines)
        moved = (*at[: found.axis], place, *at[found.axis + 1 :])
        return self.element(found.input, moved, body, reduce)

    def _named(self, index: str, length: int, of: frozenset[str], lines: list[str]) -> Index:
        """An index on an axis of this length that an operand has, declared in these lines."""
        name = self._names.new("p")
        lines.append(f"const int {name} = {index} < 0 ? {index} + {length} : {index};")
        return Index(((Variable(name, length, of), 1),))


def _any_by_lane(at: Indices) -> bool:
    return any(map(by_lane, at))
