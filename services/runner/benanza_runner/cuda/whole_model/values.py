"""The values of a model in memory: each call reads what an earlier one wrote."""

from collections.abc import Sequence
from math import prod

import cupy

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.device_tensor import DeviceTensor, stored_as
from benanza_runner.cuda.elements import IN_MEMORY
from benanza_runner.cuda.kernels.layout_conversion import layout_conversion, same_memory
from benanza_runner.cuda.layouts import Order
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.whole_model.arena import Arena
from benanza_runner.onnx_layers.onnx_schemas import onnx_dtype
from benanza_schemas.layer import Precision


def natural(shape: Shape) -> Order:
    """ONNX's order of axes."""
    return tuple(range(len(shape)))


class Values:
    """Where the values of a model are, in one order of axes or in both.

    They lie in one block of `memory_bytes`. With `reuse`, the memory of forgotten values is used
    again. Values that nothing writes are the model's inputs: they lie in the order that is asked
    for first.
    """

    def __init__(self, precision: Precision, memory_bytes: int, *, reuse: bool) -> None:
        self.precision: Precision = precision
        self.device = DeviceMemory(cupy)
        self._reuse = reuse
        self._arena = Arena()
        self._memory = cupy.zeros(memory_bytes, cupy.uint8)
        self._tensors: dict[str, dict[Order, DeviceTensor]] = {}
        self._offsets: dict[str, list[int]] = {}
        self._members: dict[str, set[str]] = {}

    def tensor(self, name: str) -> DeviceTensor:
        """A value that is not forgotten, in the order of axes in which it was written."""
        return next(iter(self._tensors[name].values()))

    def order(self, name: str) -> Order | None:
        """The order of axes in which a value was written; None if it was not written yet."""
        return next(iter(self._tensors.get(name, {})), None)

    def write(
        self, name: str, shape: Shape, order: Order, element: str = "", *, unused: bool = False
    ) -> DeviceTensor:
        """Memory for a value, which the caller has filled; if it is to be `unused`, memory that
        nothing wrote before. Raises `MemoryError`.
        """
        dtype = stored_as(self.precision, element)
        offset = self._arena.take(prod(shape) * dtype.itemsize, unused=unused)
        if self._arena.size > self._memory.size:
            raise MemoryError("the values of the model need more memory than was thought")
        self._offsets.setdefault(name, []).append(offset)
        array = cupy.ndarray([shape[axis] for axis in order], dtype, self._memory.data + offset)
        device_tensor = DeviceTensor(array, order, self.precision, element)
        self._tensors.setdefault(name, {})[order] = device_tensor
        return device_tensor

    def write_together(self, names: Sequence[str], shape: Shape) -> list[DeviceTensor]:
        """Memory for values of floats of one shape, one right after another.

        It is used again when the last one is forgotten. Raises `MemoryError`.
        """
        together = " ".join(names)
        order = natural((len(names), *shape))
        whole = self.write(together, (len(names), *shape), order).array
        self._members[together] = set(names)
        tensors = []
        for number, name in enumerate(names):
            tensors.append(DeviceTensor(whole[number], natural(shape), self.precision))
            self._tensors[name] = {natural(shape): tensors[-1]}
        return tensors

    def read(
        self, name: str, shape: Shape, order: Order, given: Array | None = None
    ) -> tuple[DeviceTensor, Run | None]:
        """A value in an order of axes, and the layout conversion that has to run first, if any.

        `given` holds the elements of an input of the model. A value that was written with more or
        fewer axes is read as if a Reshape stood before.
        """
        known = self._tensors.get(name)
        if known is None:
            element = onnx_dtype(given.dtype) if given is not None else ""
            element = element if element in IN_MEMORY else ""
            # It is filled now, and read after the calls before have written what they write.
            target = self.write(name, shape, order, element, unused=True)
            if given is not None:
                target.array[...] = self.device.copied(given, order, self.precision).array
            return target, None
        if order in known:
            return known[order], None
        written, first = next(iter(known.items()))
        if len(written) != len(shape):
            return self._reshaped(name, first.shape, shape, order)
        if same_memory(shape, written, order):
            known[order] = first.seen_as(shape, order)
            return known[order], None
        target = self.write(name, shape, order, first.element)
        return target, layout_conversion(first, target)

    def _reshaped(
        self, name: str, written: Shape, shape: Shape, order: Order
    ) -> tuple[DeviceTensor, Run | None]:
        """A value that was written in another shape; Reshapes are of ONNX's order of axes."""
        if not same_memory(shape, natural(shape), order):
            raise UnsupportedError(f"{name} is read as {shape} in the order of axes {order}")
        device_tensor, conversion = self.read(name, written, natural(written))
        return device_tensor.seen_as(shape, order), conversion

    def view(self, name: str, of: str, shape: Shape, order: Order) -> None:
        """Makes a value the same memory as the value `of`, in this order of axes.

        That value has to be there in this order or, where the shapes differ, in ONNX's own. It may
        not be forgotten before the view.
        """
        known = self._tensors[of]
        source = known[order] if order in known else known[min(known)]
        self.add(name, source.seen_as(shape, order))

    def add(self, name: str, tensor: DeviceTensor) -> None:
        """Makes a value this tensor, which lies in another value's memory.

        That value may not be forgotten before this one.
        """
        self._tensors[name] = {tensor.order: tensor}

    def forget(self, name: str) -> None:
        """Nothing reads this value any more."""
        for together, members in list(self._members.items()):
            members.discard(name)
            if not members:
                del self._members[together]
                self.forget(together)
        self._tensors.pop(name, None)
        for offset in self._offsets.pop(name, ()):
            if self._reuse:
                self._arena.give_back(offset)
