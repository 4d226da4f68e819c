"""Poolings, normalisation over channels, and resizing of feature maps."""

import ctypes
from collections.abc import Iterator

from benanza_runner.cpu_libraries.onednn.attributes import Attributes
from benanza_runner.cpu_libraries.onednn.memory import Memory, longs
from benanza_runner.cpu_libraries.onednn.plan import INFERENCE, Operands, Plan, plans
from benanza_runner.cpu_libraries.onednn.primitive import Argument, ways
from benanza_runner.cuda.calls import Normalisation, Pooling, Resizing, Shape
from benanza_runner.cuda.unsupported import UnsupportedError

POOLINGS = {"max": 0x1FF, "average_padded": 0x2FF, "average": 0x3FF}
ACROSS_CHANNELS = 0xAFF
NEAREST = 0x2FFF0
LINEAR = 0x2FFF1


def pooling_plans(call: Pooling, operands: Operands, layout: str) -> Iterator[Plan]:
    """The implementations of a pooling. Raises `UnsupportedError` and `OneDnnError`."""
    numbers = (
        call.strides,
        call.window,
        [dilation - 1 for dilation in call.dilations],
        call.pads_before,
        _pads_after(call),
    )
    arguments = [longs(each) for each in numbers]
    algorithm = POOLINGS[call.mode]
    yield from _of_a_map(
        operands, layout, "pooling", algorithm, (call.input, call.output), arguments
    )


def normalisation_plans(call: Normalisation, operands: Operands, layout: str) -> Iterator[Plan]:
    """The implementations of local response normalisation. Raises as `pooling_plans` does."""
    size = ctypes.c_int64(call.size)
    numbers = [size, *map(ctypes.c_float, (call.alpha, call.beta, call.bias))]
    shapes = call.input, call.input
    yield from _of_a_map(operands, layout, "lrn", ACROSS_CHANNELS, shapes, numbers)


def resizing_plans(call: Resizing, operands: Operands, layout: str) -> Iterator[Plan]:
    """The implementations of a resizing whose pixels have their places at their middles, or of one
    that repeats them. Raises as `pooling_plans` does.
    """
    if call.element or call.input[:2] != call.output[:2] or len(call.input) not in (3, 4, 5):
        raise UnsupportedError("oneDNN resizes the axes of space of feature maps of floats only")
    factors = [out / size for size, out in zip(call.input[2:], call.output[2:], strict=True)]
    if any(abs(a - b) > 1e-6 for a, b in zip(factors, call.scales[2:], strict=True)):
        raise UnsupportedError("oneDNN resizes by the ratio of the sizes only")
    middles = call.coordinates in ("half_pixel", "pytorch_half_pixel")
    repeats = call.mode == "nearest" and all(factor.is_integer() for factor in factors)
    floors = repeats and (call.coordinates, call.rounding) == ("asymmetric", "floor")
    if not (floors or (middles and (call.mode == "linear" or repeats))):
        raise UnsupportedError(f"oneDNN doesn't resize in mode {call.mode} with such coordinates")
    onednn, attributes = operands.onednn, Attributes(operands.onednn)
    x = operands.map("input", call.input, layout)
    found = ways(
        onednn,
        "resampling_forward",
        attributes,
        INFERENCE,
        NEAREST if call.mode == "nearest" else LINEAR,
        (ctypes.c_float * len(factors))(*factors),
        x.descriptor,
        operands.described(call.output, layout),
    )
    memories: dict[int, Memory] = {Argument.SOURCE: x}
    written = call.output, layout
    yield from plans(operands, "resampling", found, attributes, memories, written, (call.input,))


def _of_a_map(
    operands: Operands,
    layout: str,
    kind: str,
    algorithm: int,
    shapes: tuple[Shape, Shape],
    arguments: list[object],
) -> Iterator[Plan]:
    """What is made of one feature map by a function with these arguments after the descriptors."""
    given, written = shapes
    if not operands.takes(given, layout):
        raise UnsupportedError("its feature map has fewer channels than a block")
    attributes = Attributes(operands.onednn)
    x, result = operands.map("input", given, layout), operands.described(written, layout)
    found = ways(
        operands.onednn,
        f"{kind}_forward",
        attributes,
        INFERENCE,
        algorithm,
        x.descriptor,
        result,
        *arguments,
    )
    memories: dict[int, Memory] = {Argument.SOURCE: x}
    yield from plans(operands, kind, found, attributes, memories, (written, layout), (given,))


def _pads_after(call: Pooling) -> list[int]:
    """Those with which the result has its size."""
    sizes = zip(
        call.input[2:],
        call.output[2:],
        call.window,
        call.strides,
        call.dilations,
        call.pads_before,
        strict=True,
    )
    return [
        (out - 1) * stride + (window - 1) * dilation + 1 - size - before
        for size, out, window, stride, dilation, before in sizes
    ]
