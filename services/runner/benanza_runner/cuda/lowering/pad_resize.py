"""Padding and resizing of feature maps."""

from collections.abc import Callable, Mapping

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, Padding, Resizing
from benanza_runner.cuda.elements import FLOAT8, element
from benanza_runner.cuda.lowering.constants import constants, whole_constants
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer, Operator

Lowering = tuple[Call, dict[str, Array]]
Lower = Callable[[Layer, Mapping[int, Array]], Lowering]


def _padding(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """Pads and value are attributes before version 11 and inputs since."""
    operator = layer.operators[0]
    x = layer.tensors[operator.inputs[0]]
    mode = operator.text("mode", "constant")
    rank = len(x.shape)
    if operator.version < 11:
        pads = operator.integers("pads", (0,) * (2 * rank))
        value = operator.number("value", 0.0)
        axes = tuple(range(rank))
    else:
        pads = whole_constants(layer, values, 1) or (0,) * (2 * rank)
        value = float((constants(layer, values, 2) or (0.0,))[0])
        axes = whole_constants(layer, values, 3) or tuple(range(rank))
    if x.dtype == FLOAT8 and value:
        raise UnsupportedError("a Pad of float8 with another number than 0 is not supported yet")
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise UnsupportedError(f"a Pad in mode {mode} is not supported yet")
    if mode != "constant" and min(pads) < 0:
        raise UnsupportedError(f"a Pad that cuts off in mode {mode} is not supported yet")
    before = [0] * rank
    for axis, pad in zip(axes, pads[: len(axes)], strict=True):
        before[axis] = pad
    output = layer.tensors[operator.outputs[0]].shape
    call = Padding(x.shape, tuple(before), output, mode, value, element(x.dtype))
    return call, {"input": values[operator.inputs[0]]}


def _resizing(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """Upsample, and Resize in version 10, have no sizes and no choice of coordinates."""
    operator = layer.operators[0]
    x = layer.tensors[operator.inputs[0]]
    output = layer.tensors[operator.outputs[0]].shape
    mode = operator.text("mode", "nearest").replace("bilinear", "linear")
    old = operator.op_type == "Upsample" or operator.version < 11
    coordinates = operator.text("coordinate_transformation_mode", "half_pixel")
    rounding = operator.text("nearest_mode", "round_prefer_floor")
    if old:
        coordinates = "asymmetric"
    _refuse(operator, mode, coordinates)
    if operator.op_type == "Upsample" and operator.version < 9:
        given = operator.attribute("scales")
        scales = [float(s) for s in given] if isinstance(given, tuple) else []
    else:
        scales = [float(s) for s in constants(layer, values, 1 if old else 2) or ()]
    axes = operator.integers("axes", tuple(range(len(x.shape))))
    ratios = [out / size for out, size in zip(output, x.shape, strict=True)]
    if scales:
        ratios = [1.0] * len(x.shape)
        for axis, scale in zip(axes, scales, strict=True):
            ratios[axis] = scale
    if old:
        rounding = "ceil" if min(ratios) < 1 else "floor"
    if mode != "nearest" and element(x.dtype):
        raise UnsupportedError(
            f"{operator.op_type} of {x.dtype} in mode {mode} is not supported yet"
        )
    call = Resizing(
        input=x.shape,
        output=output,
        scales=tuple(float(np.float32(ratio)) for ratio in ratios),
        mode=mode,
        coordinates=coordinates,
        rounding=rounding if mode == "nearest" else "",
        steepness=operator.number("cubic_coeff_a", -0.75) if mode == "cubic" else 0.0,
        only_inside=mode == "cubic" and operator.integer("exclude_outside", 0) == 1,
        element=element(x.dtype),
    )
    return call, {"input": values[operator.inputs[0]]}


COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "asymmetric",
    "align_corners",
    "pytorch_half_pixel",
)


def _refuse(operator: Operator, mode: str, coordinates: str) -> None:
    title = operator.op_type
    if mode not in ("nearest", "linear", "cubic"):
        raise UnsupportedError(f"{title} in mode {mode} is not supported yet")
    if coordinates not in COORDINATES:
        raise UnsupportedError(f"{title} with coordinates by {coordinates} is not supported yet")
    if operator.integer("antialias", 0):
        raise UnsupportedError(f"{title} with antialiasing is not supported yet")
    policy = operator.text("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        raise UnsupportedError(f"{title} that keeps the aspect ratio is not supported yet")


PAD_RESIZE: dict[str, Lower] = {"Pad": _padding, "Resize": _resizing, "Upsample": _resizing}
