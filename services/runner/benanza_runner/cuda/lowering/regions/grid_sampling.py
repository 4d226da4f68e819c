"""Feature maps read between their elements, at places that another tensor has: GridSample.

Detectors whose attention is deformable have it. Sources: the operator's definition in ONNX;
Jaderberg et al., "Spatial Transformer Networks", 2015.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Region, Shape
from benanza_runner.cuda.elements import element
from benanza_runner.cuda.lowering.elementwise.expressions import literal
from benanza_runner.cuda.lowering.regions.region_values import RegionValues
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer, Operator

GRID_SAMPLING = "GridSample"

_MODES = {"bilinear": "linear", "linear": "linear", "nearest": "nearest"}
"""The modes that are known, by their names in all versions."""

Lowering = tuple[Region, dict[str, Array], frozenset[str]]


def lower_grid_sampling(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    The maps are by batch, channel and any axes of space, the places by batch, axes of the result
    and one number for each axis of the maps, the last one first. Raises `UnsupportedError`.
    """
    (operator,) = layer.operators
    mode = _MODES.get(operator.text("mode", "linear"), "")
    padding = operator.text("padding_mode", "zeros")
    if not mode or padding == "reflection":
        what = "reflection" if mode else operator.text("mode", "")
        raise UnsupportedError(f"{GRID_SAMPLING} with {what} is not supported yet")
    names = dict(zip(("input", "grid"), operator.inputs, strict=True))
    region = RegionValues()
    x, grid = (
        region.given(name, layer.tensors[index].shape, element(layer.tensors[index].dtype))
        for name, index in names.items()
    )
    (batch, channels, *space), output = region.shape(x), layer.tensors[layer.outputs[0]].shape
    points = prod(output[2:])
    places = _places(region, grid, operator, space)
    flat = region.reshaped(x, (batch, channels, prod(space)))
    terms = []
    for corner in product(*((0, 1) if mode == "linear" else (0,) for _ in space)):
        index, weight = _corner(region, places, corner, space, mode, inside=padding == "zeros")
        one = region.reshaped(index, (batch, 1, points))
        each = region.expanded(one, (batch, channels, points))
        terms += [region.gathered_by_element(flat, each, 2)]
        terms += [region.reshaped(weight, (batch, 1, points))]
    summed = " + ".join(f"in{term} * in{term + 1}" for term in range(0, len(terms), 2))
    result = region.reshaped(region.pointwise(summed, terms), output)
    operands = {name: values[index] for name, index in names.items()}
    fixed = frozenset(name for name, index in names.items() if layer.tensors[index].constant)
    return Region(tuple(region.values), (result,)), operands, fixed


def _places(region: RegionValues, grid: int, operator: Operator, space: Sequence[int]) -> list[int]:
    """The places on each axis of the maps, counted in elements. From -1 to 1 they go from the first
    to the last element, or from its edge to its edge.
    """
    shape = region.shape(grid)
    whole = [slice(None)] * (len(shape) - 1)
    places = []
    for axis, size in enumerate(space):
        number = len(space) - 1 - axis
        mine = region.sliced(grid, [*whole, slice(number, number + 1)])
        if operator.integer("align_corners", 0):
            text = f"(in0 + 1.0f) / 2.0f * {literal(size - 1)}"
        else:
            text = f"((in0 + 1.0f) * {literal(size)} - 1.0f) / 2.0f"
        places.append(region.pointwise(text, [region.reshaped(mine, shape[:-1])]))
    return places


def _corner(
    region: RegionValues,
    places: Sequence[int],
    corner: Shape,
    space: Sequence[int],
    mode: str,
    *,
    inside: bool,
) -> tuple[int, int]:
    """The number of the element in the maps that is this corner of each place's surroundings, and
    its weight. Elements outside are the nearest inside; with `inside`, they weigh nothing.
    """
    index = ["long long flat = 0, at;"]
    weight = ["float weight = 1.0f, at;"]
    nearest = "floorf" if mode == "linear" else "rintf"
    for axis, (bit, size) in enumerate(zip(corner, space, strict=True)):
        at = f"at = {nearest}(in{axis}) + {bit};"
        index += [at, f"flat = flat * {size} + (at < 0 ? 0 : at < {size} ? at : {size - 1});"]
        weight.append(at)
        if mode == "linear":
            weight.append(f"weight *= 1.0f - fabsf(in{axis} - at);")
        if inside:
            weight.append(f"weight = at >= 0.0f && at < {literal(size)} ? weight : 0.0f;")
    return (
        region.pointwise("flat", places, "int64", index),
        region.pointwise("weight", places, "", weight),
    )
