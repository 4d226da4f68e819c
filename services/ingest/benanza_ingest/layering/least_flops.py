"""The fewest operations that are known to do the products of a layer.

A convolution needs fewer multiplications than its definition has. Along an axis, m results of r
taps take m + r - 1 of them, and along several axes the product of these numbers; there are as many
additions, over the channels. Winograd, "Arithmetic complexity of computations", 1980; Lavin and
Gray, "Fast algorithms for convolutional neural networks", 2016.

What transforms take counts nothing: with many channels it vanishes. So a Fourier transform, whose
products are of complex numbers, is no cheaper. Products of matrices count in full: no library here
computes them as Strassen does.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from benanza_ingest.layering.costs import operator_flops
from benanza_schemas.layer import OMITTED, Layer, Operator
from benanza_schemas.operators.table import facts_of

_PRODUCTS = ("attention", "product", "recurrent")
"""Kinds of operators whose operations are mostly those of products; others count none."""

_SLIDING = frozenset(
    (
        *("Conv", "ConvInteger", "ConvTranspose", "QLinearConv"),
        *("FusedConv", "NhwcConv", "NhwcFusedConv"),
    )
)
_WITHOUT_FORMULA = ("CausalConv", "VarlenCausalConv", "WordConv", "ConvTransposeWithDynamicPads")


def least_flops(layer: Layer) -> int:
    """The fewest operations; zero for what isn't a product."""
    return sum([_of_operator(layer, operator) for operator in layer.operators])


def _of_operator(layer: Layer, operator: Operator) -> int:
    if facts_of(operator.op_type, operator.domain).kind not in _PRODUCTS:
        return 0
    if operator.op_type.startswith(_WITHOUT_FORMULA):
        return 0
    flops = operator_flops(layer, operator)
    if operator.op_type not in _SLIDING:
        return flops
    kernel = operator.integers("kernel_shape")
    slides = _slides(layer, operator, len(kernel))
    strides = operator.integers("strides", (1,) * len(kernel))
    dilations = operator.integers("dilations", (1,) * len(kernel))
    if not kernel or not all((*slides, *kernel, *strides, *dilations)):
        return 0
    if {len(slides), len(strides), len(dilations)} != {len(kernel)}:
        return 0  # in a damaged file
    axes = zip(slides, kernel, strides, dilations, strict=True)
    needed = prod([_multiplications(*axis) for axis in axes])
    return int(flops * Fraction(needed, prod(slides) * prod(kernel)))


def _slides(layer: Layer, operator: Operator, axes: int) -> Sequence[int]:
    """At how many places along each axis the window stands: those of the results, and of a
    transposed convolution those of the input.
    """
    places = operator.inputs if operator.op_type == "ConvTranspose" else operator.outputs
    shape = layer.tensors[next(place for place in places if place != OMITTED)].shape
    return shape[1:-1] if operator.op_type.startswith("Nhwc") else shape[-axes:]


def _multiplications(places: int, taps: int, stride: int, dilation: int) -> int:
    """The fewest along an axis. With a stride, it is as many convolutions of a part of the taps
    each; a window with holes counts as if it had none, which is no more.
    """
    parts = min(stride, taps) if dilation == 1 else 1
    return parts * places + taps - parts
