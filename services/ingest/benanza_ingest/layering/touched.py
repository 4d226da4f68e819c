"""How much of a tensor an operator reads or writes, where that isn't all."""

from collections.abc import Callable, Mapping
from math import prod

from benanza_ingest.layering.operator_values import elements
from benanza_ingest.layering.touched_by_tensor import TOUCHED_BY_TENSOR
from benanza_ingest.layering.windows import CONVOLUTIONS, axes_of, channels_last, weights_of
from benanza_schemas.layer import Layer, Operator
from benanza_schemas.operators.onnxruntime import is_own_operator

Shape = tuple[int, ...]
Rule = Callable[[Layer, Operator], int | None]

_POINTS = {"nearest": 1, "linear": 2, "cubic": 4}
"""How many elements along an axis make one of a resized image."""


def touched(layer: Layer, operator: Operator) -> Mapping[int, int]:
    """The elements that an operator reads or writes at most, by the tensor's place in the layer;
    of tensors that it doesn't name, all.
    """
    by_tensor = TOUCHED_BY_TENSOR.get((operator.domain, operator.op_type))
    if by_tensor is not None:
        return by_tensor(layer, operator)
    if operator.op_type in CONVOLUTIONS:
        return _of_convolution(layer, operator)
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


def _in_windows(layer: Layer, operator: Operator) -> int | None:
    """Of a pooling: what any window reads."""
    axes = axes_of(layer, operator)
    if axes is None:
        return None
    return _outside_axes(layer, operator) * prod(axis.met().elements for axis in axes)


def _of_convolution(layer: Layer, operator: Operator) -> dict[int, int]:
    """Of the input what any window reads, and of the weights what meets any of it; what a
    transposed convolution crops is of neither.
    """
    axes = axes_of(layer, operator)
    if axes is None or operator.inputs[0] == operator.inputs[weights_of(operator)]:
        return {}
    met = [axis.met() for axis in axes]
    transposed = operator.op_type == "ConvTranspose"
    read = prod(axis.places if transposed else axis.elements for axis in met)
    weights = operator.inputs[weights_of(operator)]
    taps = prod(axis.taps for axis in axes)
    return {
        operator.inputs[0]: _outside_axes(layer, operator) * read,
        weights: prod(layer.tensors[weights].shape) // taps * prod(axis.taps for axis in met),
    }


def _outside_axes(layer: Layer, operator: Operator) -> int:
    """Images times channels of the input."""
    x = layer.tensors[operator.inputs[0]].shape
    return x[0] * x[-1 if channels_last(operator) else 1]


_RULES: dict[str, Rule] = {
    "AveragePool": _in_windows,
    "CenterCropPad": _common,
    "Gather": _written,
    "GatherElements": _written,
    "GatherND": _written,
    "LpPool": _in_windows,
    "MaxPool": _in_windows,
    "Pad": _uncropped,
    "Resize": _resized,
    "Slice": _written,
    "Upsample": _resized,
}

_OWN_RULES: dict[str, Rule] = {
    "AveragePool": _in_windows,
    "GatherND": _written,
    "MaxPool": _in_windows,
    "MaxpoolWithMask": _in_windows,
    "NhwcMaxPool": _in_windows,
    "QLinearAveragePool": _in_windows,
}
"""Those of the operators that ONNX Runtime adds to ONNX's own."""
