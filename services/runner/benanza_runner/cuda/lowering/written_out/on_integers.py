"""Operators on integers of 8 bits, written with ONNX's operators on floats between two others.

These are DequantizeLinear and QuantizeLinear, or Casts where the integers themselves count.

Sources: ONNX's `QLinearConv` and `QLinearMatMul`, and the definitions of the operators of
`com.microsoft` in ONNX Runtime.
"""

from typing import NamedTuple

from msgspec.structs import replace

from benanza_runner.cuda.lowering.written_out.writing import given
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.element_types import BITS, TO_ONNX
from benanza_schemas.layer import OMITTED, Attribute, Layer, Operator, Tensor

DEQUANTISE, QUANTISE, SCALING_VERSION = "DequantizeLinear", "QuantizeLinear", 13


class _Form(NamedTuple):
    """The operator of floats, and the places of what it reads and writes.

    `integers` are places of integers, which their scale and zero point follow; `result` is the
    place of the scale of the result, which its zero point follows. `others` are read as they are.
    """

    op_type: str
    version: int
    integers: tuple[int, ...]
    result: int
    others: tuple[int, ...] = ()


_OF_ONE, _OF_TWO = ((0,), 3), ((0, 3), 6)

FORMS = {
    "QGemm": _Form("Gemm", 13, (0, 3), 7, (6,)),
    "QLinearAdd": _Form("Add", 14, *_OF_TWO),
    "QLinearAveragePool": _Form("AveragePool", 11, *_OF_ONE),
    "QLinearConv": _Form("Conv", 11, *_OF_TWO, (8,)),
    "QLinearGlobalAveragePool": _Form("GlobalAveragePool", 1, *_OF_ONE),
    "QLinearLeakyRelu": _Form("LeakyRelu", 16, *_OF_ONE),
    "QLinearMatMul": _Form("MatMul", 13, *_OF_TWO),
    "QLinearMul": _Form("Mul", 14, *_OF_TWO),
    "QLinearSigmoid": _Form("Sigmoid", 13, *_OF_ONE),
    "QLinearSoftmax": _Form("Softmax", 13, *_OF_ONE),
    "QLinearWhere": _Form("Where", 16, (1, 4), 7, (0,)),
}
CONCAT = "QLinearConcat"


def is_on_integers(layer: Layer) -> bool:
    """Whether a layer is one of these operators alone."""
    first = layer.operators[0]
    known = first.op_type in (*FORMS, CONCAT) or _is_of_integers(layer, first)
    return len(layer.operators) == 1 and known


def _is_of_integers(layer: Layer, operator: Operator) -> bool:
    """Whether an operator of floats is one of integers here, which it keeps or interpolates."""
    interpolates = operator.op_type == "Resize" and operator.attribute("mode") == "linear"
    if not (interpolates or operator.op_type == "MaxPool"):
        return False
    return BITS[layer.tensors[operator.inputs[0]].dtype] == 8


def on_floats(layer: Layer) -> Layer:
    """The layer with floats between. A bias stays in int32, in the scale of the sums.

    Raises `UnsupportedError` for feature maps with channels last.
    """
    (operator,) = layer.operators
    if _is_of_integers(layer, operator):
        return _between_casts(layer, operator)
    if operator.integer("channels_last", 0):
        raise UnsupportedError(
            f"{operator.op_type} with channels last is not supported yet: publish the model as it "
            "was before ONNX Runtime optimised it"
        )
    if operator.op_type == "QLinearSoftmax" and operator.integer("opset", 13) < 13:
        raise UnsupportedError("a QLinearSoftmax over all further axes is not supported yet")
    form = FORMS.get(operator.op_type) or _concatenation(operator)
    tensors, operators = list(layer.tensors), list[Operator]()

    def floats(like: int) -> int:
        tensors.append(Tensor("float32", layer.tensors[like].shape))
        return len(tensors) - 1

    read: dict[int, int] = {
        place: operator.inputs[place] for place in form.others if given(operator, place)
    }
    for place in form.integers:
        index = operator.inputs[place]
        axis = _axis(operator, len(layer.tensors[index].shape))
        read[place] = floats(index)
        inputs = operator.inputs[place : place + 3]
        operators.append(_scaling(DEQUANTISE, inputs, read[place], axis))
    (output,) = operator.outputs
    inputs = tuple([read[place] for place in sorted(read)])
    if operator.inputs[form.result : form.result + 1] in ((), (OMITTED,)):  # QGemm to floats
        operators.append(_of_floats(operator, form, inputs, output))
    else:
        made = floats(output)
        operators.append(_of_floats(operator, form, inputs, made))
        scales = operator.inputs[form.result : form.result + 2]
        operators.append(_scaling(QUANTISE, (made, *scales), output, 1))
    return replace(layer, tensors=tuple(tensors), operators=tuple(operators))


def _between_casts(layer: Layer, operator: Operator) -> Layer:
    """An operator of integers, which float32 holds exactly. What it interpolates is cut off after
    the point, as ONNX Runtime does.
    """
    x, y = operator.inputs[0], operator.outputs[0]
    first = len(layer.tensors)
    floats = tuple([Tensor("float32", layer.tensors[place].shape) for place in (x, y)])
    read, written = (first, *operator.inputs[1:]), (first + 1, *operator.outputs[1:])
    of_floats = replace(operator, inputs=read, outputs=written)
    operators = (
        _cast("float32", x, first),
        of_floats,
        _cast(layer.tensors[y].dtype, first + 1, y),
    )
    return replace(layer, tensors=(*layer.tensors, *floats), operators=operators)


def _cast(dtype: str, x: int, y: int) -> Operator:
    return Operator("Cast", "", 13, (Attribute("to", TO_ONNX[dtype]),), (x,), (y,))


def _concatenation(operator: Operator) -> _Form:
    return _Form("Concat", 13, tuple(range(2, len(operator.inputs), 3)), 0)


def _axis(operator: Operator, rank: int) -> int:
    """The axis of weights' scales: of the columns of the result, or of its channels."""
    by_row = operator.op_type == "QLinearConv" or operator.integer("transB", 0)
    return 0 if by_row else max(rank - 1, 0)


def _scaling(op_type: str, inputs: tuple[int, ...], output: int, axis: int) -> Operator:
    attributes = (Attribute("axis", axis),)
    return Operator(op_type, "", SCALING_VERSION, attributes, inputs, (output,))


def _of_floats(operator: Operator, form: _Form, inputs: tuple[int, ...], output: int) -> Operator:
    left = tuple(a for a in operator.attributes if a.name not in ("channels_last", "opset"))
    return Operator(form.op_type, "", form.version, left, inputs, (output,))
