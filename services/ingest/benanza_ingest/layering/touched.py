"""How much of its first input an operator reads, where that isn't all."""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from benanza_schemas.layer import OMITTED, Layer, Operator

Shape = tuple[int, ...]
Rule = Callable[[Layer, Operator], int | None]

_POINTS = {"nearest": 1, "linear": 2, "cubic": 4}
"""How many elements along an axis make one of a resized image."""


def touched(layer: Layer, operator: Operator) -> int | None:
    """The elements of its first input that an operator reads at most; None for all."""
    rule = _RULES.get(operator.op_type) if not operator.domain else None
    return None if rule is None else rule(layer, operator)


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
    mode = next((a.value for a in operator.attributes if a.name == "mode"), "nearest")
    antialias = next((a.value for a in operator.attributes if a.name == "antialias"), 0)
    points = _POINTS.get(str(mode))
    if points is None or antialias:
        return None
    x = layer.tensors[operator.inputs[0]].shape
    wanted = [points * size for size in _output(layer, operator)]
    return prod(map(min, x, wanted))


def _output(layer: Layer, operator: Operator) -> Shape:
    return layer.tensors[operator.outputs[0]].shape


def _ints(operator: Operator, name: str) -> tuple[int, ...]:
    found = next((a.value for a in operator.attributes if a.name == name), ())
    return tuple(v for v in found if isinstance(v, int)) if isinstance(found, tuple) else ()


def _elements(layer: Layer, operator: Operator, position: int) -> Sequence[int] | None:
    """The elements of an input that decides what the operator does."""
    if position >= len(operator.inputs) or operator.inputs[position] == OMITTED:
        return None
    tensor = layer.tensors[operator.inputs[position]]
    if tensor.value is None or tensor.dtype not in ("int32", "int64"):
        return None
    return [int(each) for each in np.frombuffer(tensor.value, tensor.dtype)]


_RULES: dict[str, Rule] = {
    "CenterCropPad": _common,
    "Gather": _written,
    "GatherElements": _written,
    "GatherND": _written,
    "Pad": _uncropped,
    "Resize": _resized,
    "Slice": _written,
    "Upsample": _resized,
}
