"""Nodes that ONNX Runtime ran: operators of ONNX, of which its traces have no attributes.

Translated are those that need none, and products of matrices.
"""

from collections.abc import Mapping
from functools import partial

from benanza.tracing.translating.products import Rule
from benanza.tracing.translating.writing import Writer, refuse

_OPERANDS = {
    1: "Abs Ceil Cos Erf Exp Floor GlobalAveragePool HardSwish Log Mish Neg Not Reciprocal Relu "
    "Round Sigmoid Sign Sin Sqrt Tanh",
    2: "Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mul Or Sub",
    3: "Where",
}
"""Operators that have no attributes, by the number of their operands."""

_WITH_ATTRIBUTES = (
    "ArgMax AveragePool BatchNormalization Concat Conv ConvTranspose FusedConv FusedGemm Gather "
    "Gemm LayerNormalization LeakyRelu LogSoftmax MaxPool ReduceMean ReduceSum Softmax Split"
).split()


def _plain(write: Writer, *, op_type: str, count: int) -> str:
    given = [number for number in range(count) if write.has(number)]
    if len(given) < count:
        refuse("the trace lacks the shape of a constant; name the model's file to benanza profile")
    return write.node(op_type, *map(write.tensor, given))


def _product(write: Writer) -> str:
    """A weight may have been packed before, and then only the first operand is named."""
    if write.has(1):
        return write.node("MatMul", write.tensor(0), write.tensor(1))
    rows, columns = write.shape(0)[-1:], write.written(0)[-1:]
    return write.node("MatMul", write.tensor(0), write.made_up(write.dtype(0), rows + columns))


def _unknown(_: Writer) -> str:
    refuse("traces of ONNX Runtime lack attributes; run the model itself: benanza profile MODEL")


NODES: Mapping[str, Rule] = {
    "MatMul": _product,
    **{
        op_type: partial(_plain, op_type=op_type, count=count)
        for count, op_types in _OPERANDS.items()
        for op_type in op_types.split()
    },
    **dict.fromkeys(_WITH_ATTRIBUTES, _unknown),
}
