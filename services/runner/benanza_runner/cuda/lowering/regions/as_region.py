"""Calls that aren't lowered to regions, but that the kernel of a region can run as well."""

from benanza_runner.cuda.calls import Call, Convolution, Region
from benanza_runner.cuda.lowering.regions.express import express
from benanza_runner.cuda.lowering.regions.region_values import RegionValues
from benanza_runner.cuda.unsupported import UnsupportedError


def as_region(call: Call, weights: frozenset[str]) -> Region | None:
    """The region that a call is, whose operands have the same names; None if it is none.

    `weights` names the operands that the model fixes. Operands have the shapes that the call has
    for them.
    """
    if isinstance(call, Region):
        return call
    if not isinstance(call, Convolution) or "filter" not in weights:
        return None
    channels = (call.input[1],)
    shapes = {"input": call.input, "filter": call.filter}
    shapes |= {"bias": channels} if call.bias else {}
    shapes |= {"residual": call.output} if call.residual else {}
    shapes |= {"slope": channels} if call.activation == "PRelu" else {}
    values = RegionValues()
    operands = {name: values.given(name, shape, "") for name, shape in shapes.items()}
    try:
        outputs = express(call, operands, values)
    except UnsupportedError:
        return None
    return Region(tuple(values.values), tuple(outputs), channels=call.input[1])
