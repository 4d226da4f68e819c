"""Floats to bytes whose scale and zero point follow from the floats: DynamicQuantizeLinear.

Source: the operator's definition in ONNX, whose operations are done in its order, so that numbers
halfway between two integers go to the same one.
"""

from collections.abc import Mapping

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Region
from benanza_runner.cuda.elements import element
from benanza_runner.cuda.lowering.elementwise.quantisation import QUANTISED, quantised
from benanza_runner.cuda.lowering.regions.region_values import RegionValues
from benanza_schemas.layer import Layer

DYNAMIC_QUANTISATION = "DynamicQuantizeLinear"

TO = "uint8"

Lowering = tuple[Region, dict[str, Array], frozenset[str]]


def lower_dynamic_quantisation(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    All elements are one row, which is reduced to its least and its greatest, or to zero if that is
    less or greater. Raises `UnsupportedError`.
    """
    (operator,) = layer.operators
    (source,) = operator.inputs
    tensor = layer.tensors[source]
    region = RegionValues()
    x = region.given("input", tensor.shape, element(tensor.dtype))
    axes = range(len(tensor.shape))
    least, greatest = (region.reduced(x, axes, kind) for kind in ("min", "max"))
    _, top = QUANTISED[TO]
    scale = region.pointwise(
        "span > 0.0f ? span : 1.0f",
        [least, greatest],
        "",
        [f"const float span = (fmaxf(in1, 0.0f) - fminf(in0, 0.0f)) / {top}.0f;"],
    )
    shift = f"fminf(fmaxf(0.0f - fminf(in0, 0.0f) / in1, 0.0f), {top}.0f)"
    zero = region.pointwise(f"(long long)rintf({shift})", [least, scale], TO)
    whole = region.pointwise(quantised("in0", "in1", "in2", TO), [x, scale, zero], TO)
    numbers = (whole, region.reshaped(scale, ()), region.reshaped(zero, ()))
    by_output = dict(zip(operator.outputs, numbers, strict=False))
    outputs = tuple([by_output[index] for index in layer.outputs])
    fixed = frozenset({"input"} if tensor.constant else ())
    return Region(tuple(region.values), outputs), {"input": values[source]}, fixed
