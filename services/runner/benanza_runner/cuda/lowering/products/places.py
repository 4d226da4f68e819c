"""Where the operands of a product are in a layer's inputs, and its result in the layer's."""

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Product, Shape
from benanza_runner.cuda.lowering.products.contraction import SharedAxis, as_matrices
from benanza_runner.cuda.lowering.products.einsum import terms_of
from benanza_runner.cuda.lowering.strided import AFTER, contiguous, strided, written
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.element_types import FLOATS
from benanza_schemas.layer import Layer, Operator

Labels = Sequence[Hashable]


class Places(NamedTuple):
    """The product of matrices that an operator is, without what else the call does.

    `sources` are the inputs of the layer that hold the operands `a` and `b`. They are `turned` if
    `a` is the operator's second operand. `moved` says whether operators after it move the result;
    where others follow, nothing is turned, as an epilogue goes by the operator's columns. `shapes`
    are those of the inputs and of the result that are moved, without weights.
    """

    sources: tuple[int, int]
    found: Product
    turned: bool
    moved: bool
    shapes: tuple[Shape, ...]


def places(layer: Layer, position: int) -> Places:
    """Those of the product at this position of a layer. Raises `UnsupportedError`."""
    operator, after = layer.operators[position], layer.operators[position + 1 :]
    for index in operator.inputs[:2]:
        if (dtype := layer.tensors[index].dtype) not in FLOATS:
            raise UnsupportedError(f"{operator.op_type} with {dtype} is not supported yet")
    operands = [strided(layer, index) for index in operator.inputs[:2]]
    moved = bool(after) and all(successor.op_type in AFTER for successor in after)
    whole = contiguous(layer.tensors[operator.outputs[0]].shape)
    arrays = [operands[0].array, operands[1].array, written(layer, position) if moved else whole]
    views = [*map(_View, arrays, _labels(operator, arrays[0].ndim, arrays[1].ndim))]
    by_row = [operator.op_type == "Gemm" and operator.integer(f"trans{x}", 0) == 1 for x in "AB"]
    turned = (moved or not after) and _is_turned(*views)
    if turned:
        operands.reverse()
        by_row.reverse()
        views[:2] = views[1], views[0]
    sizes = {label: size for view in views for label, size, _ in view.axes()}
    axes = [
        SharedAxis(size, *(view.step(label) for view in views)) for label, size in sizes.items()
    ]
    starts = operands[0].start, operands[1].start
    output = layer.tensors[layer.outputs[0]].shape
    product = as_matrices(axes, output, starts, (by_row[0], by_row[1]))
    read = [operand.source for operand in operands if operand.source not in operator.inputs]
    written_to = layer.outputs if moved else ()
    touched = [layer.tensors[index] for index in (*read, *written_to)]
    shapes = tuple([tensor.shape for tensor in touched if not tensor.constant])
    return Places((operands[0].source, operands[1].source), product, turned, moved, shapes)


class _View(NamedTuple):
    """A view of memory with a label for each axis. Axes of one element don't count."""

    array: Array
    labels: Labels

    def axes(self) -> Iterator[tuple[Hashable, int, int]]:
        """Label, size and stride of each axis."""
        for axis in zip(self.labels, self.array.shape, self.array.strides, strict=True):
            if axis[1] > 1:
                yield axis

    def step(self, label: Hashable) -> int | None:
        """The stride of an axis in elements; None if there is no such axis."""
        return next((stride for mine, _, stride in self.axes() if mine == label), None)


def _is_turned(a: _View, b: _View, result: _View) -> bool:
    """Whether the result's rows run along an axis of `a`, and `b` has axes of its own there."""
    row = [label for label, _, stride in result.axes() if stride == 1]
    own = [label for label, _, _ in result.axes() if a.step(label) is None]
    return bool(row) and bool(own) and b.step(row[0]) is None


def _labels(operator: Operator, first: int, second: int) -> tuple[Labels, Labels, Labels]:
    """The labels of the axes of both operands, which have so many, and of the result."""
    if operator.op_type == "Einsum":
        terms = terms_of(operator)
        if len(terms) != 3:
            raise UnsupportedError("an Einsum that doesn't have two operands is not supported yet")
        return terms[0], terms[1], terms[2]
    a: list[Hashable] = [*range(-first, -2), "m", "k"] if first > 1 else ["k"]
    b: list[Hashable] = [*range(-second, -2), "k", "n"] if second > 1 else ["k"]
    if operator.op_type == "Gemm":
        a = a[::-1] if operator.integer("transA", 0) == 1 else a
        b = b[::-1] if operator.integer("transB", 0) == 1 else b
    ends = [*["m"] * (first > 1), *["n"] * (second > 1)]
    return a, b, [*range(-max(first, second), -2), *ends]
