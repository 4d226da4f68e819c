"""Products of matrices with a column each, written as products and a sum for each row.

So a region reads what it has just computed, such as a state, where a library would read it again.
"""

from msgspec.structs import replace

from benanza_runner.cuda.lowering.written_out.writing import Writing
from benanza_schemas.layer import Layer, Operator


def with_sums(layer: Layer) -> Layer:
    """The layer, with others of ONNX's operators for such products."""
    if not any(_is_of_columns(layer, operator) for operator in layer.operators):
        return layer
    writing = Writing(layer)
    for operator in layer.operators:
        if not _is_of_columns(layer, operator):
            writing.operators.append(operator)
            continue
        matrix, column = operator.inputs
        shape = writing.shape(column)
        row = writing.reshape(column, (*shape[:-2], 1, shape[-2]))
        products = writing.add("Mul", 14, (matrix, row))
        result = operator.outputs[0]
        writing.add("ReduceSum", 11, (products,), result, axes=(-1,), keepdims=1)
    return replace(layer, tensors=tuple(writing.tensors), operators=tuple(writing.operators))


def _is_of_columns(layer: Layer, operator: Operator) -> bool:
    if operator.op_type != "MatMul" or operator.domain:
        return False
    a, b = (layer.tensors[index].shape for index in operator.inputs)
    return len(a) > 2 and b == (*a[:-2], a[-1], 1)
