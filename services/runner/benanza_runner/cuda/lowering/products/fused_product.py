"""A product with a factor, of matrices that lie transposed: ONNX Runtime's FusedMatMul.

Source: the operator's definition in ONNX Runtime. TransposeMatMul is its older name.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from benanza_runner.arrays import Array
from benanza_runner.cuda.lowering.products.product import Lowering, lower_product
from benanza_runner.cuda.lowering.written_out.writing import Writing
from benanza_schemas.layer import Layer, Operator

FUSED_PRODUCTS = frozenset(("FusedMatMul", "TransposeMatMul"))
"""The operators, in the domain `com.microsoft`."""


def lower_fused_product(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    (operator,) = layer.operators
    writing = Writing(layer)
    read = []
    for index, name in zip(operator.inputs, "AB", strict=True):
        shape = writing.shape(index)
        order = _order(operator, name, len(shape))
        if order != tuple(range(len(shape))):
            turned = tuple([shape[axis] for axis in order])
            index = writing.add("Transpose", 13, (index,), shape=turned, perm=order)
        read.append(index)
    writing.add("MatMul", 13, (read[0], read[1]), operator.outputs[0])
    tensors, operators = tuple(writing.tensors), tuple(writing.operators)
    call, operands, fixed = lower_product(
        replace(layer, tensors=tensors, operators=operators), values
    )
    return replace(call, alpha=operator.number("alpha", 1.0)), operands, fixed


def _order(operator: Operator, name: str, rank: int) -> tuple[int, ...]:
    """The axes of a factor as the product takes them. With transposed batches the rows are first,
    and the axes of the batch behind them.
    """
    axes = tuple(range(rank))
    if operator.integer(f"transBatch{name}", 0) and rank > 2:
        axes = (*axes[1:-1], axes[0], axes[-1])
    if operator.integer(f"trans{name}", 0) and rank > 1:
        axes = (*axes[:-2], axes[-1], axes[-2])
    return axes
