"""Element-wise operators as expressions of C over `float`."""

from collections.abc import Callable, Sequence

from benanza_schemas.layer import Operator

Write = Callable[[Operator, Sequence[str]], str]


def is_elementwise(operator: Operator) -> bool:
    """Whether the operator has an expression."""
    return operator.op_type in WRITERS and not operator.domain


def expression(operator: Operator, inputs: Sequence[str]) -> str:
    """An element-wise operator applied to variables. An empty name is an omitted input."""
    return WRITERS[operator.op_type](operator, inputs)


def literal(value: float) -> str:
    """A constant of C, limited to the range of `float`."""
    return f"{min(max(value, -3.4e38), 3.4e38):.9e}f"


def _template(pattern: str) -> Write:
    return lambda operator, inputs: pattern.format(*inputs)


def _joined(infix: str) -> Write:
    return lambda operator, inputs: f" {infix} ".join(inputs)


def _nested(function: str) -> Write:
    def write(operator: Operator, inputs: Sequence[str]) -> str:
        found = inputs[0]
        for name in inputs[1:]:
            found = f"{function}({found}, {name})"
        return found

    return write


def _alpha(pattern: str, default: float) -> Write:
    return lambda operator, inputs: pattern.format(
        inputs[0], a=literal(operator.number("alpha", default))
    )


def _hard_sigmoid(operator: Operator, inputs: Sequence[str]) -> str:
    alpha, beta = operator.number("alpha", 0.2), operator.number("beta", 0.5)
    return f"fminf(fmaxf({inputs[0]} * {literal(alpha)} + {literal(beta)}, 0.0f), 1.0f)"


def _gelu(operator: Operator, inputs: Sequence[str]) -> str:
    x = inputs[0]
    if operator.text("approximate", "none") == "tanh":
        inner = f"0.7978845608f * ({x} + 0.044715f * {x} * {x} * {x})"
        return f"0.5f * {x} * (1.0f + tanhf({inner}))"
    return f"0.5f * {x} * (1.0f + erf_of({x} * 0.7071067812f))"


def _clip(operator: Operator, inputs: Sequence[str]) -> str:
    """Limits are attributes in old versions and inputs in new ones; either may be omitted."""
    x, *limits = inputs
    low, high = (*limits, "", "")[:2] if operator.version >= 11 else ("", "")
    if operator.version < 11:
        low = literal(operator.number("min", -3.4e38))
        high = literal(operator.number("max", 3.4e38))
    raised = f"fmaxf({x}, {low})" if low else x
    return f"fminf({raised}, {high})" if high else raised


def _selu(operator: Operator, inputs: Sequence[str]) -> str:
    alpha = literal(operator.number("alpha", 1.67326319217681884765625))
    gamma = literal(operator.number("gamma", 1.05070102214813232421875))
    return f"{gamma} * ({inputs[0]} > 0.0f ? {inputs[0]} : {alpha} * expm1f({inputs[0]}))"


def _shrink(operator: Operator, inputs: Sequence[str]) -> str:
    x = inputs[0]
    bias, border = literal(operator.number("bias", 0.0)), literal(operator.number("lambd", 0.5))
    return f"({x} < -{border} ? {x} + {bias} : ({x} > {border} ? {x} - {bias} : 0.0f))"


def _remainder(operator: Operator, inputs: Sequence[str]) -> str:
    """With `fmod` it has the sign of the dividend, without it that of the divisor."""
    x, y = inputs
    return f"fmodf({x}, {y})" if operator.integer("fmod", 0) else f"{x} - {y} * floorf({x} / {y})"


def _mean(operator: Operator, inputs: Sequence[str]) -> str:
    return f"({' + '.join(inputs)}) / {len(inputs)}.0f"


_SIGMOID = "1.0f / (1.0f + expf(-{0}))"

WRITERS: dict[str, Write] = {
    "Abs": _template("fabsf({0})"),
    "Acos": _template("acosf({0})"),
    "Acosh": _template("acoshf({0})"),
    "Add": _joined("+"),
    "Asin": _template("asinf({0})"),
    "Asinh": _template("asinhf({0})"),
    "Atan": _template("atanf({0})"),
    "Atanh": _template("atanhf({0})"),
    "Ceil": _template("ceilf({0})"),
    "Celu": _alpha("fmaxf({0}, 0.0f) + fminf({a} * expm1f({0} / {a}), 0.0f)", 1.0),
    "Clip": _clip,
    "Cos": _template("cosf({0})"),
    "Cosh": _template("coshf({0})"),
    "Div": _joined("/"),
    "Elu": _alpha("({0} > 0.0f ? {0} : {a} * expm1f({0}))", 1.0),
    "Erf": _template("erff({0})"),
    "Exp": _template("expf({0})"),
    "Floor": _template("floorf({0})"),
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _template("{0} * fminf(fmaxf({0} / 6.0f + 0.5f, 0.0f), 1.0f)"),
    "LeakyRelu": _alpha("({0} > 0.0f ? {0} : {a} * {0})", 0.01),
    "Log": _template("logf({0})"),
    "Max": _nested("fmaxf"),
    "Mean": _mean,
    "Min": _nested("fminf"),
    "Mish": _template("{0} * tanhf(log1pf(expf({0})))"),
    "Mod": _remainder,
    "Mul": _joined("*"),
    "Neg": _template("-{0}"),
    "PRelu": _template("({0} > 0.0f ? {0} : {1} * {0})"),
    "Pow": _template("powf({0}, {1})"),
    "Reciprocal": _template("1.0f / {0}"),
    "Relu": _template("fmaxf({0}, 0.0f)"),
    "Round": _template("rintf({0})"),
    "Selu": _selu,
    "Shrink": _shrink,
    "Sigmoid": _template(_SIGMOID),
    "Sign": _template("(float)(({0} > 0.0f) - ({0} < 0.0f))"),
    "Sin": _template("sinf({0})"),
    "Sinh": _template("sinhf({0})"),
    "Softplus": _template("fmaxf({0}, 0.0f) + log1pf(expf(-fabsf({0})))"),
    "Softsign": _template("{0} / (1.0f + fabsf({0}))"),
    "Sqrt": _template("sqrtf({0})"),
    "Sub": _joined("-"),
    "Sum": _joined("+"),
    "Swish": _alpha("{0} / (1.0f + expf(-{a} * {0}))", 1.0),
    "Tan": _template("tanf({0})"),
    "Tanh": _template("tanhf({0})"),
    "ThresholdedRelu": _alpha("({0} > {a} ? {0} : 0.0f)", 1.0),
}
