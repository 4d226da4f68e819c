"""The layer of an attention: operators that move, then one `Attention`, then operators that move.

What moves follows from where the elements are in memory alone, not from how the model moves them,
so that the same function has the same layer.
"""

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np
from onnx import helper

from benanza_ingest.groups.attention.heads import Heads
from benanza_ingest.groups.attention.layouts import Placed, Shape, size_of, whole
from benanza_ingest.groups.attention.scores import Term, rounded
from benanza_ingest.resolving.operators import attributes, since_version
from benanza_schemas.element_types import TO_ONNX
from benanza_schemas.layer import OMITTED, Attribute, AttributeValue, Layer, Operator, Tensor

SAME_SCALE = 1e-6
"""Scales that differ by less are the same: exporters multiply by rounded square roots."""

OPSET = 23
"""The first opset that has Attention. All operators of the layer have its versions."""

COUNTS_KEYS = 24
"""The first opset whose Attention is told how many keys count, for layers that need that."""


class Function(NamedTuple):
    """What an attention computes of its operands.

    `terms` are those of `Scores`. `given` are attributes of ONNX's operator other than `scale`.
    `counts_keys` is that of `Match`.
    """

    scale: float
    terms: tuple[Term, ...]
    given: tuple[tuple[str, int | float], ...]
    counts_keys: bool


class Form(NamedTuple):
    """A layer, not canonical. It begins with the tensors of the model that it reads.

    `written` is the position of the tensor that it writes, and the last one.
    """

    layer: Layer
    written: int


def normal_form(
    function: Function,
    tensors: tuple[Tensor, ...],
    places: Sequence[int],
    heads: Heads,
    written: Tensor,
) -> Form | None:
    """The layer that reads these tensors of the model; None if ONNX can't say it.

    `places` are the positions of queries, keys, values, and of the terms' tensors; each of the
    views of `heads` is the same one's within that tensor, and the last one is that of the result
    within what is written.
    """
    maker = _Maker(tensors, COUNTS_KEYS if function.counts_keys else OPSET)
    counts = heads.heads, heads.key_heads, heads.key_heads
    operands = []
    for place, view, count in zip(places, heads.views, counts, strict=False):
        shape = heads.batch, count, *view.shape()[2:]
        index = maker.seen(place, view, shape)
        if index is None:
            return None
        operands.append(index)
    mask = _mask(maker, function.terms, places[3:], heads.views[3:-1], written.dtype)
    if mask is None:
        return None
    if mask != OMITTED:
        # ONNX broadcasts any axes, but ONNX Runtime none of the last two.
        *lead, _, _ = maker.tensors[mask].shape
        queries, keys = (maker.tensors[index].shape[2] for index in operands[:2])
        operands.append(maker.expanded(mask, (*lead, queries, keys)))
    if function.counts_keys:
        count = maker.tensors[operands[1]].shape[2]
        counted = maker.constant(np.full(heads.batch, count, np.int64), "int64")
        operands += [*(OMITTED,) * (6 - len(operands)), counted]
    query, value = (maker.tensors[index] for index in (operands[0], operands[2]))
    result = maker.add(
        "Attention",
        tuple(operands),
        Tensor(written.dtype, (*query.shape[:3], value.shape[3])),
        (*function.given, *_scale(function.scale, query.shape[3])),
    )
    order = _order(heads.views[-1])
    moved = [axis for axis in order if heads.views[-1].axes[axis]]
    if moved != sorted(moved):
        result = maker.transposed(result, order)
    last = maker.reshaped(result, written.shape)
    return Form(Layer(tuple(maker.tensors), tuple(maker.operators), (last,)), last)


def _scale(scale: float, size: int) -> tuple[tuple[str, float], ...]:
    """The attribute for a scale; none for that which ONNX takes for rows of this size."""
    usual = 1 / sqrt(size)
    if abs(scale - usual) <= SAME_SCALE * usual:
        return ()
    return (("scale", rounded(scale)),)


def _mask(
    maker: "_Maker",
    terms: tuple[Term, ...],
    places: Sequence[int],
    views: Sequence[Placed],
    dtype: str,
) -> int | None:
    """The tensor that masks the scores, or `OMITTED`; None if ONNX can't say it."""
    mask = OMITTED
    remaining = list(zip(places, views, strict=True))
    for term in terms:
        if not term.name:
            mask = maker.add_up("Mul", (mask, maker.number(term.factor, dtype)))
            continue
        place, view = remaining.pop(0)
        tensor = maker.broadcast(place, view)
        if tensor is None:
            return None
        if not term.chosen:
            mask = tensor if mask == OMITTED else maker.add_up("Add", (mask, tensor))
        elif len(terms) == 1 and term.chosen == (None, -np.inf):
            mask = tensor
        else:
            unchanged = maker.number(0.0, dtype) if mask == OMITTED else mask
            branches = [
                unchanged if number is None else maker.number(number, dtype)
                for number in term.chosen
            ]
            mask = maker.add_up("Where", (tensor, *branches))
    return mask


class _Maker:
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
        """A tensor with axes of one where a view of four axes repeats it."""
        axes = tuple([() if any(s == 0 for _, s in axis) else axis for axis in view.axes])
        shape = tuple([size_of(axis) for axis in axes])
        own = self.tensors[index].shape
        if whole(shape) != Placed(view.offset, axes) or prod(shape) != prod(own):
            return None
        aligned = len(own) >= 2 and (1,) * (len(shape) - len(own)) + own == shape
        return index if aligned else self.reshaped(index, shape)

    def seen(self, index: int, view: Placed, shape: Shape) -> int | None:
        """A view of a tensor, each of whose axes has one piece, as a tensor of this shape.

        The tensor is reshaped so that each axis of the view is part of one axis, that part is cut
        out, and the axes are put in order. None if the axes of the view overlap.
        """
        axes = [() if any(s == 0 for _, s in axis) else axis for axis in view.axes]
        ones = tuple([size_of(axis) for axis in axes])
        order = _order(Placed(0, tuple(axes)))
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


def _order(view: Placed) -> Shape:
    """The axes of a view, that with the largest stride first; before them, those of one element."""
    strides = [axis[0][1] if axis else -number for number, axis in enumerate(view.axes)]
    ones = [number for number, axis in enumerate(view.axes) if not axis]
    others = [number for number, axis in enumerate(view.axes) if axis]
    return (*ones, *sorted(others, key=lambda number: -strides[number]))
