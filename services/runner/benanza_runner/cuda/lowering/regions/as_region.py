"""Calls that aren't lowered to regions, but that the kernel of a region can run as well."""

from collections.abc import Mapping
from math import prod

from benanza_runner.cuda.calls import (
    Call,
    Convolution,
    Padding,
    Pooling,
    Reduction,
    Region,
    Resizing,
    RowNormalisation,
    Shape,
    Softmax,
)
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
        case Reduction():
            return _expressed(call, {"input": call.input}, element=call.element)
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
