"""How much of a tensor an operator reads or writes, where that isn't all."""

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from benanza_ingest.layering.operator_values import elements
from benanza_ingest.layering.touched_by_tensor import TOUCHED_BY_TENSOR
from benanza_schemas.layer import Layer, Operator
from benanza_schemas.operators.onnxruntime import is_own_operator

Shape = tuple[int, ...]
Rule = Callable[[Layer, Operator], int | None]

_MANY = 1_000_000
"""Windows with more elements along an axis aren't looked at one by one."""

_POINTS = {"nearest": 1, "linear": 2, "cubic": 4}
"""How many elements along an axis make one of a resized image."""


def touched(layer: Layer, operator: Operator) -> Mapping[int, int]:
    """The elements that an operator reads or writes at most, by the tensor's place in the layer;
    of tensors that it doesn't name, all.
    """
    by_tensor = TOUCHED_BY_TENSOR.get((operator.domain, operator.op_type))
    if by_tensor is not None:
        return by_tensor(layer, operator)
    own = is_own_operator(operator.op_type, operator.domain)
    rule = (_OWN_RULES if own else _RULES).get(operator.op_type)
    part = rule(layer, operator) if rule and operator.inputs else None
    return {} if part is None else {operator.inputs[0]: part}


def _written(layer: Layer, operator: Operator) -> int:
    return prod(_output(layer, operator))


def _uncropped(layer: Layer, operator: Operator) -> int | None:
    """What a Pad leaves of its input: negative pads crop."""
    x = layer.tensors[operator.inputs[0]].shape
    pads = operator.integers("pads") or elements(layer, operator, 1)
    if pads is None:
        return None
    axes = [axis % len(x) for axis in elements(layer, operator, 3) or range(len(x))]
    sizes = list(x)
    for axis, before, after in zip(axes, pads, pads[len(axes) :], strict=False):
        sizes[axis] += min(0, before) + min(0, after)
    return prod(max(0, size) for size in sizes)


def _common(layer: Layer, operator: Operator) -> int:
    x = layer.tensors[operator.inputs[0]].shape
    return prod(map(min, x, _output(layer, operator)))


def _resized(layer: Layer, operator: Operator) -> int | None:
    points = _POINTS.get(str(operator.attribute("mode") or "nearest"))
    if points is None or operator.integer("antialias"):
        return None
    x = layer.tensors[operator.inputs[0]].shape
    wanted = [points * size for size in _output(layer, operator)]
    return prod(map(min, x, wanted))


def _output(layer: Layer, operator: Operator) -> Shape:
    return layer.tensors[operator.outputs[0]].shape


def _in_windows(weights: int | None = None, *, always_last: bool = False) -> Rule:
    """Of a convolution by these weights, or of a pooling."""

    def rule(layer: Layer, operator: Operator) -> int | None:
        x, y = layer.tensors[operator.inputs[0]].shape, _output(layer, operator)
        last = always_last or bool(operator.integer("channels_last"))
        channels, sliding = (-1, slice(1, -1)) if last else (1, slice(2, None))
        sizes, rank = x[sliding], len(x) - 2
        kernel = operator.integers("kernel_shape")
        if weights is not None:
            filters = layer.tensors[operator.inputs[weights]].shape
            group = operator.integer("group") or 1
            kernel = filters[1:-1] if last and filters[1] * group != x[-1] else filters[2:]
        # onnx's own operators have them spelled out as pads.
        automatic = operator.attribute("auto_pad") in ("SAME_UPPER", "SAME_LOWER")
        if automatic or len(kernel) != rank:
            return None
        ones, zeros = (1,) * rank, (0,) * rank
        strides = operator.integers("strides") or ones
        dilations = operator.integers("dilations") or ones
        pads = operator.integers("pads") or zeros
        along = map(_along, sizes, y[sliding], kernel, strides, dilations, pads)
        return x[0] * x[channels] * prod(along)

    return rule


def _along(size: int, windows: int, kernel: int, stride: int, dilation: int, pad: int) -> int:
    """How many of the elements along an axis are in a window."""
    if windows * kernel > _MANY:
        return min(size, windows * kernel)
    starts = np.arange(windows)[:, None] * stride - pad
    places = np.unique(starts + np.arange(kernel) * dilation)
    return int(np.count_nonzero((places >= 0) & (places < size)))


_RULES: dict[str, Rule] = {
    "AveragePool": _in_windows(),
    "CenterCropPad": _common,
    "Conv": _in_windows(1),
    "ConvInteger": _in_windows(1),
    "Gather": _written,
    "GatherElements": _written,
    "GatherND": _written,
    "LpPool": _in_windows(),
    "MaxPool": _in_windows(),
    "Pad": _uncropped,
    "QLinearConv": _in_windows(3),
    "Resize": _resized,
    "Slice": _written,
    "Upsample": _resized,
}

_OWN_RULES: dict[str, Rule] = {
    "AveragePool": _in_windows(),
    "Conv": _in_windows(1),
    "FusedConv": _in_windows(1),
    "GatherND": _written,
    "MaxPool": _in_windows(),
    "MaxpoolWithMask": _in_windows(),
    "NhwcConv": _in_windows(1, always_last=True),
    "NhwcFusedConv": _in_windows(1, always_last=True),
    "NhwcMaxPool": _in_windows(always_last=True),
    "QLinearAveragePool": _in_windows(),
    "QLinearConv": _in_windows(3),
}
"""Those of the operators that ONNX Runtime adds to ONNX's own."""
