"""New tokens written into a copy of a cache, as one region: TensorScatter.

Where a model keeps the cache as a state, ingest has them written in place, and nothing is copied.
Source: the operator's definition in ONNX.
"""

from collections.abc import Mapping

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Region
from benanza_runner.cuda.elements import element
from benanza_runner.cuda.lowering.regions.region_values import RegionValues
from benanza_schemas.layer import OMITTED, Layer

SCATTERED_TOKENS = "TensorScatter"

Lowering = tuple[Region, dict[str, Array], frozenset[str]]


def lower_scattered_tokens(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Each element asks which new token would stand in its place, and is that of the cache if there is
    none. Raises `UnsupportedError`.
    """
    (operator,) = layer.operators
    region, operands, fixed = RegionValues(), dict[str, Array](), set[str]()

    def given(name: str, index: int) -> int:
        tensor, operands[name] = layer.tensors[index], values[index]
        fixed.update({name} if tensor.constant else ())
        return region.given(name, tensor.shape, element(tensor.dtype))

    before, new, first = (*operator.inputs, OMITTED)[:3]
    shape, tokens = layer.tensors[before].shape, layer.tensors[new].shape
    axis = operator.integer("axis", -2) % len(shape)
    along = tuple([size if place == axis else 1 for place, size in enumerate(shape)])
    places = [region.place(along, axis)]
    behind = "in0"
    if first != OMITTED:
        begin = given("first", first)
        places.append(region.reshaped(begin, (shape[0], *(1,) * (len(shape) - 1))))
        behind = "in0 - in1"
    if operator.text("mode", "linear") == "circular":
        behind = f"({behind} + {shape[axis]}) % {shape[axis]}"
    token = region.pointwise(behind, places, "int64")
    last = tokens[axis] - 1
    near = region.pointwise(f"in0 < 0 ? 0 : in0 > {last} ? {last} : in0", [token], "int64")
    written = region.gathered_by_element(given("new", new), region.expanded(near, shape), axis)
    kept = given("before", before)
    made = region.pointwise(
        f"in0 >= 0 && in0 <= {last} ? in1 : in2", [token, written, kept], region.element(kept)
    )
    return Region(tuple(region.values), (made,)), operands, frozenset(fixed)
