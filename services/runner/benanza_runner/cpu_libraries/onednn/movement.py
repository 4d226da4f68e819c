"""Calls that move elements: concatenations, and what a copy in another order does."""

import ctypes
from collections.abc import Iterator
from math import prod

import numpy as np

from benanza_runner.cpu_libraries.onednn.attributes import Attributes
from benanza_runner.cpu_libraries.onednn.memory import (
    Memory,
    as_array,
    empty,
    strided,
)
from benanza_runner.cpu_libraries.onednn.plan import (
    FIRST,
    Operands,
    Plan,
    Ready,
    plans,
)
from benanza_runner.cpu_libraries.onednn.primitive import (
    REFERENCE,
    Argument,
    Primitive,
    copying,
    ways,
)
from benanza_runner.cuda.calls import Concatenation, Shuffle, View
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.onnxruntime.blocked import LAYOUT as BLOCKED

MOST_AXES = 12
CHANNELS = 1


def concatenation_plans(call: Concatenation, operands: Operands, layout: str) -> Iterator[Plan]:
    """The implementations of a concatenation. Raises `UnsupportedError` and `OneDnnError`."""
    if call.element:
        raise UnsupportedError("concatenations of integers are not asked for yet")
    if layout == BLOCKED:
        split = call.axis == CHANNELS and any(s[CHANNELS] % operands.block for s in call.shapes)
        if split or not all(operands.takes(shape, layout) for shape in call.shapes):
            raise UnsupportedError("its parts don't end where blocks do")
    parts = [operands.map(f"in{number}", shape, layout) for number, shape in enumerate(call.shapes)]
    descriptors = [part.descriptor._as_parameter_ for part in parts]
    attributes = Attributes(operands.onednn)
    found = ways(
        operands.onednn,
        "concat",
        attributes,
        operands.described(call.output, layout),
        len(parts),
        call.axis,
        (ctypes.c_void_p * len(parts))(*descriptors),
    )
    memories: dict[int, Memory] = {
        Argument.SOURCES + number: part for number, part in enumerate(parts)
    }
    written = call.output, layout
    yield from plans(operands, "concat", found, attributes, memories, written, call.shapes)


def view_plans(call: View, operands: Operands) -> Iterator[Plan]:
    """A view as a copy into ONNX's order. Raises as `concatenation_plans` does."""
    if call.element:
        raise UnsupportedError("views of integers are not asked for yet")
    places = np.empty(call.input, np.float32)
    cut = tuple(map(slice, call.starts, call.stops, call.steps))
    seen = np.broadcast_to(places[cut].transpose(call.order), call.output)
    start = (seen.__array_interface__["data"][0] - places.ctypes.data) // places.itemsize
    yield from _copies(operands, seen.shape, [s // places.itemsize for s in seen.strides], start)


def shuffle_plans(call: Shuffle, operands: Operands) -> Iterator[Plan]:
    """A shuffle of channels as a copy. Raises as `concatenation_plans` does."""
    if call.element:
        raise UnsupportedError("shuffles of integers are not asked for yet")
    batch, channels, *space = call.input
    pixels, columns = prod(space), channels // call.rows
    shape = batch, columns, call.rows, pixels
    yield from _copies(operands, shape, [channels * pixels, pixels, columns * pixels, 1], 0)


def _copies(
    operands: Operands, shape: tuple[int, ...], strides: list[int], start: int
) -> Iterator[Plan]:
    """A copy of the elements of the operand that lie so."""
    if any(stride <= 0 for size, stride in zip(shape, strides, strict=True) if size > 1):
        raise UnsupportedError("oneDNN's copies neither repeat nor reverse")
    if len(shape) > MOST_AXES:
        raise UnsupportedError(f"oneDNN copies tensors of up to {MOST_AXES} axes")
    onednn = operands.onednn
    lies = strided(onednn, shape, operands.kind, [max(stride, 1) for stride in strides])
    data = operands.plain("input").data
    source = Memory(onednn, lies, data, start * operands.dtype.itemsize)
    way = copying(onednn, lies, operands.described(shape))
    if REFERENCE in way.name:
        raise UnsupportedError("oneDNN has only reference code for such a copy")

    def make() -> Ready:
        result = empty(onednn, operands.described(shape))
        memories: dict[int, Memory] = {Argument.SOURCE: source, Argument.RESULT: result}
        return Ready(
            Primitive(onednn, way, memories), lambda: as_array(result, shape, operands.dtype)
        )

    yield Plan(f"reorder {way.name}", FIRST, make)
