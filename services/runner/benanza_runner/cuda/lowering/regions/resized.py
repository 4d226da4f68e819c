"""Resized feature maps, expressed as values of a region.

Where elements are repeated, an axis of the input is seen as two, of which one is repeated. Between
elements, those before and behind are gathered on one axis after the other.
"""

from benanza_runner.cuda.calls import Resizing
from benanza_runner.cuda.kernels.source.resizing import COORDINATES
from benanza_runner.cuda.lowering.elementwise.expressions import literal
from benanza_runner.cuda.lowering.regions.region_values import Operands, RegionValues
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.operators.movement import REPEATING


def resized(call: Resizing, operands: Operands, values: RegionValues) -> int:
    """A value in another size. Raises `UnsupportedError` where elements further away count, or the
    nearest ones aren't repeated equally often.
    """
    number = values.reshaped(operands["input"], call.input)
    for axis, size in enumerate(call.input):
        if call.output[axis] == size and call.scales[axis] == 1:
            continue
        if call.mode == "linear":
            number = _between(number, axis, call, values)
        elif call.mode == "nearest":
            number = _repeated(number, axis, call, values)
        else:
            raise UnsupportedError(f"a resize in mode {call.mode} is no part of a region")
    return number


def _repeated(number: int, axis: int, call: Resizing, values: RegionValues) -> int:
    size, wanted = call.input[axis], call.output[axis]
    times = wanted // size
    if (call.coordinates, call.rounding) not in REPEATING or not (
        wanted == times * size and call.scales[axis] == times
    ):
        raise UnsupportedError("a resize that repeats elements unequally is no part of a region")
    shape = values.shape(number)
    before, behind = shape[:axis], shape[axis + 1 :]
    split = values.reshaped(number, (*before, size, 1, *behind))
    repeated = values.expanded(split, (*before, size, times, *behind))
    return values.reshaped(repeated, (*before, wanted, *behind))


def _between(number: int, axis: int, call: Resizing, values: RegionValues) -> int:
    size, wanted = call.input[axis], call.output[axis]
    place = values.place((wanted,), 0)
    coordinate = COORDINATES[call.coordinates].format(0)
    given = (
        f"const int n0 = {size}, o0 = {wanted};",
        f"const float c = in0, f0 = {literal(call.scales[axis])};",
        f"const float x = fminf(fmaxf({coordinate}, 0.0f), {size - 1}.0f);",
    )
    low = values.pointwise("(int)x", [place], "int64", given)
    high = values.pointwise(f"(int)x < {size - 1} ? (int)x + 1 : (int)x", [place], "int64", given)
    share = values.pointwise("x - floorf(x)", [place], statements=given)
    shape = values.shape(number)
    along = tuple(wanted if at == axis else 1 for at in range(len(shape)))
    ends = [values.gathered(number, each, axis) for each in (low, high)]
    return values.pointwise(
        "in0 * (1.0f - in2) + in1 * in2", [*ends, values.reshaped(share, along)]
    )
