"""CausalConvWithState of ONNX and of ONNX Runtime: each channel convolved with what came before.

It is written as one product for each place of the filter, so that what is kept and what is new are
read where they lie. Source: the operators' definitions in ONNX, opset 27, and in ONNX Runtime.
"""

from benanza_runner.cuda.lowering.written_out.writing import Shape, Writing, given
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Operator

_BIAS, _PAST = 2, 3

_MOST_PLACES = 16
"""Of a filter. Those of models have four."""


def causal_convolution(writing: Writing, operator: Operator) -> None:
    """The convolution and what it keeps, where either may be no result.

    Raises `UnsupportedError`.
    """
    x, filters = operator.inputs[:2]
    shape, places = writing.shape(x), writing.shape(filters)[-1]
    _check(operator, places)
    last = bool(operator.integer("channels_last", 0))
    axis, dilation = 1 if last else 2, operator.integer("dilation", 1)
    reach = (places - 1) * dilation
    result, kept = (*operator.outputs, OMITTED)[:2]
    whole = (*shape[:axis], reach + shape[axis], *shape[axis + 1 :])
    seen = x
    if reach and given(operator, _PAST):
        read = (operator.inputs[_PAST], x)
        seen = writing.add("Concat", 13, read, shape=whole, axis=axis)
    elif reach:
        before = [0] * len(shape)
        before[axis] = reach
        pads = (*before, *[0] * len(shape))
        seen = writing.add("Pad", 2, (x,), shape=whole, mode="constant", pads=pads)
    by_channel = shape[2:] if last else (shape[1], 1)
    total = _total(writing, operator, seen, (axis, dilation, by_channel))
    if given(operator, _BIAS):
        bias = writing.reshape(operator.inputs[_BIAS], by_channel)
        total = writing.add("Add", 14, (total, bias))
    if operator.text("activation", "none") == "none":
        writing.reshape(total, shape, result)
    else:
        writing.add("Swish", 24, (total,), result, alpha=1.0)
    if kept != OMITTED:
        end = whole[axis]
        _slice(writing, seen, axis, (end - reach, end), kept)


def _total(writing: Writing, operator: Operator, seen: int, along: tuple[int, int, Shape]) -> int:
    """The sum over all places of the filter, along an axis with a dilation. `by_channel` is the
    shape of a number for each channel.
    """
    axis, dilation, by_channel = along
    x, filters = operator.inputs[:2]
    length, places = writing.shape(x)[axis], writing.shape(filters)[-1]
    total = OMITTED
    for place in range(places):
        start = place * dilation
        part = _slice(writing, seen, axis, (start, start + length))
        weight = writing.reshape(_slice(writing, filters, 2, (place, place + 1)), by_channel)
        product = writing.add("Mul", 14, (part, weight))
        total = product if total == OMITTED else writing.add("Add", 14, (total, product))
    return total


def _slice(
    writing: Writing, index: int, axis: int, ends: tuple[int, int], output: int | None = None
) -> int:
    shape = writing.shape(index)
    cut = (*shape[:axis], ends[1] - ends[0], *shape[axis + 1 :])
    named = {"axes": (axis,), "starts": ends[:1], "ends": ends[1:]}
    return writing.add("Slice", 1, (index,), output, cut, **named)


def _check(operator: Operator, places: int) -> None:
    name = operator.op_type
    if operator.integer("ndim", 1) != 1:
        raise UnsupportedError(f"{name} over several axes is not supported yet")
    if operator.integer("state_window", 0):
        # ONNX Runtime's CPU, which checks results, has no states of several places either.
        raise UnsupportedError(f"{name} that keeps the states of several tokens isn't supported")
    if places > _MOST_PLACES:
        raise UnsupportedError(f"{name} with {places} places in its filter is not supported yet")
