"""What calls mean that make one number of many, or of each with those beside it, in NumPy."""

from collections.abc import Callable, Mapping

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Accumulation, Ranking, Reduction, RowNormalisation

REDUCTIONS: dict[str, Callable[[Array, tuple[int, ...]], Array]] = {
    "L1": lambda x, axes: np.abs(x).sum(axes),
    "L2": lambda x, axes: np.sqrt((x**2).sum(axes)),
    "LogSum": lambda x, axes: np.log(x.sum(axes)),
    "LogSumExp": lambda x, axes: np.log(np.exp(x).sum(axes)),
    "Max": lambda x, axes: x.max(axes),
    "Mean": lambda x, axes: x.mean(axes),
    "Min": lambda x, axes: x.min(axes),
    "Prod": lambda x, axes: x.prod(axes),
    "Sum": lambda x, axes: x.sum(axes),
    "SumSquare": lambda x, axes: (x**2).sum(axes),
}


def reduction(call: Reduction, x: Array) -> Array:
    return REDUCTIONS[call.kind](x, call.axes).reshape(call.output)


def row_normalisation(call: RowNormalisation, operands: Mapping[str, Array]) -> Array:
    x = operands["input"].reshape(call.lengths)
    if call.residual:
        x = x + operands["residual"].reshape(call.lengths)
    axes = tuple(axis for axis, mine in enumerate(call.reduced) if mine)
    mean = x.mean(axes, keepdims=True) if call.kind == "variance" else 0.0
    squares = ((x - mean) ** 2).mean(axes, keepdims=True)
    match call.kind:
        case "l1":
            size = np.abs(x).sum(axes, keepdims=True)
        case "l2":
            size = np.sqrt((x**2).sum(axes, keepdims=True))
        case _:
            size = np.sqrt(squares + call.epsilon)
    result = (x - mean) / size
    shape = [n if mine else 1 for n, mine in zip(call.lengths, call.affine, strict=True)]
    if call.scale:
        result = result * operands["scale"].reshape(shape)
    if call.bias:
        result = result + operands["bias"].reshape(shape)
    return np.asarray(result).reshape(call.output)


def accumulation(call: Accumulation, x: Array) -> Array:
    x = x.reshape(call.outer, call.size, call.inner)
    x = x[:, ::-1] if call.reverse else x
    sums = np.cumsum(x, axis=1)
    sums = sums - x if call.exclusive else sums
    return (sums[:, ::-1] if call.reverse else sums).reshape(call.output)


def ranking(call: Ranking, x: Array) -> list[Array]:
    rows = x.reshape(call.outer, call.size, call.inner)
    keys = -rows if call.largest else rows
    if call.last:
        order = call.size - 1 - np.argsort(keys[:, ::-1], axis=1, kind="stable")
    else:
        order = np.argsort(keys, axis=1, kind="stable")
    order = order[:, : call.count]
    values = np.take_along_axis(rows, order, axis=1)
    found = {"values": values, "indices": order}
    return [found[name].reshape(call.output) for name in call.outputs]
