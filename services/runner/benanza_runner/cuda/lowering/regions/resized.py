"""Resized feature maps, expressed as values of a region, one axis after the other.

Where elements are repeated equally often, an axis of the input is seen as two, of which one is
repeated. Elsewhere, what an element follows from is gathered: the nearest element, or neighbours
with a weight each. What ONNX says of coordinates, rounding and weights is in its `Resize`.
"""

from benanza_runner.cuda.calls import Resizing
from benanza_runner.cuda.lowering.elementwise.expressions import literal
from benanza_runner.cuda.lowering.regions.region_values import Operands, RegionValues
from benanza_schemas.operators.movement import REPEATING

COORDINATES = {
    "half_pixel": "(c + 0.5f) / f - 0.5f",
    "asymmetric": "c / f",
    "align_corners": "o == 1 ? 0.0f : c * (n - 1) / (o - 1)",
    "half_pixel_symmetric": "n / 2.0f * (1.0f - o / (f * n)) + (c + 0.5f) / f - 0.5f",
    "pytorch_half_pixel": "o > 1 ? (c + 0.5f) / f - 0.5f : 0.0f",
}
"""Where in an axis of `n` elements the element `c` of the `o` of the output is; `f` is the factor
between them."""

ROUNDINGS = {
    "round_prefer_floor": "ceilf(x - 0.5f)",
    "round_prefer_ceil": "floorf(x + 0.5f)",
    "floor": "floorf(x)",
    "ceil": "ceilf(x)",
}

INNER = "(((a + 2.0f) * {t} - (a + 3.0f)) * {t} * {t} + 1.0f)"
OUTER = "(((a * {t} - 5.0f * a) * {t} + 8.0f * a) * {t} - 4.0f * a)"
"""Both parts of the cubic convolution kernel (R. Keys, "Cubic convolution interpolation for digital
image processing", 1981)."""

WEIGHTS = {
    "linear": {0: "1.0f - t", 1: "t"},
    "cubic": {
        -1: OUTER.format(t="(1.0f + t)"),
        0: INNER.format(t="t"),
        1: INNER.format(t="(1.0f - t)"),
        2: OUTER.format(t="(2.0f - t)"),
    },
}
"""By mode, the weights of neighbours by how far they are behind the last element before the place
in question, which is `t` after that one. `a` is the coefficient of the cubic kernel."""


def resized(call: Resizing, operands: Operands, values: RegionValues) -> int:
    """A value in another size."""
    number = values.reshaped(operands["input"], call.input)
    for axis, size in enumerate(call.input):
        wanted = call.output[axis]
        if wanted == size and call.scales[axis] == 1:
            continue
        if call.mode != "nearest":
            number = _weighted(number, axis, call, values)
        elif (call.coordinates, call.rounding) in REPEATING and wanted == size * call.scales[axis]:
            number = _repeated(number, axis, wanted // size, values)
        else:
            place = values.place((wanted,), 0)
            chosen = f"(int)fminf(fmaxf({ROUNDINGS[call.rounding]}, 0.0f), n - 1.0f)"
            nearest = values.pointwise(chosen, [place], "int64", _coordinate(axis, call))
            number = values.gathered(number, nearest, axis)
    return number


def _repeated(number: int, axis: int, times: int, values: RegionValues) -> int:
    shape = values.shape(number)
    before, size, behind = shape[:axis], shape[axis], shape[axis + 1 :]
    split = values.reshaped(number, (*before, size, 1, *behind))
    repeated = values.expanded(split, (*before, size, times, *behind))
    return values.reshaped(repeated, (*before, size * times, *behind))


def _coordinate(axis: int, call: Resizing) -> tuple[str, ...]:
    """Statements that give the place `x` in the input of an index of the output."""
    return (
        f"const int n = {call.input[axis]}, o = {call.output[axis]};",
        f"const float c = in0, f = {literal(call.scales[axis])};",
        f"const float x = {COORDINATES[call.coordinates]};",
    )


def _kept(far: int, mode: str) -> str:
    """The index of a neighbour, or that of the last element on its side."""
    near = f"first + {far}"
    below = f"{near} < n ? {near} : n - 1"
    # Where linear weights are taken, the place itself is within the axis.
    return below if mode == "linear" else f"{near} < 0 ? 0 : {below}"


def _weighted(number: int, axis: int, call: Resizing, values: RegionValues) -> int:
    weights = WEIGHTS[call.mode]
    kept = "fminf(fmaxf(x, 0.0f), n - 1.0f)" if call.mode == "linear" else "x"
    given = (
        *_coordinate(axis, call),
        f"const float y = {kept}, t = y - floorf(y), a = {literal(call.steepness)};",
        "const int first = (int)floorf(y);",
    )
    counted = {
        far: f"(first + {far} >= 0 && first + {far} < n ? {weight} : 0.0f)"
        if call.only_inside
        else f"({weight})"
        for far, weight in weights.items()
    }
    total = f" / ({' + '.join(counted.values())})" if call.only_inside else ""
    wanted = call.output[axis]
    place = values.place((wanted,), 0)
    along = tuple(wanted if other == axis else 1 for other in range(len(call.input)))
    inputs = []
    for far, weight in counted.items():
        near = values.pointwise(_kept(far, call.mode), [place], "int64", given)
        share = values.pointwise(weight + total, [place], statements=given)
        inputs += [values.gathered(number, near, axis), values.reshaped(share, along)]
    terms = [f"in{first} * in{first + 1}" for first in range(0, len(inputs), 2)]
    return values.pointwise(" + ".join(terms), inputs)
