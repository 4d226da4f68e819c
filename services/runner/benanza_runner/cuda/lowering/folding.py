"""Windows added up to images, as a region: Col2Im."""

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, Region
from benanza_runner.cuda.elements import element
from benanza_runner.cuda.lowering.constants import whole_constants
from benanza_runner.cuda.lowering.regions.region_values import RegionValues
from benanza_runner.cuda.lowering.regions.windows import MOST_PLACES
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer


def _folding(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    """The sum over the places in a window: each has an image, whose pixels lie a stride apart."""
    operator = layer.operators[0]
    x, image = layer.tensors[operator.inputs[0]], layer.tensors[operator.outputs[0]].shape
    if element(x.dtype):
        raise UnsupportedError(f"Col2Im of {x.dtype} is not supported yet")
    window = whole_constants(layer, values, 2) or ()
    rank = len(window)
    if prod(window) > MOST_PLACES:
        raise UnsupportedError(f"Col2Im of {prod(window)} places in a window is not supported yet")
    strides = operator.integers("strides", (1,) * rank)
    dilations = operator.integers("dilations", (1,) * rank)
    pads = operator.integers("pads", (0,) * 2 * rank)
    sizes = zip(image[2:], window, strides, dilations, pads, pads[rank:], strict=False)
    counts = tuple((n + b + a - d * (k - 1) - 1) // s + 1 for n, k, s, d, b, a in sizes)
    region = RegionValues()
    given = region.given("input", x.shape, "")
    windows = region.reshaped(given, (*image[:2], *window, *counts))
    spread = [n for pair in zip(counts, strides, strict=True) for n in pair]
    padded_counts = [n for count in counts for n in (count, 1)]
    terms = []
    for place in np.ndindex(window):
        cuts = [slice(None), slice(None), *(slice(offset, offset + 1) for offset in place)]
        term = region.sliced(windows, (*cuts, *(slice(None) for _ in counts)))
        term = region.reshaped(term, (*image[:2], *padded_counts))
        term = region.padded(term, (0,) * (2 + 2 * rank), (*image[:2], *spread), "0.0f")
        whole = [count * stride for count, stride in zip(counts, strides, strict=True)]
        term = region.reshaped(term, (*image[:2], *whole))
        before = [offset * d - pad for offset, d, pad in zip(place, dilations, pads, strict=False)]
        terms.append(region.padded(term, (0, 0, *before), image, "0.0f"))
    text = " + ".join(f"in{position}" for position in range(len(terms)))
    total = region.pointwise(text, terms, shape=image)
    return Region(tuple(region.values), (total,)), {"input": values[operator.inputs[0]]}


FOLDINGS: dict[str, Callable[[Layer, Mapping[int, Array]], tuple[Call, dict[str, Array]]]] = {
    "Col2Im": _folding
}
