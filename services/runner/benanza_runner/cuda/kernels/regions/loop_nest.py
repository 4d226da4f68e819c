"""The loops over a reduction's row, in the order in which an operand's elements lie in memory."""

from collections.abc import Mapping
from typing import NamedTuple

from benanza_runner.cuda.calls import Region
from benanza_runner.cuda.kernels.regions.body import Body, Names
from benanza_runner.cuda.kernels.regions.elements import Elements, Indices, OperandMemory
from benanza_runner.cuda.kernels.regions.index import Index, flattened, loop

MOST_SPLITS = 8


class LoopAxis(NamedTuple):
    """A loop over an axis, or over a part of one."""

    name: str
    size: int


class LoopNest(NamedTuple):
    """The loops, the fastest last, and for each reduced axis those that count it together."""

    axes: tuple[LoopAxis, ...]
    parts: Mapping[int, tuple[LoopAxis, ...]]

    def places(self, indices: Indices, loops: Mapping[str, Index]) -> Indices:
        """These indices, with those of the loops on the reduced axes."""
        all_indices = list(indices)
        for axis, parts in self.parts.items():
            sizes = tuple(part.size for part in parts)
            all_indices[axis] = flattened(tuple(loops[part.name] for part in parts), sizes)
        return tuple(all_indices)


def in_memory_order(
    region: Region,
    operands: Mapping[str, OperandMemory],
    value: int,
    indices: Indices,
    sizes: Mapping[int, int],
) -> LoopNest:
    """The loops over axes of these sizes of a value, at `indices` on its other axes.

    An axis is split where the indices of operands divide it. The order is that of the operand of
    which most elements are read.
    """
    lengths = {axis: [size] for axis, size in sizes.items()}
    for _ in range(MOST_SPLITS):
        parts = {
            axis: tuple(LoopAxis(f"k{axis}_{n}", size) for n, size in enumerate(axis_lengths))
            for axis, axis_lengths in lengths.items()
        }
        nest = LoopNest(tuple(part for axis_parts in parts.values() for part in axis_parts), parts)
        elements = _read(region, operands, value, indices, nest)
        split = _split(elements, parts)
        if split is None:
            break
        axis, n, divisor = split
        lengths[axis][n : n + 1] = [lengths[axis][n] // divisor, divisor]
    return nest._replace(axes=_ordered(nest.axes, elements.read))


def _read(
    region: Region,
    operands: Mapping[str, OperandMemory],
    value: int,
    indices: Indices,
    nest: LoopNest,
) -> Elements:
    """What is found out by writing the statements of an element once."""
    elements = Elements(region, operands, 1, Names())
    loops = {axis.name: loop(axis.name, axis.size) for axis in nest.axes}
    elements.element(value, nest.places(indices, loops), Body({}), lambda *_: "0")
    return elements


def _split(
    elements: Elements, parts: Mapping[int, tuple[LoopAxis, ...]]
) -> tuple[int, int, int] | None:
    """An axis, the part of it that is divided, and by what; None if none is."""
    divisors = {v.splits: v.divisor for v in elements.seen if v.splits}
    for axis, axis_parts in parts.items():
        for n, part in enumerate(axis_parts):
            divisor = divisors.get(part.name, 0)
            if divisor and part.size > divisor and part.size % divisor == 0:
                return axis, n, divisor
    return None


def _ordered(axes: tuple[LoopAxis, ...], read: list[Index]) -> tuple[LoopAxis, ...]:
    """The loops with the smallest step in memory last, as they are if nothing is read."""
    names = {axis.name for axis in axes}
    steps: dict[str, int] = {}
    most = 0
    for place in read:
        own = {v.text: abs(step) for v, step in place.terms if v.text in names}
        count = sum(axis.size for axis in axes if axis.name in own)
        if count > most:
            most, steps = count, own
    return tuple(sorted(axes, key=lambda axis: -steps.get(axis.name, 0)))
