"""How much of its inputs an operator reads, where that isn't all."""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from benanza_schemas.layer import OMITTED, AttributeValue, Layer, Operator
from benanza_schemas.operators.onnxruntime import is_own_operator

Shape = tuple[int, ...]
Rule = Callable[[Layer, Operator], int | None]

_MANY = 1_000_000
"""Windows with more elements along an axis aren't looked at one by one."""

_POINTS = {"nearest": 1, "linear": 2, "cubic": 4}
"""How many elements along an axis make one of a resized image."""


def touched(layer: Layer, operator: Operator) -> dict[int, int]:
    """How many elements an operator reads at most of those of its inputs that it doesn't read as a
    whole, by their positions.
    """
    own = is_own_operator(operator.op_type, operator.domain)
    if own and operator.op_type == "GatherBlockQuantized":
        return _rows(layer, operator)
    rule = (_OWN_RULES if own else _RULES).get(operator.op_type)
    elements = None if rule is None else rule(layer, operator)
    return {} if elements is None else {0: elements}


def _rows(layer: Layer, operator: Operator) -> dict[int, int]:
    """Of a table, and of its scales and zero points, the rows that the second input names."""
    axis = _number(operator, "gather_axis")
    rows = prod(layer.tensors[operator.inputs[1]].shape)
    found = {}
    for position in (0, 2, 3):
        if position < len(operator.inputs) and operator.inputs[position] != OMITTED:
            shape = layer.tensors[operator.inputs[position]].shape
            found[position] = rows * prod(shape) // max(1, shape[axis])
    return found


def _written(layer: Layer, operator: Operator) -> int:
    return prod(_output(layer, operator))


def _uncropped(layer: Layer, operator: Operator) -> int | None:
    """What a Pad leaves of its input: negative pads crop."""
    x = layer.tensors[operator.inputs[0]].shape
    pads = _ints(operator, "pads") or _elements(layer, operator, 1)
    if pads is None:
        return None
    axes = [axis % len(x) for axis in _elements(layer, operator, 3) or range(len(x))]
    sizes = list(x)
    for axis, before, after in zip(axes, pads, pads[len(axes) :], strict=False):
        sizes[axis] += min(0, before) + min(0, after)
    return prod(max(0, size) for size in sizes)


def _common(layer: Layer, operator: Operator) -> int:
    x = layer.tensors[operator.inputs[0]].shape
    return prod(map(min, x, _output(layer, operator)))


def _resized(layer: Layer, operator: Operator) -> int | None:
    points = _POINTS.get(str(_attribute(operator, "mode") or "nearest"))
    if points is None or _number(operator, "antialias"):
        return None
    x = layer.tensors[operator.inputs[0]].shape
    wanted = [points * size for size in _output(layer, operator)]
    return prod(map(min, x, wanted))


def _output(layer: Layer, operator: Operator) -> Shape:
    return layer.tensors[operator.outputs[0]].shape


def _attribute(operator: Operator, name: str) -> AttributeValue | None:
    return next((a.value for a in operator.attributes if a.name == name), None)


def _number(operator: Operator, name: str) -> int:
    found = _attribute(operator, name)
    return found if isinstance(found, int) else 0


def _ints(operator: Operator, name: str) -> tuple[int, ...]:
    found = _attribute(operator, name)
    return tuple(v for v in found if isinstance(v, int)) if isinstance(found, tuple) else ()


def _elements(layer: Layer, operator: Operator, position: int) -> Sequence[int] | None:
    """The elements of an input that decides what the operator does."""
    if position >= len(operator.inputs) or operator.inputs[position] == OMITTED:
        return None
    tensor = layer.tensors[operator.inputs[position]]
    if tensor.value is None or tensor.dtype not in ("int32", "int64"):
        return None
    return [int(each) for each in np.frombuffer(tensor.value, tensor.dtype)]


def _in_windows(weights: int | None = None, *, always_last: bool = False) -> Rule:
    """Of a convolution by these weights, or of a pooling."""

    def rule(layer: Layer, operator: Operator) -> int | None:
        x, y = layer.tensors[operator.inputs[0]].shape, _output(layer, operator)
        last = always_last or bool(_number(operator, "channels_last"))
        channels, sliding = (-1, slice(1, -1)) if last else (1, slice(2, None))
        sizes, rank = x[sliding], len(x) - 2
        kernel = _ints(operator, "kernel_shape")
        if weights is not None:
            filters = layer.tensors[operator.inputs[weights]].shape
            group = _number(operator, "group") or 1
            kernel = filters[1:-1] if last and filters[1] * group != x[-1] else filters[2:]
        # onnx's own operators have them spelled out as pads.
        automatic = _attribute(operator, "auto_pad") in ("SAME_UPPER", "SAME_LOWER")
        if automatic or len(kernel) != rank:
            return None
        ones, zeros = (1,) * rank, (0,) * rank
        strides = _ints(operator, "strides") or ones
        dilations = _ints(operator, "dilations") or ones
        pads = _ints(operator, "pads") or zeros
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
    "MaxPool": _in_windows(),
    "MaxpoolWithMask": _in_windows(),
    "NhwcConv": _in_windows(1, always_last=True),
    "NhwcFusedConv": _in_windows(1, always_last=True),
    "NhwcMaxPool": _in_windows(always_last=True),
    "QLinearAveragePool": _in_windows(),
    "QLinearConv": _in_windows(3),
}
"""Those of the operators that ONNX Runtime adds to ONNX's own."""
