"""Element-wise operators on integers as expressions of C over `long long`."""

from collections.abc import Callable, Sequence

from benanza_schemas.layer import Operator

Write = Callable[[Operator, Sequence[str]], str]


def is_known(op_type: str) -> bool:
    """Whether the operator has an expression over integers."""
    return op_type in WRITERS


def expression(operator: Operator, inputs: Sequence[str]) -> str:
    """An operator applied to variables. An empty name is an omitted input."""
    return WRITERS[operator.op_type](operator, inputs)


def _template(pattern: str) -> Write:
    return lambda operator, inputs: pattern.format(*inputs)


def _joined(infix: str) -> Write:
    return lambda operator, inputs: f" {infix} ".join(inputs)


def _best(comparison: str) -> Write:
    def write(operator: Operator, inputs: Sequence[str]) -> str:
        best = inputs[0]
        for name in inputs[1:]:
            best = f"({best} {comparison} {name} ? {best} : {name})"
        return best

    return write


def _remainder(operator: Operator, inputs: Sequence[str]) -> str:
    """It has the sign of the divisor; with `fmod` that of the dividend, as in C."""
    a, b = inputs
    return f"{a} % {b}" if operator.integer("fmod", 0) else f"({a} % {b} + {b}) % {b}"


def _clip(operator: Operator, inputs: Sequence[str]) -> str:
    x, low, high = (*inputs, "", "")[:3]
    raised = f"({x} > {low} ? {x} : {low})" if low else x
    return f"({raised} < {high} ? {raised} : {high})" if high else raised


WRITERS: dict[str, Write] = {
    "Abs": _template("({0} < 0 ? -{0} : {0})"),
    "Add": _joined("+"),
    "BitwiseAnd": _joined("&"),
    "BitwiseNot": _template("~{0}"),
    "BitwiseOr": _joined("|"),
    "BitwiseXor": _joined("^"),
    "Clip": _clip,
    "Div": _joined("/"),
    "Max": _best(">"),
    "Min": _best("<"),
    "Mod": _remainder,
    "Mul": _joined("*"),
    "Neg": _template("-{0}"),
    "Pow": _template("(long long)rint(pow((double){0}, (double){1}))"),
    "Relu": _template("({0} > 0 ? {0} : 0)"),
    "Sign": _template("({0} > 0) - ({0} < 0)"),
    "Sub": _joined("-"),
}
