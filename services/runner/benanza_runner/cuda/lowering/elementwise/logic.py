"""Element-wise operators that compare, choose and convert, as expressions of C for any type."""

from collections.abc import Sequence

from benanza_runner.cuda.elements import FLOAT8, IN_MEMORY
from benanza_runner.cuda.kernels.source.float8 import from_float8, to_float8
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Operator

_PATTERNS = {
    "And": "({0} && {1})",
    "Equal": "({0} == {1})",
    "Greater": "({0} > {1})",
    "GreaterOrEqual": "({0} >= {1})",
    "Identity": "{0}",
    "IsNaN": "({0} != {0})",
    "Less": "({0} < {1})",
    "LessOrEqual": "({0} <= {1})",
    "Not": "!{0}",
    "Or": "({0} || {1})",
    "Where": "({0} ? {1} : {2})",
    "Xor": "(!{0} != !{1})",
}

CONVERSIONS = frozenset(("Cast", "CastLike"))
"""These read only their first input."""

OPERATORS = frozenset((*_PATTERNS, *CONVERSIONS, "IsInf"))


def expression(operator: Operator, inputs: Sequence[str], read: str, written: str) -> str:
    """An operator applied to variables.

    The first input has elements of the type `read`, and the output of the type `written`. Raises
    `UnsupportedError` for conversions that aren't known.
    """
    if operator.op_type in CONVERSIONS:
        if FLOAT8 in (read, written) and not operator.integer("saturate", 1):
            raise UnsupportedError(f"{operator.op_type} without saturation is not supported yet")
        return _converted(inputs[0], read, written)
    if operator.op_type == "IsInf":
        low = f"{inputs[0]} < -3.402823466e38f" if operator.integer("detect_negative", 1) else "0"
        high = f"{inputs[0]} > 3.402823466e38f" if operator.integer("detect_positive", 1) else "0"
        return f"({low} || {high})"
    return _PATTERNS[operator.op_type].format(*inputs)


def _converted(value: str, read: str, written: str) -> str:
    """A float is rounded towards zero, and bits are dropped as in C."""
    if read == written:
        return value
    if FLOAT8 in (read, written):
        if read and written:
            raise UnsupportedError(f"a Cast of {read} to {written} is not supported yet")
        return from_float8(value) if read else to_float8(value)
    if not written:
        return f"(float){value}"
    if written == "bool":
        return f"({value} != 0)"
    return f"(long long)({IN_MEMORY[written]})(long long){value}"
