"""A product with a factor, of matrices that lie transposed: ONNX Runtime's FusedMatMul.

Source: the operator's definition in ONNX Runtime. TransposeMatMul is its older name.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from benanza_runner.arrays import Array
from benanza_runner.cuda.lowering.products.product import Lowering, lower_product
from benanza_runner.cuda.lowering.written_out.writing import Writing
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer

FUSED_PRODUCTS = frozenset(("FusedMatMul", "TransposeMatMul"))
"""The operators, in the domain `com.microsoft`."""


def lower_fused_product(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    (operator,) = layer.operators
    if operator.integer("transBatchA", 0) or operator.integer("transBatchB", 0):
        raise UnsupportedError(f"{operator.op_type} with transposed batches is not supported yet")
    writing = Writing(layer)
    read = []
    for index, name in zip(operator.inputs, ("transA", "transB"), strict=True):
        shape = writing.shape(index)
        if operator.integer(name, 0) and len(shape) > 1:
            order = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
            turned = tuple([shape[axis] for axis in order])
            index = writing.add("Transpose", 13, (index,), shape=turned, perm=order)
        read.append(index)
    writing.add("MatMul", 13, (read[0], read[1]), operator.outputs[0])
    tensors, operators = tuple(writing.tensors), tuple(writing.operators)
    call, operands, fixed = lower_product(
        replace(layer, tensors=tensors, operators=operators), values
    )
    return replace(call, alpha=operator.number("alpha", 1.0)), operands, fixed
