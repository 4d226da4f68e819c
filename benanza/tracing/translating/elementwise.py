"""Element-wise operators, with their variants in place.

Two operands have their types made equal by the framework. Only a number beside a tensor is taken
for one of the tensor's type: what else would be converted is refused.
"""

from collections.abc import Mapping
from functools import partial

from benanza.tracing.translating.products import Rule
from benanza.tracing.translating.writing import Writer, refuse

OF_ONE = {
    "abs": "Abs",
    "ceil": "Ceil",
    "cos": "Cos",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "gelu": "Gelu",  # traces lack how it is approximated
    "hardswish": "HardSwish",
    "log": "Log",
    "logical_not": "Not",
    "mish": "Mish",
    "neg": "Neg",
    "reciprocal": "Reciprocal",
    "relu": "Relu",
    "round": "Round",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sqrt": "Sqrt",
    "tanh": "Tanh",
}
"""Those of one operand."""

OF_TWO = {
    "add": "Add",
    "bitwise_and": "And",
    "bitwise_or": "Or",
    "div": "Div",
    "eq": "Equal",
    "ge": "GreaterOrEqual",
    "gt": "Greater",
    "le": "LessOrEqual",
    "logical_and": "And",
    "logical_or": "Or",
    "lt": "Less",
    "maximum": "Max",
    "minimum": "Min",
    "mul": "Mul",
    "pow": "Pow",
    "sub": "Sub",
}
"""Those of two operands."""

_SCALED = frozenset(("add", "sub", "rsub"))
"""Those that may multiply their second operand."""

_OF_TRUTH = frozenset(("And", "Not", "Or"))


def _of_one(write: Writer, *, op_type: str) -> str:
    if op_type in _OF_TRUTH and write.dtype(0) != "bool":
        refuse("operators of bits are translated for truth values only")
    return write.node(op_type, write.tensor(0))


def _of_two(write: Writer, *, name: str, op_type: str) -> str:
    if name in _SCALED and write.number(2, 1.0) != 1.0:
        refuse("scaled sums aren't translated")
    operands = _operands(write, 0, 1)
    if op_type in _OF_TRUTH and write.dtype(0) != "bool":
        refuse("operators of bits are translated for truth values only")
    return write.node(op_type, *operands)


def _subtracted_from(write: Writer) -> str:
    first, second = _operands(write, 0, 1)
    return write.node("Sub", second, first)


def _unequal(write: Writer) -> str:
    return write.node("Not", write.node("Equal", *_operands(write, 0, 1)))


def _where(write: Writer) -> str:
    return write.node("Where", write.tensor(0), *_operands(write, 1, 2))


def _masked_fill(write: Writer) -> str:
    values, filling = _operands(write, 0, 2)
    return write.node("Where", write.tensor(1), filling, values)


def _swish(write: Writer) -> str:
    """As exporters write it out."""
    return write.node("Mul", write.tensor(0), write.node("Sigmoid", write.tensor(0)))


def _inverse_root(write: Writer) -> str:
    return write.node("Reciprocal", write.node("Sqrt", write.tensor(0)))


def _clamped(write: Writer) -> str:
    ends = [
        write.constant(write.number(place), write.dtype(0)) if write.value(place) else ""
        for place in (1, 2)
    ]
    if not any(ends):
        refuse("bounds that are tensors aren't translated")
    return write.node("Clip", write.tensor(0), *ends)


def _hard_sigmoid(write: Writer) -> str:
    return write.node("HardSigmoid", write.tensor(0), alpha=1 / 6, beta=0.5)


def _leaky(write: Writer) -> str:
    return write.node("LeakyRelu", write.tensor(0), alpha=write.number(1, 0.01))


def _operands(write: Writer, first: int, second: int) -> tuple[str, str]:
    """Two operands. A number among them becomes a constant of the other's type."""
    numbers = [not write.has(place) or not write.shape(place) for place in (first, second)]
    if all(numbers):
        refuse("it computes a single number")
    if not any(numbers) and write.dtype(first) != write.dtype(second):
        refuse(f"{write.dtype(first)} and {write.dtype(second)} are made equal within it")
    dtype = write.dtype(second if numbers[0] else first)
    left, right = (
        write.constant(_number(write, place), dtype) if is_number else write.tensor(place)
        for place, is_number in zip((first, second), numbers, strict=True)
    )
    return left, right


def _number(write: Writer, place: int) -> float:
    """A number's value; of some the trace has none, and then it decides nothing."""
    value = write.number(place, 1.0)
    return value if abs(value) < 1e30 else 1.0


def _elementwise() -> dict[str, Rule]:
    rules: dict[str, Rule] = {
        "clamp": _clamped,
        "hardsigmoid": _hard_sigmoid,
        "hardtanh": _clamped,
        "leaky_relu": _leaky,
        "masked_fill": _masked_fill,
        "ne": _unequal,
        "rsqrt": _inverse_root,
        "rsub": _subtracted_from,
        "silu": _swish,
        "where": _where,
    }
    rules |= {name: partial(_of_one, op_type=op_type) for name, op_type in OF_ONE.items()}
    rules |= {
        name: partial(_of_two, name=name, op_type=op_type) for name, op_type in OF_TWO.items()
    }
    return rules


ELEMENTWISE: Mapping[str, Rule] = {
    f"aten::{name}{ending}": rule for name, rule in _elementwise().items() for ending in ("", "_")
}
