"""Depth-wise convolutions and poolings, expressed as values of a region.

A value for each place in the window is the input moved by so much; their weighted sum, their mean,
or the largest of them is the result.
"""

from collections.abc import Iterator
from math import prod

import numpy as np

from benanza_runner.cuda.calls import Convolution, Pooling, Shape
from benanza_runner.cuda.lowering.elementwise.expressions import literal
from benanza_runner.cuda.lowering.products.activations import FUSED, expression
from benanza_runner.cuda.lowering.regions.region_values import Operands, RegionValues
from benanza_runner.cuda.unsupported import UnsupportedError

MOST_PLACES = 128
"""In a window. The kernel has statements for each of them."""

LEAST = "-__int_as_float(0x7f800000)"


def depthwise(call: Convolution, operands: Operands, values: RegionValues) -> int:
    """A convolution in which each channel is convolved with a filter of its own, and its epilogue.

    Raises `UnsupportedError` for other convolutions.
    """
    channels, window = call.input[1], call.filter[2:]
    if call.filter[:2] != (channels, 1) or call.has_prologue:
        raise UnsupportedError("only a depth-wise convolution without prologue is part of a region")
    if not values.is_given(operands["filter"]):
        raise UnsupportedError("a convolution whose filter is computed is no part of a region")
    rank = len(values.shape(operands["filter"]))
    values.lay(operands["filter"], (*range(1, rank), 0))  # Channels lie next to each other.
    filters = values.reshaped(operands["filter"], call.filter)
    by_channel = (1, channels, *(1,) * len(window))
    terms: list[int] = []
    for place, seen in _places(call, window, operands["input"], "0.0f", values):
        cuts = [slice(None), slice(None), *(slice(offset, offset + 1) for offset in place)]
        terms += [seen, values.reshaped(values.sliced(filters, cuts), by_channel)]
    text = " + ".join(f"in{position} * in{position + 1}" for position in range(0, len(terms), 2))
    if call.bias:
        text += f" + in{len(terms)}"
        terms.append(values.reshaped(operands["bias"], by_channel))
    if call.residual:
        text += f" + in{len(terms)}"
        terms.append(values.reshaped(operands["residual"], call.output))
    convolved = values.pointwise(text, terms, shape=call.output)
    if call.activation == "PRelu":
        slope = values.reshaped(operands["slope"], by_channel)
        convolved = values.pointwise("in0 > 0.0f ? in0 : in0 * in1", [convolved, slope])
    elif call.activation not in FUSED:
        raise UnsupportedError(f"{call.activation} is no part of a region")
    elif call.activation:
        convolved = values.pointwise(expression(call.activation, call.numbers, "in0"), [convolved])
    return convolved


def pooled(call: Pooling, operands: Operands, values: RegionValues) -> int:
    """A pooling. Raises `UnsupportedError` for windows that are too large, unless they are one."""
    x = values.reshaped(operands["input"], call.input)
    if is_global(call):
        axes = range(2, len(call.input))
        reduced = values.reduced(x, axes, "max" if call.mode == "max" else "sum")
        if call.mode == "max":
            return reduced
        return values.pointwise(f"in0 * {literal(1 / prod(call.window))}", [reduced])
    fill = LEAST if call.mode == "max" else "0.0f"
    seen = [number for _, number in _places(call, call.window, x, fill, values)]
    if call.mode == "max":
        statements = [
            "float m = in0;",
            *(f"m = fmaxf(m, in{position});" for position in range(1, len(seen))),
        ]
        return values.pointwise("m", seen, statements=statements, shape=call.output)
    total = values.pointwise(
        " + ".join(f"in{position}" for position in range(len(seen))), seen, shape=call.output
    )
    if call.mode == "average_padded" or not _reaches_beyond(call):
        return values.pointwise(f"in0 * {literal(1 / prod(call.window))}", [total])
    return _over_counts(call, total, values)


def _places(
    call: Convolution | Pooling, window: Shape, x: int, fill: str, values: RegionValues
) -> Iterator[tuple[Shape, int]]:
    """Each place in the window, and the input as it is seen from there."""
    if prod(window) > MOST_PLACES or min(call.pads_before) < 0:
        raise UnsupportedError(f"a window of {prod(window)} places is no part of a region")
    x = values.reshaped(x, call.input)
    space = tuple(
        max(before + size, reach)
        for before, size, reach in zip(
            call.pads_before, call.input[2:], _reach(call, window), strict=True
        )
    )
    if space != call.input[2:]:
        x = values.padded(x, (0, 0, *call.pads_before), (*call.input[:2], *space), fill)
    for place in np.ndindex(window):
        cuts = [slice(None), slice(None)]
        for offset, step, dilation, count in zip(
            place, call.strides, call.dilations, call.output[2:], strict=True
        ):
            cuts.append(slice(offset * dilation, offset * dilation + (count - 1) * step + 1, step))
        yield place, values.sliced(x, cuts)


def _reach(call: Convolution | Pooling, window: Shape) -> list[int]:
    """How far the windows reach on each axis of the padded input."""
    return [
        (count - 1) * step + (size - 1) * dilation + 1
        for count, step, size, dilation in zip(
            call.output[2:], call.strides, window, call.dilations, strict=True
        )
    ]


def _reaches_beyond(call: Pooling) -> bool:
    """Whether some window is not all in the input."""
    reach = zip(_reach(call, call.window), call.input[2:], strict=True)
    return any(call.pads_before) or any(end > size for end, size in reach)


def is_global(call: Pooling) -> bool:
    """Whether there is one window, which is the whole input."""
    whole = call.window == call.input[2:] and set(call.output[2:]) == {1}
    return whole and not any(call.pads_before) and set(call.dilations) == {1}


def _over_counts(call: Pooling, total: int, values: RegionValues) -> int:
    """The sum of each window over the number of its places in the input."""
    if set(call.dilations) != {1}:
        raise UnsupportedError("a mean over a dilated window with pads is no part of a region")
    inputs, counts = [total], []
    axes = zip(call.window, call.strides, call.pads_before, call.input[2:], strict=True)
    for axis, (size, step, pad, length) in enumerate(axes, start=2):
        shape = tuple(n if dimension == axis else 1 for dimension, n in enumerate(call.output))
        start = f"in{len(inputs)} * {step} - {pad}"
        inputs.append(values.place(shape, axis))
        end = f"({start} + {size} < {length} ? {start} + {size} : {length})"
        counts.append(f"({end} - ({start} > 0 ? {start} : 0))")
    return values.pointwise(f"in0 / (float)({' * '.join(counts)})", inputs)
