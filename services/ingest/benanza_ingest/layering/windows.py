"""Which parts of a sliding window's operands meet within the map, along an axis.

A window stands at several places, and each of its taps meets an element of the map there, or
padding. Of a convolution, places are those of the results and elements those of the input; of a
transposed one it is the other way round: what it would write outside of its result is cropped.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_schemas.layer import OMITTED, Layer, Operator

MOST_TAPS = 1_000_000
"""Windows with more taps along an axis aren't looked at."""

_WEIGHTS = {"QLinearConv": 3}
"""The input that holds the weights, where it isn't the second one."""

CONVOLUTIONS = frozenset(
    (
        *("Conv", "ConvInteger", "ConvTranspose", "QLinearConv"),
        *("FusedConv", "NhwcConv", "NhwcFusedConv"),
    )
)


class Met(NamedTuple):
    """How many places, elements and taps along an axis meet any other within the map."""

    places: int
    elements: int
    taps: int


class Axis(NamedTuple):
    """An axis along which a window of so many `taps` slides. `before` is the padding before the
    first of the `elements`.
    """

    places: int
    elements: int
    taps: int
    stride: int
    dilation: int
    before: int

    def met(self) -> Met:
        """What meets within the map, counted without looking at each place."""
        return _met(self)


@lru_cache(4096)  # A model has few windows, and each is asked for several times.
def _met(axis: Axis) -> Met:
    offsets = np.arange(axis.taps) * axis.dilation - axis.before
    first = np.maximum(0, -(offsets // axis.stride))
    last = np.minimum(axis.places - 1, (axis.elements - 1 - offsets) // axis.stride)
    some = first <= last
    offsets, first, last = offsets[some], first[some], last[some]
    # The elements that a tap meets are a stride apart: a range of each remainder.
    ranges = offsets % axis.stride * (axis.elements + 1) + offsets // axis.stride
    return Met(
        _union(first, last), _union(first + ranges, last + ranges), int(np.count_nonzero(some))
    )


def _union(first: npt.NDArray[np.int64], last: npt.NDArray[np.int64]) -> int:
    """The size of the union of ranges, whose ends belong to them."""
    if not first.size:
        return 0
    order = np.argsort(first, kind="stable")
    first, last = first[order], last[order]
    before = np.concatenate((first[:1] - 1, np.maximum.accumulate(last)[:-1]))
    return int(np.maximum(0, last - np.maximum(first - 1, before)).sum())


def weights_of(operator: Operator) -> int:
    """Which input of a convolution holds the weights."""
    return _WEIGHTS.get(operator.op_type, 1)


def channels_last(operator: Operator) -> bool:
    """Whether the maps of a window's operator have the channels as the last axis."""
    return operator.op_type.startswith("Nhwc") or bool(operator.integer("channels_last"))


def axes_of(layer: Layer, operator: Operator) -> list[Axis] | None:
    """The axes of a convolution's or a pooling's window; None where they aren't known, or are
    damaged or too long.
    """
    written = next((place for place in operator.outputs if place != OMITTED), None)
    if written is None or not operator.inputs:
        return None
    x, y = layer.tensors[operator.inputs[0]].shape, layer.tensors[written].shape
    sliding = slice(1, -1) if channels_last(operator) else slice(2, None)
    kernel = _kernel(layer, operator, sliding)
    rank = len(kernel)
    if not rank or len(x) != rank + 2 or len(y) != rank + 2 or max(kernel) > MOST_TAPS:
        return None
    places, elements = y[sliding], x[sliding]
    if operator.op_type == "ConvTranspose":
        places, elements = elements, places
    strides = operator.integers("strides") or (1,) * rank
    dilations = operator.integers("dilations") or (1,) * rank
    if {len(strides), len(dilations)} != {rank}:
        return None
    if min(*kernel, *places, *elements, *strides, *dilations) < 1:
        return None
    rows = zip(places, elements, kernel, strides, dilations, (0,) * rank, strict=True)
    axes = [Axis(*row) for row in rows]
    pads = _before(operator, axes)
    return [axis._replace(before=pad) for axis, pad in zip(axes, pads, strict=True)]


def _kernel(layer: Layer, operator: Operator, sliding: slice) -> tuple[int, ...]:
    if "Conv" not in operator.op_type:
        return operator.integers("kernel_shape")
    filters = layer.tensors[operator.inputs[weights_of(operator)]].shape
    group = operator.integer("group") or 1
    of_channels = layer.tensors[operator.inputs[0]].shape[-1]
    # ONNX Runtime's own ones have filters of either order.
    last = channels_last(operator) and len(filters) > 1 and filters[1] * group != of_channels
    return filters[sliding] if last else filters[2:]


def _before(operator: Operator, axes: list[Axis]) -> list[int]:
    """The padding before each axis. ONNX's own convolutions have it spelled out, but for a
    transposed one of a given shape; others share it out as their definitions say.
    """
    automatic = operator.attribute("auto_pad")
    shaped = operator.op_type == "ConvTranspose" and bool(operator.integers("output_shape"))
    if automatic not in ("SAME_UPPER", "SAME_LOWER") and not shaped:
        pads = operator.integers("pads")
        return [*pads[: len(axes)]] if len(pads) >= len(axes) else [0] * len(axes)
    added = operator.integers("output_padding")
    extra = added if len(added) == len(axes) else (0,) * len(axes)
    before = []
    for axis, more in zip(axes, extra, strict=True):
        reach = (axis.places - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1
        pad = max(0, reach + more - axis.elements)
        before.append(pad // 2 if automatic == "SAME_UPPER" else pad - pad // 2)
    return before
