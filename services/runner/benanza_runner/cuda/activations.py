"""Activations after a product or a convolution: those that some library fuses."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_runner.cuda.lowering.attributes import number, text
from benanza_runner.cuda.lowering.expressions import literal
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator

Array = npt.NDArray[Any]
LIMIT = 3.4e38


class Activation(NamedTuple):
    """ONNX's name, or `GeluTanh` for the approximation, and the numbers that belong to it."""

    name: str
    numbers: tuple[float, ...] = ()


PATTERNS = {
    "": "{x}",
    "Clip": "fminf(fmaxf({x}, {0}), {1})",
    "Elu": "({x} > 0.0f ? {x} : {0} * expm1f({x}))",
    "Gelu": "0.5f * {x} * (1.0f + erff({x} * 0.7071067812f))",
    "GeluTanh": (
        "0.5f * {x} * (1.0f + tanhf(0.7978845608f * ({x} + 0.044715f * {x} * {x} * {x})))"
    ),
    "LeakyRelu": "({x} > 0.0f ? {x} : {0} * {x})",
    "Relu": "fmaxf({x}, 0.0f)",
    "Sigmoid": "1.0f / (1.0f + expf(-{x}))",
    "Softplus": "log1pf(expf({x}))",
    "Swish": "{x} / (1.0f + expf(-{0} * {x}))",
    "Tanh": "tanhf({x})",
}


def activation(operator: Operator, layer: Layer, values: Mapping[int, Array]) -> Activation:
    """The activation that an operator is. Raises `UnsupportedError` where none is known."""
    match operator.op_type:
        case "Relu" | "Sigmoid" | "Softplus" | "Tanh" as name:
            return Activation(name)
        case "LeakyRelu":
            return Activation("LeakyRelu", (number(operator, "alpha", 0.01),))
        case "Elu" | "Swish" as name:
            return Activation(name, (number(operator, "alpha", 1.0),))
        case "Gelu":
            tanh = text(operator, "approximate", "none") == "tanh"
            return Activation("GeluTanh" if tanh else "Gelu")
        case "Clip":
            return Activation("Clip", _limits(operator, layer, values))
        case other:
            raise UnsupportedError(f"no library here runs {other} in one call with a product")


def _limits(operator: Operator, layer: Layer, values: Mapping[int, Array]) -> tuple[float, float]:
    """Attributes in old versions, and inputs in new ones; either may be left out."""
    if operator.version < 11:
        return number(operator, "min", -LIMIT), number(operator, "max", LIMIT)
    given = (*operator.inputs[1:], OMITTED, OMITTED)[:2]
    limits = []
    for index, default in zip(given, (-LIMIT, LIMIT), strict=True):
        if index != OMITTED and not layer.tensors[index].constant:
            raise UnsupportedError("a Clip whose limits are computed is not fused")
        limits.append(default if index == OMITTED else float(np.ravel(values[index])[0]))
    return limits[0], limits[1]


def expression(name: str, numbers: tuple[float, ...], x: str) -> str:
    """An activation of a variable, as C."""
    return PATTERNS[name].format(*(f"({literal(each)})" for each in numbers), x=x)
