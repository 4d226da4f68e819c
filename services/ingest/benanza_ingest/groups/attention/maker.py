"""Makes a layer operator by operator, from tensors of the model that lie anywhere in others."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from onnx import helper

from benanza_ingest.groups.attention.layouts import Placed, Shape, size_of, whole
from benanza_ingest.resolving.operators import attributes, since_version
from benanza_schemas.element_types import TO_ONNX
from benanza_schemas.layer import Attribute, AttributeValue, Operator, Tensor


class Maker:
    """Tensors and operators of a layer, in the versions of an opset. The same operator on the same
    tensors is made once.
    """

    def __init__(self, tensors: tuple[Tensor, ...], opset: int) -> None:
        self.tensors = list(tensors)
        self._opset = opset
        self.operators: list[Operator] = []
        self._made: dict[object, int] = {}

    def add(
        self,
        op_type: str,
        inputs: tuple[int, ...],
        result: Tensor,
        given: tuple[tuple[str, AttributeValue], ...] = (),
    ) -> int:
        """An operator with these attributes, and defaults; the position of its result."""
        alike = (op_type, inputs, given)
        if alike not in self._made:
            version = since_version(op_type, "", self._opset)
            assert version is not None, "these opsets have all that is used here"
            pairs = [Attribute(name, value) for name, value in given]
            self.tensors.append(result)
            self._made[alike] = len(self.tensors) - 1
            self.operators.append(
                Operator(
                    op_type,
                    "",
                    version,
                    attributes(op_type, "", version, pairs, None),
                    inputs,
                    (self._made[alike],),
                )
            )
        return self._made[alike]

    def add_up(self, op_type: str, inputs: tuple[int, ...]) -> int:
        """An element-wise operator whose inputs are broadcast."""
        shape = np.broadcast_shapes(*(self.tensors[index].shape for index in inputs))
        return self.add(op_type, inputs, Tensor(self.tensors[inputs[-1]].dtype, shape))

    def constant(self, value: np.ndarray[Any, Any], dtype: str) -> int:
        """A constant that the layer knows."""
        tensor = Tensor(dtype, value.shape, constant=True, value=value.tobytes())
        if tensor not in self._made:
            self.tensors.append(tensor)
            self._made[tensor] = len(self.tensors) - 1
        return self._made[tensor]

    def number(self, value: float, dtype: str) -> int:
        """One number as a constant."""
        own = helper.tensor_dtype_to_np_dtype(TO_ONNX[dtype])
        return self.constant(np.array(value).astype(own), dtype)

    def reshaped(self, index: int, shape: Shape) -> int:
        """The same tensor in another shape."""
        before = self.tensors[index]
        if before.shape == shape:
            return index
        sizes = self.constant(np.array(shape, np.int64), "int64")
        return self.add("Reshape", (index, sizes), Tensor(before.dtype, shape))

    def expanded(self, index: int, shape: Shape) -> int:
        """The same tensor, repeated along axes of one."""
        before = self.tensors[index]
        if before.shape == shape:
            return index
        sizes = self.constant(np.array(shape, np.int64), "int64")
        return self.add("Expand", (index, sizes), Tensor(before.dtype, shape))

    def transposed(self, index: int, order: Shape) -> int:
        """The same tensor with its axes in this order."""
        before = self.tensors[index]
        after = Tensor(before.dtype, tuple([before.shape[axis] for axis in order]))
        return self.add("Transpose", (index,), after, (("perm", order),))

    def broadcast(self, index: int, view: Placed) -> int | None:
        """A tensor, or a part of it, with axes of one where a view of four axes repeats it."""
        axes = tuple([() if any(s == 0 for _, s in axis) else axis for axis in view.axes])
        shape = tuple([size_of(axis) for axis in axes])
        own = self.tensors[index].shape
        if whole(shape) != Placed(view.offset, axes) or prod(shape) != prod(own):
            return self.seen(index, Placed(view.offset, axes), shape)
        aligned = len(own) >= 2 and (1,) * (len(shape) - len(own)) + own == shape
        return index if aligned else self.reshaped(index, shape)

    def seen(self, index: int, view: Placed, shape: Shape) -> int | None:
        """A view of a tensor, each of whose axes has one piece, as a tensor of this shape.

        The tensor is reshaped so that each axis of the view is part of one axis, that part is cut
        out, and the axes are put in order. None if the axes of the view overlap.
        """
        axes = [() if any(s == 0 for _, s in axis) else axis for axis in view.axes]
        ones = tuple([size_of(axis) for axis in axes])
        order = order_of(Placed(0, tuple(axes)))
        rest, left = view.offset, prod(self.tensors[index].shape)
        sizes, starts, counts = list[int](), list[int](), list[int]()
        for axis in order:
            size, stride = ones[axis], axes[axis][0][1] if axes[axis] else left
            if left % stride:
                return None
            start, rest = divmod(rest, stride) if size > 1 else (0, rest)
            sizes.append(left // stride)
            starts.append(start)
            counts.append(size)
            if start + size > sizes[-1]:
                return None
            left = stride
        if left > 1:  # what lies between the elements of the last axis
            sizes, starts, counts = [*sizes, left], [*starts, rest], [*counts, 1]
        if sizes != counts:
            index = self.cut(self.reshaped(index, tuple(sizes)), starts, counts)
        moved = [axis for axis in order if ones[axis] > 1]
        if moved != sorted(moved):
            index = self.reshaped(index, tuple(counts[: len(order)]))
            index = self.transposed(
                index, tuple([order.index(position) for position in range(len(order))])
            )
        index = self.reshaped(index, ones)
        return self.expanded(index, shape)

    def cut(self, index: int, starts: Sequence[int], counts: Sequence[int]) -> int:
        """So many elements along each axis of a tensor, from these places."""
        before = self.tensors[index]
        axes = [axis for axis, size in enumerate(before.shape) if counts[axis] < size]
        if not axes:
            return index
        ends = [starts[axis] + counts[axis] for axis in axes]
        told = [
            self.constant(np.array(numbers, np.int64), "int64")
            for numbers in ([starts[axis] for axis in axes], ends, axes)
        ]
        return self.add("Slice", (index, *told), Tensor(before.dtype, tuple(counts)))


def order_of(view: Placed) -> Shape:
    """The axes of a view, that with the largest stride first; before them, those of one element."""
    strides = [axis[0][1] if axis else -number for number, axis in enumerate(view.axes)]
    ones = [number for number, axis in enumerate(view.axes) if not axis]
    others = [number for number, axis in enumerate(view.axes) if axis]
    return (*ones, *sorted(others, key=lambda number: -strides[number]))
