"""The fewest operations that are known to do the products of a layer.

A convolution needs fewer multiplications than its definition has: Winograd, "Arithmetic complexity
of computations", 1980; Lavin and Gray, "Fast algorithms for convolutional neural networks", 2016.
But however its multiplications are shared, there are at least as many as elements that any window
reads, as results that depend on any, and as weights that meet any (each is the rank of a matrix
that the convolution's coefficients are written as). What lies in the padding is none of these. For
m results of r taps without padding, these are the m + r - 1 of Winograd's minimal algorithms along
each axis. There are as many additions, over the channels.

What transforms take counts nothing: with many channels it vanishes. So a Fourier transform, whose
products are of complex numbers, is no cheaper. Products of matrices count in full: no library here
computes them as Strassen does.
"""

from math import prod

from benanza_ingest.layering.costs import operator_flops
from benanza_ingest.layering.einsum import least_einsum_flops
from benanza_ingest.layering.windows import CONVOLUTIONS, axes_of
from benanza_schemas.layer import Layer, Operator
from benanza_schemas.operators.table import facts_of

_PRODUCTS = ("attention", "product", "recurrent")
"""Kinds of operators whose operations are mostly those of products; others count none."""

_WITHOUT_FORMULA = ("CausalConv", "VarlenCausalConv", "WordConv", "ConvTransposeWithDynamicPads")


def least_flops(layer: Layer) -> int:
    """The fewest operations; zero for what isn't a product."""
    return sum([least_of_operator(layer, operator) for operator in layer.operators])


def least_of_operator(layer: Layer, operator: Operator) -> int:
    """Those of one of its operators."""
    if facts_of(operator.op_type, operator.domain).kind not in _PRODUCTS:
        return 0
    if operator.op_type.startswith(_WITHOUT_FORMULA):
        return 0
    if operator.op_type == "Einsum":
        return least_einsum_flops(
            str(operator.attribute("equation")),
            [layer.tensors[place].shape for place in operator.inputs],
        )
    flops = operator_flops(layer, operator)
    if operator.op_type not in CONVOLUTIONS:
        return flops
    axes = axes_of(layer, operator)
    if axes is None:
        return 0
    needed = max(map(prod, zip(*(axis.met() for axis in axes), strict=True)))
    return flops * needed // prod(axis.places * axis.taps for axis in axes)
