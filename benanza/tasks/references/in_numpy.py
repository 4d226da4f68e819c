"""Operators as expressions of NumPy."""

from collections.abc import Mapping

from benanza.tasks.references.expressions import (
    SHARED,
    Expression,
    channel_axis,
    plain,
    shifted,
    softmax_axis,
)
from benanza.tasks.references.operation import NoReferenceError, ReferredOperation
from benanza_schemas.element_types import FLOATS, FROM_ONNX

_UNARY = {
    "Abs": "np.abs({0})",
    "Ceil": "np.ceil({0})",
    "Cos": "np.cos({0})",
    "Erf": "error_function({0})",
    "Exp": "np.exp({0})",
    "Floor": "np.floor({0})",
    "HardSwish": "{0} * np.clip({0} / 6 + 0.5, 0, 1)",
    "IsNaN": "np.isnan({0})",
    "Log": "np.log({0})",
    "Mish": "{0} * np.tanh(np.logaddexp({0}, 0))",
    "Relu": "np.maximum({0}, 0)",
    "Round": "np.round({0})",
    "Sigmoid": "1 / (1 + np.exp(-{0}))",
    "Sign": "np.sign({0})",
    "Sin": "np.sin({0})",
    "Softplus": "np.logaddexp({0}, 0)",
    "Softsign": "{0} / (1 + np.abs({0}))",
    "Sqrt": "np.sqrt({0})",
    "Tanh": "np.tanh({0})",
    "GlobalAveragePool": "{0}.mean(tuple(range(2, {0}.ndim)), keepdims=True)",
    "GlobalMaxPool": "{0}.max(tuple(range(2, {0}.ndim)), keepdims=True)",
    "PRelu": "np.where({0} < 0, {0} * {1}, {0})",
    "Pow": "{0} ** {1}",
    "Where": "np.where({0}, {1}, {2})",
}


def _reduced(function: str) -> Expression:
    def expression(operation: ReferredOperation) -> str:
        keeps = bool(operation.operator.integer("keepdims", 1))
        x = operation.names[0]
        return function.format(x=x, over=f"{operation.axes(1)}, keepdims={keeps}")

    return expression


def _many(function: str) -> Expression:
    def expression(operation: ReferredOperation) -> str:
        found, *others = operation.names
        for name in others:
            found = f"np.{function}({found}, {name})"
        return found

    return expression


def _clipped(operation: ReferredOperation) -> str:
    ends = [operation.names[slot] if operation.has(slot) else "None" for slot in (1, 2)]
    if operation.operator.version < 11:
        low, high = (operation.operator.attribute(name) for name in ("min", "max"))
        ends = [repr(low), repr(high)]
    if ends == ["None", "None"]:
        return operation.names[0]
    return f"np.clip({operation.names[0]}, {ends[0]}, {ends[1]})"


def _leaky(operation: ReferredOperation) -> str:
    alpha, x = operation.operator.number("alpha", 0.01), operation.names[0]
    return f"np.where({x} < 0, {alpha!r} * {x}, {x})"


def _exponential(operation: ReferredOperation) -> str:
    alpha, x = operation.operator.number("alpha", 1.0), operation.names[0]
    return f"np.where({x} < 0, {alpha!r} * np.expm1(np.minimum({x}, 0)), {x})"


def _hard_sigmoid(operation: ReferredOperation) -> str:
    operator = operation.operator
    alpha, beta = operator.number("alpha", 0.2), operator.number("beta", 0.5)
    return f"np.clip({alpha!r} * {operation.names[0]} + {beta!r}, 0, 1)"


def _gelu(operation: ReferredOperation) -> str:
    x = operation.names[0]
    if operation.operator.text("approximate", "none") == "tanh":
        inner = f"0.7978845608028654 * ({x} + 0.044715 * {x} ** 3)"
        return f"0.5 * {x} * (1 + np.tanh({inner}))"
    return f"0.5 * {x} * (1 + error_function({x} / 1.4142135623730951))"


def _transposed(operation: ReferredOperation) -> str:
    order = tuple(reversed(range(len(operation.shape()))))
    return f"{operation.names[0]}.transpose{operation.operator.integers('perm', order)}"


def _joined(operation: ReferredOperation) -> str:
    return f"np.concatenate(({', '.join(operation.names)},), {operation.operator.integer('axis')})"


def _gathered(operation: ReferredOperation) -> str:
    axis = operation.operator.integer("axis", 0)
    return f"np.take({operation.names[0]}, {operation.names[1]}, {axis})"


def _expanded(operation: ReferredOperation) -> str:
    return f"np.broadcast_to({operation.names[0]}, {operation.out_shape()})"


def _padded(operation: ReferredOperation) -> str:
    if operation.operator.text("mode", "constant") != "constant" or operation.has(3):
        raise NoReferenceError("Pad is of another kind than with a constant")
    pads = operation.known(1, "pads") or []
    rank = len(operation.shape())
    if any(pad < 0 for pad in pads) or len(pads) != 2 * rank:
        raise NoReferenceError("Pad leaves something out")
    value = operation.names[2] if operation.has(2) else repr(operation.operator.number("value", 0))
    pairs = list(zip(pads[:rank], pads[rank:], strict=True))
    return f"np.pad({operation.names[0]}, {pairs}, constant_values={value})"


def _batch_normalised(operation: ReferredOperation) -> str:
    epsilon = operation.operator.number("epsilon", 1e-5)
    axis = channel_axis(operation)
    wanted = (-1,) + (1,) * (len(operation.shape()) - 1 - axis)
    x, _, _, mean, variance = operation.names
    found = f"({x} - {mean}.reshape{wanted}) / np.sqrt({variance} + {epsilon!r}).reshape{wanted}"
    return shifted(found, operation, 1, 2, axis=axis)


def _response_normalised(operation: ReferredOperation) -> str:
    operator = operation.operator
    numbers = (operator.number(n, d) for n, d in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))
    size = operator.integer("size")
    return f"response_normalised({operation.names[0]}, {size}, {', '.join(map(repr, numbers))})"


def _softmax(operation: ReferredOperation) -> str:
    return f"soft_maximum({operation.names[0]}, {softmax_axis(operation)})"


def _log_softmax(operation: ReferredOperation) -> str:
    return f"np.log({_softmax(operation)})"


def _cast(operation: ReferredOperation) -> str:
    dtype = FROM_ONNX.get(operation.operator.integer("to"), "")
    kept = "float32" if dtype in FLOATS else dtype
    return f"{operation.names[0]}.astype(np.{'bool_' if kept == 'bool' else kept})"


def _einsum(operation: ReferredOperation) -> str:
    return f"np.einsum({operation.operator.text('equation', '')!r}, {', '.join(operation.names)})"


NUMPY: Mapping[str, Expression] = {
    **SHARED,
    **{name: plain(template) for name, template in _UNARY.items()},
    "BatchNormalization": _batch_normalised,
    "Cast": _cast,
    "Clip": _clipped,
    "Concat": _joined,
    "Einsum": _einsum,
    "Elu": _exponential,
    "Expand": _expanded,
    "Gather": _gathered,
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "LRN": _response_normalised,
    "LeakyRelu": _leaky,
    "LogSoftmax": _log_softmax,
    "Max": _many("maximum"),
    "Min": _many("minimum"),
    "Pad": _padded,
    "ReduceL2": _reduced("np.sqrt(({x} * {x}).sum({over}))"),
    "ReduceMax": _reduced("{x}.max({over})"),
    "ReduceMean": _reduced("{x}.mean({over})"),
    "ReduceMin": _reduced("{x}.min({over})"),
    "ReduceSum": _reduced("{x}.sum({over})"),
    "ReduceSumSquare": _reduced("({x} * {x}).sum({over})"),
    "Softmax": _softmax,
    "Transpose": _transposed,
}
"""By the name of the operator of ONNX's own domain."""
