"""Calls of single operators, expressed as values of a region."""

from math import prod

from benanza_runner.cuda.calls import (
    Call,
    Concatenation,
    Convolution,
    ElementGathering,
    Elementwise,
    Gathering,
    Padding,
    Pooling,
    Reduction,
    Resizing,
    RowNormalisation,
    Shuffle,
    Softmax,
    Splitting,
    View,
)
from benanza_runner.cuda.elements import INDEX
from benanza_runner.cuda.lowering.elementwise.expressions import literal
from benanza_runner.cuda.lowering.regions.region_values import Operands, RegionValues
from benanza_runner.cuda.lowering.regions.resized import resized
from benanza_runner.cuda.lowering.regions.windows import depthwise, pooled
from benanza_runner.cuda.unsupported import UnsupportedError


def express(call: Call, operands: Operands, values: RegionValues) -> list[int]:
    """The numbers of the values that are the call's results, in order.

    Raises `UnsupportedError` for calls that can't be part of a region.
    """
    match call:
        case Elementwise():
            return [_elementwise(call, operands, values)]
        case View():
            return [_view(call, operands, values)]
        case Concatenation():
            inputs = [operands[f"in{position}"] for position in range(len(call.shapes))]
            return [values.concatenated(inputs, call.axis)]
        case Shuffle():
            return [_shuffled(call, operands, values)]
        case Splitting():
            return _parts(call, operands, values)
        case Padding() if call.mode == "constant":
            fill = f"{int(call.value)}" if call.element else literal(call.value)
            return [values.padded(operands["input"], call.before, call.output, fill)]
        case Padding():
            return [_continued(call, operands, values)]
        case Gathering():
            return [_gathering(call, operands, values)]
        case ElementGathering():
            x, indices = operands["input"], operands["indices"]
            return [values.gathered_by_element(x, indices, call.axis)]
        case Reduction():
            return [_reduction(call, operands, values)]
        case RowNormalisation():
            return [_normalisation(call, operands, values)]
        case Softmax():
            return [_softmax(call, operands, values)]
        case Convolution():
            return [depthwise(call, operands, values)]
        case Pooling():
            return [pooled(call, operands, values)]
        case Resizing():
            return [resized(call, operands, values)]
    raise UnsupportedError(f"a {type(call).__name__} is no part of a region")


def _elementwise(call: Elementwise, operands: Operands, values: RegionValues) -> int:
    inputs = []
    for position, operand in enumerate(call.operands):
        if operand.element == INDEX:
            (axis,) = operand.axes or (len(call.output) - 1,)
            shape = tuple(n if dimension == axis else 1 for dimension, n in enumerate(call.output))
            inputs.append(values.place(shape, axis))
        else:
            inputs.append(values.reshaped(operands[f"in{position}"], operand.shape))
    return values.pointwise(call.result, inputs, call.element, call.statements, call.output)


def _view(call: View, operands: Operands, values: RegionValues) -> int:
    seen = values.reshaped(operands["input"], call.input)
    cuts = [slice(*bounds) for bounds in zip(call.starts, call.stops, call.steps, strict=True)]
    view = values.transposed(values.sliced(seen, cuts), call.order)
    lacking = len(call.output) - len(values.shape(view))
    if prod(values.shape(view)) == prod(call.output):
        return values.reshaped(view, call.output)
    view = values.reshaped(view, (1,) * lacking + values.shape(view))
    axes = zip(values.shape(view), call.output, strict=True)
    if any(size not in (1, wanted) for size, wanted in axes):
        raise UnsupportedError("a view whose result has other axes is no part of a region")
    return values.expanded(view, call.output)


def _shuffled(call: Shuffle, operands: Operands, values: RegionValues) -> int:
    batch, channels, *space = call.input
    columns = channels // call.rows
    table = values.reshaped(operands["input"], (batch, call.rows, columns, *space))
    order = (0, 2, 1, *range(3, len(space) + 3))
    return values.reshaped(values.transposed(table, order), call.input)


def _parts(call: Splitting, operands: Operands, values: RegionValues) -> list[int]:
    parts = []
    start = 0
    for length in call.lengths:
        cuts = [slice(None)] * len(call.input)
        cuts[call.axis] = slice(start, start + length)
        parts.append(values.sliced(operands["input"], cuts))
        start += length
    return [parts[result] for result in call.results]


_CONTINUED = {
    "edge": "place < 0 ? 0 : place < size ? place : size - 1",
    "reflect": "turned < size ? turned : 2 * size - 2 - turned",
    "wrap": "(place % size + size) % size",
}
"""Which element stands at a place before or behind an axis of this size."""


def _continued(call: Padding, operands: Operands, values: RegionValues) -> int:
    """A value with elements of its own before and after it."""
    number = values.reshaped(operands["input"], call.input)
    for axis, (before, size, wanted) in enumerate(
        zip(call.before, call.input, call.output, strict=True)
    ):
        if wanted != size:
            lines = [
                f"const int size = {size}, place = in0 - {before};",
                f"const int turned = (place < 0 ? -place : place) % {max(2 * size - 2, 1)};",
            ]
            which = values.place((wanted,), 0)
            which = values.pointwise(_CONTINUED[call.mode], [which], "int64", lines)
            number = values.gathered(number, which, axis)
    return number


def _gathering(call: Gathering, operands: Operands, values: RegionValues) -> int:
    batch = 1 if call.shared else call.batch
    tuples = values.reshaped(operands["indices"], (batch, call.rows, len(call.named)))
    numbers = [
        values.reshaped(values.sliced(tuples, cut), (batch, call.rows))
        for part in range(len(call.named))
        for cut in [[slice(None), slice(None), slice(part, part + 1)]]
    ]
    if call.shared and len(numbers) == 1:
        seen = values.reshaped(operands["input"], (call.batch, *call.named, call.inner))
        (rows,) = numbers
    else:
        seen = values.reshaped(
            operands["input"], (call.batch // batch, batch * prod(call.named), call.inner)
        )
        lines = ["long long place = in0;"]
        for part, size in enumerate(call.named, 1):
            lines.append(f"place = place * {size} + (in{part} < 0 ? in{part} + {size} : in{part});")
        first = values.place((batch, 1), 0)
        rows = values.pointwise("place", [first, *numbers], "int64", lines)
    gathered = values.gathered(seen, values.reshaped(rows, (batch * call.rows,)), 1)
    return values.reshaped(gathered, call.output)


_BEFORE = {
    "L1": "fabsf(in0)",
    "L2": "in0 * in0",
    "LogSumExp": "expf(in0)",
    "SumSquare": "in0 * in0",
}
_AFTER = {"L2": "sqrtf(in0)", "LogSum": "logf(in0)", "LogSumExp": "logf(in0)"}


def _reduction(call: Reduction, operands: Operands, values: RegionValues) -> int:
    number = operands["input"]
    if call.kind in _BEFORE:
        number = values.pointwise(_BEFORE[call.kind], [number], call.element)
    kind = call.kind.lower() if call.kind in ("Max", "Min", "Prod") else "sum"
    number = values.reduced(number, call.axes, kind)
    if call.kind == "Mean":
        number = _over(number, prod(call.input[axis] for axis in call.axes), values)
    if call.kind in _AFTER:
        number = values.pointwise(_AFTER[call.kind], [number], call.element)
    return values.reshaped(number, call.output)


def _over(number: int, count: int, values: RegionValues) -> int:
    return values.pointwise(f"in0 * {literal(1 / count)}", [number])


def _normalisation(call: RowNormalisation, operands: Operands, values: RegionValues) -> int:
    x = operands["input"]
    if call.residual:
        x = values.pointwise("in0 + in1", [x, operands["residual"]])
    x = values.reshaped(x, call.lengths)
    axes = [axis for axis, reduced in enumerate(call.reduced) if reduced]
    count = prod(call.lengths[axis] for axis in axes)
    if call.kind == "variance":
        mean = _over(values.reduced(x, axes, "sum"), count, values)
        x = values.pointwise("in0 - in1", [x, mean])
    size = "fabsf(in0)" if call.kind == "l1" else "in0 * in0"
    total = values.reduced(values.pointwise(size, [x]), axes, "sum")
    epsilon = literal(call.epsilon)
    factor = {"l1": "1.0f / in0", "l2": "rsqrtf(in0)"}.get(
        call.kind, f"rsqrtf(in0 * {literal(1 / count)} + {epsilon})"
    )
    normalised = values.pointwise("in0 * in1", [x, values.pointwise(factor, [total])])
    affine = tuple(n if mine else 1 for n, mine in zip(call.lengths, call.affine, strict=True))
    for name, there, text in (
        ("scale", call.scale, "in0 * in1"),
        ("bias", call.bias, "in0 + in1"),
    ):
        if there:
            normalised = values.pointwise(
                text, [normalised, values.reshaped(operands[name], affine)]
            )
    return values.reshaped(normalised, call.output)


def _softmax(call: Softmax, operands: Operands, values: RegionValues) -> int:
    x = values.reshaped(operands["input"], (call.outer, call.size, call.inner))
    away = values.pointwise("in0 - in1", [x, values.reduced(x, (1,), "max")])
    powers = values.pointwise("expf(in0)", [away])
    total = values.reduced(powers, (1,), "sum")
    if call.logarithm:
        softmax = values.pointwise("in0 - logf(in1)", [away, total])
    else:
        softmax = values.pointwise("in0 / in1", [powers, total])
    return values.reshaped(softmax, call.output)
