"""A workspace whose call is linked into a model: it reads and writes the model's values."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from benanza_runner.cuda.calls import (
    Call,
    Convolution,
    EightBitProduct,
    Elementwise,
    Quantised,
    Recurrence,
    Shape,
)
from benanza_runner.cuda.calls.quantised import CHANNELS
from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.layouts import Order, with_one_axis_of_space
from benanza_runner.cuda.lowering.lower import Lowered
from benanza_runner.cuda.whole_model.values import Values, natural
from benanza_runner.cuda.workspace import Workspace


class LinkedWorkspace(Workspace):
    """A workspace whose call reads values of a model, and writes some.

    `reads` maps each operand that is no weight to the name of its value; `writes` has the names and
    the shapes of the values written. Only the layout `layout` is offered; where layouts make no
    difference to a call, feature maps stay as they are. `first` holds the layout conversions that
    have to run before the call.
    """

    def __init__(
        self,
        lowered: Lowered,
        values: Values,
        reads: Mapping[str, str],
        writes: Sequence[tuple[str, Shape]],
        layout: str,
        scratch: Callable[[int], int],
    ) -> None:
        super().__init__(lowered, values.precision, values.device)
        self._values = values
        self._reads = reads
        self._writes = writes
        self._layout = layout
        self._shared_scratch = scratch
        self._as_it_comes = self._common_order(lowered)
        self._written: dict[int, DeviceTensor] = {}
        self.first: list[Run] = []

    def layouts(self, rank: int) -> Iterator[tuple[str, Order]]:
        """The one layout that is offered; none if it is no layout of so many axes."""
        return ((name, order) for name, order in super().layouts(rank) if name == self._layout)

    def operand(self, name: str, order: Order | None = None) -> DeviceTensor:
        """A weight, or the value of the model that the operand reads."""
        if name not in self._reads:
            return super().operand(name, order)
        shape = self._lowered.operands[name].shape
        return self._read(name, shape, self._actual(shape, order))

    def expanded(self, name: str, shape: Shape, order: Order) -> DeviceTensor:
        """The same as if it had this shape."""
        if name not in self._reads:
            return super().expanded(name, shape, order)
        own = self._lowered.operands[name].shape
        if len(own) == len(shape):
            return self._read(name, shape, self._actual(shape, order))
        return self._read(name, own, with_one_axis_of_space(order)).seen_as(shape, order)

    def alias(
        self, name: str, order: Order, shape: Shape, seen: Order, number: int = 0
    ) -> DeviceTensor:
        """A value of the model as the one that the call writes as its result of this number."""
        if number not in self._written:
            self._written[number] = super().alias(name, order, shape, seen, number)
            self._values.add(self._writes[number][0], self._written[number])
        return self._written[number]

    def result(
        self, shape: Shape, order: Order | None = None, element: str = "", number: int = 0
    ) -> DeviceTensor:
        """The value of the model that the call writes as its result of this number."""
        if number not in self._written:
            name, own = self._writes[number]
            actual = self._actual(shape, order)
            if len(own) == 3 and len(shape) == 4:
                lies = with_one_axis_of_space(actual)
                tensor = self._values.write(name, own, lies, element).seen_as(shape, actual)
            else:
                tensor = self._values.write(name, shape, actual, element)
            self._written[number] = tensor
        return self._written[number]

    def results(self, shape: Shape, count: int) -> list[DeviceTensor]:
        """The values of the model that the call writes, one right after another."""
        if not self._written:
            names = [name for name, _ in self._writes[:count]]
            tensors = self._values.write_together(names, shape)
            self._written = dict(enumerate(tensors))
        return [self._written[number] for number in range(count)]

    def scratch(self, size: int) -> int:
        """The device address of scratch memory, which calls of a model share."""
        return self._shared_scratch(size)

    def weights(self) -> list[DeviceTensor]:
        """What the candidate that was offered last reads that is no value of the model.

        Where candidates had a matrix in several orders of axes, the last one counts. There are none
        where the library reads a copy that it has packed in its own way.
        """
        if isinstance(self.call, EightBitProduct | Recurrence) or _is_padded(self.call):
            return []
        return list({name: tensor for (name, _), tensor in self._operands.items()}.values())

    def _read(self, name: str, shape: Shape, order: Order) -> DeviceTensor:
        given = self._lowered.operands[name]
        tensor, before = self._values.read(self._reads[name], shape, order, given)
        if before is not None:
            self.first.append(before)
        return tensor

    def _actual(self, shape: Shape, order: Order | None) -> Order:
        if self._as_it_comes is not None and len(self._as_it_comes) == len(shape):
            return self._as_it_comes
        return order or natural(shape)

    def _common_order(self, lowered: Lowered) -> Order | None:
        """The order in which an element-wise call leaves its feature maps."""
        call = lowered.call
        if self._layout or not isinstance(call, Elementwise):
            return None
        for name, value in self._reads.items():
            if lowered.operands[name].shape == call.output:
                return self._values.order(value)
        return None


def _is_padded(call: Call) -> bool:
    """Whether a quantised convolution may read a copy of its filter with more channels."""
    if isinstance(call, Quantised) and isinstance(call.sums, Convolution):
        return call.sums.filter[1] % CHANNELS != 0
    return False
