"""Activations that some library fuses with a product or a convolution."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.lowering.elementwise.expressions import (
    FORMULAS,
    GELU,
    GELU_BY_TANH,
    Formula,
)
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator
from benanza_schemas.operators.elementwise import GATES
from benanza_schemas.operators.table import named

LIMIT = 3.4e38
SIXTH = float(np.float32(1 / 6))
"""The factor of HardSwish as models write it out: attributes are float32."""


class Activation(NamedTuple):
    """ONNX's name of an activation, or `GeluTanh` for the approximation, and its numbers."""

    name: str
    numbers: tuple[float, ...] = ()


_BY_NAME = {
    name: FORMULAS[name]
    for name in named(lambda facts: facts.activation) & FORMULAS.keys()
    if name not in ("HardSwish", "PRelu", "ThresholdedRelu")
}
"""The activations whose numbers are the operator's."""

FUSED = _BY_NAME | {
    "": Formula("{0}"),
    "Clip": Formula("fminf(fmaxf({0}, {min}), {max})", (("min", -LIMIT), ("max", LIMIT))),
    "Gelu": GELU,
    "GeluTanh": GELU_BY_TANH,
    "HardSwish": Formula(
        "{0} * fminf(fmaxf({alpha} * {0} + {beta}, 0.0f), 1.0f)",
        (("alpha", SIXTH), ("beta", 0.5)),
    ),
}
"""Activations as formulas, except PRelu, whose slopes are an operand."""


def activation(
    operators: Sequence[Operator], value: int, layer: Layer, values: Mapping[int, Array]
) -> Activation:
    """The activation that these operators are together, applied to the value at this position.

    They are one operator, or a gate written out: a function of the value and the product of both.
    PRelu has no numbers; its slopes are the second input. Raises `UnsupportedError` if they are no
    known activation.
    """
    first, *others = operators
    if not others:
        return _single(first, layer, values)
    if not _is_gated(operators, value):
        raise UnsupportedError("no library runs anything after the activation")
    name = GATES[tuple(operator.op_type for operator in operators[:-1])]
    match name:
        case "Swish":
            return Activation(name, (1.0,))
        case "HardSwish":
            return Activation(name, FORMULAS["HardSigmoid"].numbers_of(first))
    return Activation(name)


def _is_gated(operators: Sequence[Operator], value: int) -> bool:
    """Whether these operators are a known function of a value, and the product of both."""
    *gate, last = operators
    if tuple(operator.op_type for operator in gate) not in GATES or last.op_type != "Mul":
        return False
    of = value
    for operator in gate:
        if operator.inputs != (of,):
            return False
        of = operator.outputs[0]
    return last.inputs in ((value, of), (of, value))


def _single(operator: Operator, layer: Layer, values: Mapping[int, Array]) -> Activation:
    match operator.op_type:
        case "PRelu":
            return Activation("PRelu")
        case "HardSwish":
            return Activation("HardSwish", (SIXTH, 0.5))
        case name if name in _BY_NAME:
            return Activation(name, _BY_NAME[name].numbers_of(operator))
        case "Gelu":
            tanh = operator.text("approximate", "none") == "tanh"
            return Activation("GeluTanh" if tanh else "Gelu")
        case "Clip":
            return Activation("Clip", _limits(operator, layer, values))
        case other:
            raise UnsupportedError(f"no library here runs {other} in one call with a product")


def _limits(operator: Operator, layer: Layer, values: Mapping[int, Array]) -> tuple[float, float]:
    """The limits of a Clip: attributes in old versions, inputs in new ones, any omitted."""
    if operator.version < 11:
        return operator.number("min", -LIMIT), operator.number("max", LIMIT)
    given = (*operator.inputs[1:], OMITTED, OMITTED)[:2]
    limits = []
    for index, default in zip(given, (-LIMIT, LIMIT), strict=True):
        if index != OMITTED and not layer.tensors[index].constant:
            raise UnsupportedError("a Clip whose limits are computed is not fused")
        limits.append(default if index == OMITTED else float(np.ravel(values[index])[0]))
    return limits[0], limits[1]


def expression(name: str, numbers: tuple[float, ...], x: str) -> str:
    """An activation in `FUSED` of the variable `x`, as an expression of C."""
    return FUSED[name].expression([x], numbers)
