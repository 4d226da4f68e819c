"""What candidates of one call share: operands on the device, results, and scratch memory."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import (
    AnyConvolution,
    Call,
    Pooling,
    Quantised,
    Region,
    Shape,
)
from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.feature_maps import feature_maps
from benanza_runner.cuda.layouts import (
    RANKS,
    Order,
    depends_on_layout,
    feature_map_layouts,
)
from benanza_runner.cuda.lowering.lower import Lowered
from benanza_runner.cuda.lowering.regions.in_place import in_place
from benanza_schemas.layer import Precision

MAX_FEATURE_MAP_AXES = 5

MAX_SCRATCH_BYTES = 1 << 32
"""Variants that want more scratch memory are refused: no model would spare it."""

LEAST_SCRATCH_BYTES = 1 << 20

TOGETHER = -1
"""The number of results that lie one right after another."""


class Workspace:
    """Memory for the candidates of one call at one precision, on the current stream.

    An operand is copied to the device once in each layout. Candidates share results and scratch
    memory, because they run one after another.
    """

    def __init__(self, lowered: Lowered, precision: Precision, memory: DeviceMemory) -> None:
        self.call = lowered.call
        self.precision: Precision = precision
        self.memory = memory
        self._lowered = lowered
        self._operands: dict[tuple[str, Order], DeviceTensor] = {}
        self._results: dict[tuple[Shape, Order, str, int], DeviceTensor] = {}
        self._scratch: list[Any] = []

    @property
    def fixed(self) -> frozenset[str]:
        """The names of the operands that the model fixes."""
        return self._lowered.weights

    @property
    def operands(self) -> dict[str, Array]:
        """The operands by name, in ONNX's layout."""
        return self._lowered.operands

    @property
    def computed(self) -> dict[str, Shape]:
        """The shapes of the operands that the model doesn't fix, by name."""
        return self._lowered.computed()

    def layouts(self, rank: int) -> Iterator[tuple[str, Order]]:
        """Name and order of axes of the layouts that candidates may choose for feature maps of so
        many axes.
        """
        return feature_map_layouts(rank)

    def natural_layout(self, *shapes: Shape) -> str:
        """The name of ONNX's own layout, for variants that want it: of the first of these shapes to
        which layouts make a difference, empty if there is none.
        """
        for shape in shapes:
            if depends_on_layout(shape) and len(shape) <= MAX_FEATURE_MAP_AXES:
                name, _ = next(feature_map_layouts(len(shape)))
                return name
        return ""

    def operand(self, name: str, order: Order | None = None) -> DeviceTensor:
        """An operand with its axes in this order; ONNX's by default."""
        array = self._lowered.operands[name]
        order = order or tuple(range(array.ndim))
        key = name, order
        if key not in self._operands:
            self._operands[key] = self.memory.copied(array, order, self.precision)
        return self._operands[key]

    def exact(self, name: str) -> DeviceTensor:
        """An operand of floats that the model fixes, as float32 whatever the precision is."""
        array = self._lowered.operands[name]
        key = name, (-4,)
        if key not in self._operands:
            self._operands[key] = self.memory.copied(array, tuple(range(array.ndim)), "fp32")
        return self._operands[key]

    def expanded(self, name: str, shape: Shape, order: Order) -> DeviceTensor:
        """An operand as if it had this shape, which differs from its own in axes of one."""
        key = name, (-1, *order)
        if key not in self._operands:
            array = self._lowered.operands[name].reshape(shape)
            self._operands[key] = self.memory.copied(array, order, self.precision)
        return self._operands[key]

    def padded(self, name: str, shape: Shape, order: Order, length: int) -> DeviceTensor:
        """An operand that the model fixes, as if it had this shape, with its axes in this order.

        The first of these is extended with zeros to this length.
        """
        key = name, (-2, length, *order)
        if key not in self._operands:
            array = self._lowered.operands[name].reshape(shape).transpose(order)
            more = [(0, length - array.shape[0]), *[(0, 0)] * (array.ndim - 1)]
            natural = tuple(range(array.ndim))
            self._operands[key] = self.memory.copied(np.pad(array, more), natural, self.precision)
        return self._operands[key]

    def rows(self, name: str, shape: Shape, order: Order, length: int) -> DeviceTensor:
        """An operand that the model fixes, as if it had this shape, with its axes in this order:
        the first one, and all others as one, which is extended with zeros to this length.
        """
        key = name, (-3, length, *order)
        if key not in self._operands:
            array = self._lowered.operands[name].reshape(shape).transpose(order)
            array = array.reshape(len(array), -1)
            more = [(0, 0), (0, length - array.shape[1])]
            self._operands[key] = self.memory.copied(np.pad(array, more), (0, 1), self.precision)
        return self._operands[key]

    def laid_out(
        self, name: str, lay_out: Callable[[Any, Any], Any], number: int = 0
    ) -> DeviceTensor:
        """An operand that the model fixes as `lay_out` makes it of the module of arrays and the
        operand's array in ONNX's layout; once for each `number`.
        """
        key = name, (-5, number)
        if key not in self._operands:
            given = self.operand(name)
            array = self.memory.made_of(given.array, lay_out)
            natural = tuple(range(array.ndim))
            self._operands[key] = DeviceTensor(array, natural, self.precision, given.element)
        return self._operands[key]

    def alias(
        self, name: str, order: Order, shape: Shape, seen: Order, number: int = 0
    ) -> DeviceTensor:
        """An operand with its axes in this order, as the result of this number, which has this
        shape and the axes `seen`.
        """
        return self.operand(name, order).seen_as(shape, seen)

    def result(
        self,
        shape: Shape,
        order: Order | None = None,
        element: str = "",
        number: int = 0,
    ) -> DeviceTensor:
        """Memory for a result of this shape, of floats or of elements of the named type.

        Results of one candidate that have another `number` lie elsewhere.
        """
        order = order or tuple(range(len(shape)))
        key = shape, order, element, number
        if key not in self._results:
            self._results[key] = self.memory.empty(shape, order, self.precision, element)
        return self._results[key]

    def results(self, shape: Shape, count: int) -> list[DeviceTensor]:
        """Memory for so many results of floats of this shape, one right after another."""
        key = (count, *shape), (), "", TOGETHER
        if key not in self._results:
            order = tuple(range(len(shape) + 1))
            self._results[key] = self.memory.empty((count, *shape), order, self.precision)
        whole = self._results[key].array
        natural = tuple(range(len(shape)))
        return [DeviceTensor(whole[number], natural, self.precision) for number in range(count)]

    def shapes(self) -> tuple[list[Shape], list[Shape]]:
        """The shapes of what the call reads of other calls, and of what its candidates write.

        What is known to be no feature map is left out, since it has one layout.
        """
        lowered = self._lowered
        seen = _feature_maps_of(self.call)
        read = [
            seen.get(name, operand.shape)
            for name, operand in lowered.operands.items()
            if name not in lowered.weights
        ]
        written = []
        for number, shape in dict.fromkeys(
            (result_number, shape) for shape, _, _, result_number in self._results
        ):
            written += [shape] if number != TOGETHER else [shape[1:]] * shape[0]
        if way := in_place(self.call):
            reads_a_map = way.result == tuple(range(len(way.shape)))
            return (read, []) if reads_a_map else ([], [way.shape])
        if isinstance(self.call, Region) and (maps := feature_maps(self.call)):
            return [s for s in read if s in maps], [s for s in written if s in maps]
        return read, written

    def read(self, layout: str) -> list[DeviceTensor]:
        """What the call reads of other calls, as it lies in memory for variants of a layout."""
        names = [name for name in self._lowered.operands if name not in self._lowered.weights]
        tensors = [tensor for (name, _), tensor in self._operands.items() if name in names]
        wanted = dict(pair for rank in RANKS for pair in feature_map_layouts(rank)).get(layout)
        return [
            tensor
            for tensor in tensors
            if wanted is None or len(tensor.order) != len(wanted) or tensor.order == wanted
        ]

    def scratch(self, size: int) -> int:
        """The device address of at least so many bytes, valid as long as the workspace."""
        if not self._scratch or self._scratch[-1].size < size:
            self._scratch.append(self.memory.bytes(max(size, LEAST_SCRATCH_BYTES)))
        return int(self._scratch[-1].data.ptr)

    def last_scratch(self, size: int) -> Any | None:
        """So many bytes of the scratch memory that was asked for last; None for no bytes."""
        return self._scratch[-1][:size] if size else None


def _feature_maps_of(call: Call) -> dict[str, Shape]:
    """The shapes in which windows see their operands: feature maps of one axis have another one."""
    if isinstance(call, Pooling):
        return {"input": call.input}
    if isinstance(call, AnyConvolution):
        return {"input": call.input, "residual": call.output}
    if isinstance(call, Quantised):
        return _feature_maps_of(call.sums)
    return {}
