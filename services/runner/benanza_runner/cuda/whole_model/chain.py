"""The values of a model in memory: each call reads what an earlier one wrote."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod, sqrt
from typing import Any

import cupy
import numpy as np
import numpy.typing as npt

from benanza_runner.cuda.arrays import Placed, placed, stored_as
from benanza_runner.cuda.bench import Bench
from benanza_runner.cuda.calls import (
    Convolution,
    Elementwise,
    IntegerProduct,
    Product,
    Recurrence,
    Shape,
)
from benanza_runner.cuda.elements import IN_MEMORY
from benanza_runner.cuda.kernels.layout_conversion import Order, layout_change, same_memory
from benanza_runner.cuda.lowering.lower import Lowered
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.whole_model.arena import Arena
from benanza_schemas.layer import Precision

Array = npt.NDArray[Any]
Run = Callable[[], None]

TYPICAL = 0.68
"""The root of the mean square of a weight: see `random_values.FLOATS`."""


def natural(shape: Shape) -> Order:
    """ONNX's order of axes."""
    return tuple(range(len(shape)))


class Values:
    """Where the values of a model are, in one order of axes or in both.

    Memory of what is forgotten is used again, if `reuse`. Values that nothing writes are the
    model's inputs: they lie in whatever order is asked for first.
    """

    def __init__(self, precision: Precision, memory_bytes: int, *, reuse: bool) -> None:
        self.precision: Precision = precision
        self._reuse = reuse
        self._arena = Arena()
        self._memory = cupy.zeros(memory_bytes, cupy.uint8)
        self._placed: dict[str, dict[Order, Placed]] = {}
        self._offsets: dict[str, list[int]] = {}

    def placed(self, name: str) -> Placed:
        """A value that is not forgotten, in the order of axes in which it was written."""
        return next(iter(self._placed[name].values()))

    def order(self, name: str) -> Order | None:
        """The order of axes in which a value was written, if it was."""
        return next(iter(self._placed.get(name, {})), None)

    def write(self, name: str, shape: Shape, order: Order, element: str = "") -> Placed:
        """Memory for a value, which the caller sees to filling."""
        dtype = stored_as(self.precision, element)
        offset = self._arena.take(prod(shape) * dtype.itemsize)
        if self._arena.size > self._memory.size:
            raise MemoryError("the values of the model need more memory than was thought")
        self._offsets.setdefault(name, []).append(offset)
        array = cupy.ndarray([shape[axis] for axis in order], dtype, self._memory.data + offset)
        found = Placed(array, order, self.precision, element)
        self._placed.setdefault(name, {})[order] = found
        return found

    def read(
        self, name: str, shape: Shape, order: Order, given: Array | None = None
    ) -> tuple[Placed, Run | None]:
        """A value in an order of axes, and what has to run first if it is not there yet.

        `given` is what an input of the model holds.
        """
        known = self._placed.get(name)
        if known is None:
            element = given.dtype.name if given is not None else ""
            target = self.write(name, shape, order, element if element in IN_MEMORY else "")
            if given is not None:
                target.array[...] = placed(given, order, self.precision).array
            return target, None
        if order in known:
            return known[order], None
        written, first = next(iter(known.items()))
        if same_memory(shape, written, order):
            array = first.array.reshape([shape[axis] for axis in order])
            known[order] = Placed(array, order, self.precision, first.element)
            return known[order], None
        target = self.write(name, shape, order, first.element)
        return target, layout_change(first, target)

    def view(self, name: str, of: str, shape: Shape, order: Order) -> None:
        """Makes a value the same memory as another, which is placed in this order too, or, where
        the shapes differ, in its natural one. The other may not be forgotten before this one.
        """
        known = self._placed[of]
        source = known[order] if order in known else known[min(known)]
        array = source.array.reshape([shape[axis] for axis in order])
        self._placed[name] = {order: Placed(array, order, self.precision, source.element)}

    def forget(self, name: str) -> None:
        """Nothing reads this value any more."""
        self._placed.pop(name, None)
        for offset in self._offsets.pop(name, ()):
            if self._reuse:
                self._arena.give_back(offset)


class LinkedBench(Bench):
    """A bench whose call reads values of a model, and writes one.

    `reads` names the value that each operand is which is no weight, `writes` the values written.
    Only the layout `layout` is offered; where a call doesn't mind, images stay as they are.
    `first` holds what has to run before the call, such as turning an image.
    """

    def __init__(
        self,
        lowered: Lowered,
        values: Values,
        reads: Mapping[str, str],
        writes: Sequence[str],
        layout: str,
        scratch: Callable[[int], int],
    ) -> None:
        super().__init__(scaled(lowered), values.precision)
        self._values = values
        self._reads = reads
        self._writes = writes
        self._layout = layout
        self._shared_scratch = scratch
        self._as_it_comes = self._common_order(lowered)
        self._written: dict[int, Placed] = {}
        self.first: list[Run] = []

    def layouts(self, rank: int) -> Iterator[tuple[str, Order]]:
        return ((name, order) for name, order in super().layouts(rank) if name == self._layout)

    def operand(self, name: str, order: Order | None = None) -> Placed:
        if name not in self._reads:
            return super().operand(name, order)
        shape = self._lowered.operands[name].shape
        return self._read(name, shape, self._actual(shape, order))

    def expanded(self, name: str, shape: Shape, order: Order) -> Placed:
        if name not in self._reads:
            return super().expanded(name, shape, order)
        own = self._lowered.operands[name].shape
        if len(own) == len(shape):
            return self._read(name, shape, self._actual(shape, order))
        if not same_memory(shape, natural(shape), order):
            raise UnsupportedError("an image that lacks axes is not turned")
        found = self._read(name, own, natural(own))
        array = found.array.reshape([shape[axis] for axis in order])
        return Placed(array, order, self.precision, found.element)

    def result(
        self, shape: Shape, order: Order | None = None, element: str = "", number: int = 0
    ) -> Placed:
        if number not in self._written:
            actual = self._actual(shape, order)
            self._written[number] = self._values.write(self._writes[number], shape, actual, element)
        return self._written[number]

    def scratch(self, size: int) -> int:
        return self._shared_scratch(size)

    def weights(self) -> list[Placed]:
        """What the candidate offered last reads that is no value of the model, as it lies in
        memory. Where a matrix was placed for candidates before in another order, the last counts.
        None where the library reads a copy that it has packed in its own way.
        """
        if isinstance(self.call, IntegerProduct | Recurrence):
            return []
        return list({name: placed for (name, _), placed in self._placed.items()}.values())

    def _read(self, name: str, shape: Shape, order: Order) -> Placed:
        given = self._lowered.operands[name]
        found, before = self._values.read(self._reads[name], shape, order, given)
        if before is not None:
            self.first.append(before)
        return found

    def _actual(self, shape: Shape, order: Order | None) -> Order:
        if self._as_it_comes is not None and len(self._as_it_comes) == len(shape):
            return self._as_it_comes
        return order or natural(shape)

    def _common_order(self, lowered: Lowered) -> Order | None:
        """The order in which a call that works element by element leaves its images."""
        call = lowered.call
        if self._layout or not isinstance(call, Elementwise):
            return None
        for name, value in self._reads.items():
            if lowered.operands[name].shape == call.output:
                return self._values.order(value)
        return None


def scaled(lowered: Lowered) -> Lowered:
    """The same call with weights so small that values neither grow nor vanish along a model."""
    match lowered.call:
        case Convolution():
            name, terms = "filter", prod(lowered.call.filter[1:])
        case Product():
            name, terms = "b", lowered.call.k
        case _:
            return lowered
    if name not in lowered.weights:
        return lowered
    factor = np.float32(1 / (TYPICAL * sqrt(terms)))
    operands = lowered.operands | {name: lowered.operands[name] * factor}
    return lowered._replace(operands=operands)
