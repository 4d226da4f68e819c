"""Operators as expressions of PyTorch."""

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
    "Abs": "torch.abs({0})",
    "Ceil": "torch.ceil({0})",
    "Cos": "torch.cos({0})",
    "Erf": "torch.erf({0})",
    "Exp": "torch.exp({0})",
    "Floor": "torch.floor({0})",
    "HardSwish": "torch.nn.functional.hardswish({0})",
    "IsNaN": "torch.isnan({0})",
    "Log": "torch.log({0})",
    "Mish": "torch.nn.functional.mish({0})",
    "Relu": "torch.relu({0})",
    "Round": "torch.round({0})",
    "Sigmoid": "torch.sigmoid({0})",
    "Sign": "torch.sign({0})",
    "Sin": "torch.sin({0})",
    "Softplus": "torch.nn.functional.softplus({0})",
    "Softsign": "torch.nn.functional.softsign({0})",
    "Sqrt": "torch.sqrt({0})",
    "Tanh": "torch.tanh({0})",
    "GlobalAveragePool": "{0}.mean(tuple(range(2, {0}.ndim)), keepdim=True)",
    "GlobalMaxPool": "{0}.amax(tuple(range(2, {0}.ndim)), keepdim=True)",
    "PRelu": "torch.where({0} < 0, {0} * {1}, {0})",
    "Pow": "{0} ** {1}",
    "Where": "torch.where({0}, {1}, {2})",
}


def _reduced(function: str) -> Expression:
    def expression(operation: ReferredOperation) -> str:
        keeps = bool(operation.operator.integer("keepdims", 1))
        x = operation.names[0]
        return function.format(x=x, over=f"{operation.axes(1)}, keepdim={keeps}")

    return expression


def _many(function: str) -> Expression:
    def expression(operation: ReferredOperation) -> str:
        found, *others = operation.names
        for name in others:
            found = f"torch.{function}({found}, {name})"
        return found

    return expression


def _clipped(operation: ReferredOperation) -> str:
    ends = [operation.names[slot] if operation.has(slot) else "None" for slot in (1, 2)]
    if operation.operator.version < 11:
        low, high = (operation.operator.attribute(name) for name in ("min", "max"))
        ends = [repr(low), repr(high)]
    if ends == ["None", "None"]:
        return operation.names[0]
    return f"torch.clamp({operation.names[0]}, {ends[0]}, {ends[1]})"


def _leaky(operation: ReferredOperation) -> str:
    alpha = operation.operator.number("alpha", 0.01)
    return f"torch.nn.functional.leaky_relu({operation.names[0]}, {alpha!r})"


def _exponential(operation: ReferredOperation) -> str:
    alpha = operation.operator.number("alpha", 1.0)
    return f"torch.nn.functional.elu({operation.names[0]}, {alpha!r})"


def _hard_sigmoid(operation: ReferredOperation) -> str:
    operator = operation.operator
    alpha, beta = operator.number("alpha", 0.2), operator.number("beta", 0.5)
    return f"torch.clamp({alpha!r} * {operation.names[0]} + {beta!r}, 0, 1)"


def _gelu(operation: ReferredOperation) -> str:
    approximate = operation.operator.text("approximate", "none")
    return f"torch.nn.functional.gelu({operation.names[0]}, approximate={approximate!r})"


def _transposed(operation: ReferredOperation) -> str:
    rank = len(operation.shape())
    order = operation.operator.integers("perm", tuple(range(rank))[::-1])
    return f"{operation.names[0]}.permute{order}"


def _joined(operation: ReferredOperation) -> str:
    return f"torch.cat(({', '.join(operation.names)},), {operation.operator.integer('axis')})"


def _gathered(operation: ReferredOperation) -> str:
    axis = operation.operator.integer("axis", 0) % len(operation.shape())
    indices = operation.names[1]
    size = operation.shape()[axis]
    before, after = operation.shape()[:axis], operation.shape()[axis + 1 :]
    shape = before + operation.shape(1) + after
    flat = f"({indices}.reshape(-1).long() % {size})"
    return f"torch.index_select({operation.names[0]}, {axis}, {flat}).reshape({shape})"


def _expanded(operation: ReferredOperation) -> str:
    return f"{operation.names[0]}.expand({operation.out_shape()})"


def _padded(operation: ReferredOperation) -> str:
    if operation.operator.text("mode", "constant") != "constant" or operation.has(3):
        raise NoReferenceError("Pad is of another kind than with a constant")
    pads = operation.known(1, "pads") or []
    rank = len(operation.shape())
    if any(pad < 0 for pad in pads) or len(pads) != 2 * rank:
        raise NoReferenceError("Pad leaves something out")
    value = repr(operation.operator.number("value", 0.0))
    if operation.has(2):
        value = f"float({operation.names[2]})"
    return (
        f"padded({operation.names[0]}, {list(zip(pads[:rank], pads[rank:], strict=True))}, {value})"
    )


def _batch_normalised(operation: ReferredOperation) -> str:
    epsilon = operation.operator.number("epsilon", 1e-5)
    axis = channel_axis(operation)
    wanted = (-1,) + (1,) * (len(operation.shape()) - 1 - axis)
    x, _, _, mean, variance = operation.names
    root = f"torch.sqrt({variance} + {epsilon!r}).reshape{wanted}"
    return shifted(f"({x} - {mean}.reshape{wanted}) / {root}", operation, 1, 2, axis=axis)


def _response_normalised(operation: ReferredOperation) -> str:
    operator = operation.operator
    numbers = (operator.number(n, d) for n, d in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))
    size = operator.integer("size")
    return (
        f"torch.nn.functional.local_response_norm({operation.names[0]}, {size}, "
        f"{', '.join(map(repr, numbers))})"
    )


def _softmax(function: str) -> Expression:
    return lambda operation: f"torch.{function}({operation.names[0]}, {softmax_axis(operation)})"


def _cast(operation: ReferredOperation) -> str:
    dtype = FROM_ONNX.get(operation.operator.integer("to"), "")
    return f"{operation.names[0]}.to(torch.{'float32' if dtype in FLOATS else dtype})"


def _einsum(operation: ReferredOperation) -> str:
    equation = operation.operator.text("equation", "")
    return f"torch.einsum({equation!r}, {', '.join(operation.names)})"


TORCH: Mapping[str, Expression] = {
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
    "LogSoftmax": _softmax("log_softmax"),
    "Max": _many("maximum"),
    "Min": _many("minimum"),
    "Pad": _padded,
    "ReduceL2": _reduced("torch.sqrt(({x} * {x}).sum({over}))"),
    "ReduceMax": _reduced("{x}.amax({over})"),
    "ReduceMean": _reduced("{x}.mean({over})"),
    "ReduceMin": _reduced("{x}.amin({over})"),
    "ReduceSum": _reduced("{x}.sum({over})"),
    "ReduceSumSquare": _reduced("({x} * {x}).sum({over})"),
    "Softmax": _softmax("softmax"),
    "Transpose": _transposed,
}
"""By the name of the operator of ONNX's own domain."""
