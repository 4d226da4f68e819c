"""Element-wise operators as expressions of C over `float`."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from benanza_schemas.layer import Operator

Write = Callable[[Operator, Sequence[str]], str]


class Formula(NamedTuple):
    """A pattern of C over the inputs, `{0}` the first, and numbers by name.

    The numbers are attributes of the operator; they have ONNX's defaults here.
    """

    pattern: str
    numbers: tuple[tuple[str, float], ...] = ()

    def numbers_of(self, operator: Operator) -> tuple[float, ...]:
        """The numbers that an operator has."""
        return tuple([operator.number(name, default) for name, default in self.numbers])

    def expression(self, inputs: Sequence[str], numbers: Sequence[float]) -> str:
        """The pattern with variables and numbers."""
        pairs = zip(self.numbers, numbers, strict=True)
        by_name = {name: f"({literal(number)})" for (name, _), number in pairs}
        return self.pattern.format(*inputs, **by_name)


def is_elementwise(operator: Operator) -> bool:
    """Whether the operator has an expression."""
    return operator.op_type in OPERATORS and not operator.domain


def expression(operator: Operator, inputs: Sequence[str]) -> str:
    """An element-wise operator applied to variables. An empty name is an omitted input."""
    formula = FORMULAS.get(operator.op_type)
    if formula is None:
        return _WRITERS[operator.op_type](operator, inputs)
    return formula.expression(inputs, formula.numbers_of(operator))


def literal(value: float) -> str:
    """A constant of C, limited to the range of `float`."""
    return f"{min(max(value, -3.4e38), 3.4e38):.9e}f"


def _joined(infix: str) -> Write:
    return lambda operator, inputs: f" {infix} ".join(inputs)


def _nested(function: str) -> Write:
    def write(operator: Operator, inputs: Sequence[str]) -> str:
        nested = inputs[0]
        for name in inputs[1:]:
            nested = f"{function}({nested}, {name})"
        return nested

    return write


def _gelu(operator: Operator, inputs: Sequence[str]) -> str:
    tanh = operator.text("approximate", "none") == "tanh"
    return (GELU_BY_TANH if tanh else GELU).expression(inputs, ())


def _clip(operator: Operator, inputs: Sequence[str]) -> str:
    """Limits are attributes in old versions and inputs in new ones; either may be omitted."""
    x, *limits = inputs
    low, high = (*limits, "", "")[:2] if operator.version >= 11 else ("", "")
    if operator.version < 11:
        low = literal(operator.number("min", -3.4e38))
        high = literal(operator.number("max", 3.4e38))
    raised = f"fmaxf({x}, {low})" if low else x
    return f"fminf({raised}, {high})" if high else raised


def _remainder(operator: Operator, inputs: Sequence[str]) -> str:
    """With `fmod` it has the sign of the dividend, without it that of the divisor."""
    x, y = inputs
    return f"fmodf({x}, {y})" if operator.integer("fmod", 0) else f"{x} - {y} * floorf({x} / {y})"


def _mean(operator: Operator, inputs: Sequence[str]) -> str:
    return f"({' + '.join(inputs)}) / {len(inputs)}.0f"


GELU = Formula("0.5f * {0} * (1.0f + erf_of({0} * 0.7071067812f))")
GELU_BY_TANH = Formula(
    "0.5f * {0} * (1.0f + tanhf(0.7978845608f * ({0} + 0.044715f * {0} * {0} * {0})))"
)

FORMULAS = {
    "Abs": Formula("fabsf({0})"),
    "Acos": Formula("acosf({0})"),
    "Acosh": Formula("acoshf({0})"),
    "Asin": Formula("asinf({0})"),
    "Asinh": Formula("asinhf({0})"),
    "Atan": Formula("atanf({0})"),
    "Atanh": Formula("atanhf({0})"),
    "Ceil": Formula("ceilf({0})"),
    "Celu": Formula(
        "fmaxf({0}, 0.0f) + fminf({alpha} * expm1f({0} / {alpha}), 0.0f)", (("alpha", 1.0),)
    ),
    "Cos": Formula("cosf({0})"),
    "Cosh": Formula("coshf({0})"),
    "Elu": Formula("({0} > 0.0f ? {0} : {alpha} * expm1f({0}))", (("alpha", 1.0),)),
    "Erf": Formula("erff({0})"),
    "Exp": Formula("expf({0})"),
    "Floor": Formula("floorf({0})"),
    "HardSigmoid": Formula(
        "fminf(fmaxf({alpha} * {0} + {beta}, 0.0f), 1.0f)", (("alpha", 0.2), ("beta", 0.5))
    ),
    "HardSwish": Formula("{0} * fminf(fmaxf({0} / 6.0f + 0.5f, 0.0f), 1.0f)"),
    "LeakyRelu": Formula("({0} > 0.0f ? {0} : {alpha} * {0})", (("alpha", 0.01),)),
    "Log": Formula("logf({0})"),
    "Mish": Formula("{0} * tanhf(log1pf(expf({0})))"),
    "Neg": Formula("-{0}"),
    "PRelu": Formula("({0} > 0.0f ? {0} : {1} * {0})"),
    "Pow": Formula("powf({0}, {1})"),
    "Reciprocal": Formula("1.0f / {0}"),
    "Relu": Formula("fmaxf({0}, 0.0f)"),
    "Round": Formula("rintf({0})"),
    "Selu": Formula(
        "{gamma} * ({0} > 0.0f ? {0} : {alpha} * expm1f({0}))",
        (("alpha", 1.67326319217681884765625), ("gamma", 1.05070102214813232421875)),
    ),
    "Shrink": Formula(
        "({0} < -{lambd} ? {0} + {bias} : ({0} > {lambd} ? {0} - {bias} : 0.0f))",
        (("bias", 0.0), ("lambd", 0.5)),
    ),
    "Sigmoid": Formula("1.0f / (1.0f + expf(-{0}))"),
    "Sign": Formula("(float)(({0} > 0.0f) - ({0} < 0.0f))"),
    "Sin": Formula("sinf({0})"),
    "Sinh": Formula("sinhf({0})"),
    "Softplus": Formula("fmaxf({0}, 0.0f) + log1pf(expf(-fabsf({0})))"),
    "Softsign": Formula("{0} / (1.0f + fabsf({0}))"),
    "Sqrt": Formula("sqrtf({0})"),
    "Swish": Formula("{0} / (1.0f + expf(-{alpha} * {0}))", (("alpha", 1.0),)),
    "Tan": Formula("tanf({0})"),
    "Tanh": Formula("tanhf({0})"),
    "ThresholdedRelu": Formula("({0} > {alpha} ? {0} : 0.0f)", (("alpha", 1.0),)),
}
"""Operators of as many inputs as the pattern names, whose attributes are numbers."""

_WRITERS: dict[str, Write] = {
    "Add": _joined("+"),
    "Clip": _clip,
    "Div": _joined("/"),
    "Gelu": _gelu,
    "Max": _nested("fmaxf"),
    "Mean": _mean,
    "Min": _nested("fminf"),
    "Mod": _remainder,
    "Mul": _joined("*"),
    "Sub": _joined("-"),
    "Sum": _joined("+"),
}

OPERATORS = FORMULAS.keys() | _WRITERS.keys()
"""The operators with an expression."""
