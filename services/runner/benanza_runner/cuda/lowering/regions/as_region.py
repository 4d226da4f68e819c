"""Calls that aren't lowered to regions, but that the kernel of a region can run as well."""

from collections.abc import Mapping
from math import prod

import msgspec

from benanza_runner.cuda.calls import (
    Call,
    Concatenation,
    Convolution,
    ElementGathering,
    Elementwise,
    Gathering,
    Operand,
    Padding,
    Pooling,
    Reduction,
    Region,
    Resizing,
    RowNormalisation,
    Shape,
    Shuffle,
    Softmax,
    Splitting,
    View,
)
from benanza_runner.cuda.elements import INDEX
from benanza_runner.cuda.feature_maps import RANKS
from benanza_runner.cuda.lowering.regions.express import express
from benanza_runner.cuda.lowering.regions.region_values import RegionValues
from benanza_runner.cuda.lowering.regions.windows import is_global
from benanza_runner.cuda.unsupported import UnsupportedError

MAPS = {"input", "residual"}
"""The operands that are seen with an axis of space more, where the call has one more."""


def as_region(call: Call, computed: Mapping[str, Shape]) -> Region | None:
    """The region that a call is, whose operands have the same names; None if it isn't one.

    `computed` has the shapes of the operands that the model doesn't fix. Operands of the region
    have the shapes that the call has for them.
    """
    match call:
        case Region():
            return call
        case Elementwise():
            return _of_elementwise(call)
        case Concatenation():
            return _of_concatenation(call)
        case Convolution() if "filter" not in computed:
            return _expressed(call, _of_convolution(call), channels=call.input[1])
        case RowNormalisation():
            shapes = _of_normalisation(call)
            affine = computed.keys() - MAPS
            if any(computed[name] != shapes[name] for name in affine):
                return None
            return _expressed(call, shapes)
        case Softmax():
            return _expressed(call, {"input": call.output})
        case Pooling() if is_global(call):
            return _expressed(call, {"input": call.input})
        case Padding() | Resizing():
            channels = channels_of(call)
            return _expressed(call, {"input": call.input}, channels, call.element)
        case Reduction() | Shuffle() | Splitting() | View():
            return _expressed(call, {"input": call.input}, element=call.element)
        case Gathering() | ElementGathering():
            return _of_gathering(call)
    return None


def channels_of(call: Call) -> int:
    """The channels of the feature maps that a call moves windows over, or that it resizes or pads;
    zero if there are none.
    """
    match call:
        case Convolution() | Pooling():
            return call.input[1]
        case Padding() | Resizing() if len(call.input) in RANKS:
            return call.input[1] if call.input[:2] == call.output[:2] else 0
    return 0


def is_whole(call: Elementwise) -> bool:
    """Whether no operand is repeated along some of the axes alone; so all may lie in any order."""
    elements = prod(call.output)
    return all(
        operand.element != INDEX and prod(operand.shape) in (1, elements)
        for operand in call.operands
    )


def _of_elementwise(call: Elementwise) -> Region | None:
    """The region of the call; of one axis if it is whole, which leaves nothing to be divided."""
    values = RegionValues()
    shape = call.output
    shapes = [(1,) * (len(shape) - len(o.shape)) + o.shape for o in call.operands]
    flat = call
    if is_whole(call):
        sizes = [prod(operand.shape) for operand in call.operands]
        operands = tuple(
            Operand((size,), (0,) if size > 1 else (), operand.element)
            for operand, size in zip(call.operands, sizes, strict=True)
        )
        flat = msgspec.structs.replace(call, output=(prod(call.output),), operands=operands)
    given = {
        f"in{place}": values.given(f"in{place}", shape, operand.element)
        for place, (operand, shape) in enumerate(zip(call.operands, shapes, strict=True))
        if operand.element != INDEX
    }
    (result,) = express(flat, given, values)
    whole = values.reshaped(result, call.output)
    return Region(tuple(values.values), (whole,))


def _of_concatenation(call: Concatenation) -> Region:
    """The region of the call; of two axes if its parts are no feature maps."""
    values = RegionValues()
    flat = call
    if len(call.output) not in RANKS:
        before = prod(call.output[: call.axis])
        shapes = tuple((before, prod(shape) // max(before, 1)) for shape in call.shapes)
        output = before, sum(length for _, length in shapes)
        flat = msgspec.structs.replace(call, shapes=shapes, axis=1, output=output)
    given = {
        f"in{part}": values.given(f"in{part}", shape, call.element)
        for part, shape in enumerate(flat.shapes)
    }
    (result,) = express(flat, given, values)
    whole = values.reshaped(result, call.output)
    return Region(tuple(values.values), (whole,))


def _of_gathering(call: Gathering | ElementGathering) -> Region | None:
    values = RegionValues()
    read: Shape
    indices: Shape
    if isinstance(call, Gathering):
        tuples = call.rows if call.shared else call.batch * call.rows
        read, indices = (call.batch, *call.named, call.inner), (tuples, len(call.named))
    else:
        read, indices = call.input, call.output
    given = {
        "input": values.given("input", read, call.element),
        "indices": values.given("indices", indices, call.index_element),
    }
    try:
        (result,) = express(call, given, values)
    except UnsupportedError:
        return None
    return Region(tuple(values.values), (result,))


def _of_convolution(call: Convolution) -> dict[str, Shape]:
    channels = (call.input[1],)
    shapes = {"input": call.input, "filter": call.filter}
    shapes |= {"bias": channels} if call.bias else {}
    shapes |= {"residual": call.output} if call.residual else {}
    shapes |= {"slope": channels} if call.activation == "PRelu" else {}
    return shapes


def _of_normalisation(call: RowNormalisation) -> dict[str, Shape]:
    affine = (prod(n for n, mine in zip(call.lengths, call.affine, strict=True) if mine),)
    shapes = {"input": call.output}
    shapes |= {"residual": call.output} if call.residual else {}
    shapes |= {"scale": affine} if call.scale else {}
    shapes |= {"bias": affine} if call.bias else {}
    return shapes


def _expressed(
    call: Call, shapes: Mapping[str, Shape], channels: int = 0, element: str = ""
) -> Region | None:
    values = RegionValues()
    operands = {name: values.given(name, shape, element) for name, shape in shapes.items()}
    try:
        outputs = express(call, operands, values)
    except UnsupportedError:
        return None
    return Region(tuple(values.values), tuple(outputs), channels)
