"""Convolutions and transposed ones, with what follows them in the same call."""

from collections.abc import Iterator
from functools import partial

from benanza_runner.cpu_libraries.onednn.activations import functions
from benanza_runner.cpu_libraries.onednn.attributes import Attributes, Combined, Operation, Step
from benanza_runner.cpu_libraries.onednn.library import DataType
from benanza_runner.cpu_libraries.onednn.memory import Memory, Shape, empty, longs, strided
from benanza_runner.cpu_libraries.onednn.plan import BLOCKED, Operands, Plan, tried
from benanza_runner.cpu_libraries.onednn.primitive import (
    Argument,
    Primitive,
    Way,
    reordered,
    ways,
)
from benanza_runner.cuda.calls import AnyConvolution, Convolution, TransposedConvolution
from benanza_runner.cuda.unsupported import UnsupportedError

INFERENCE = 96
"""`dnnl_forward_inference`."""

DIRECT = 1
WINOGRAD = 2
TRANSPOSED = 0xA
"""`dnnl_convolution_direct`, `dnnl_convolution_winograd` and `dnnl_deconvolution_direct`."""


def convolution_plans(
    call: Convolution | TransposedConvolution, operands: Operands, layout: str
) -> Iterator[Plan]:
    """The implementations of a convolution with feature maps in this layout.

    Raises `UnsupportedError` and `OneDnnError`.
    """
    if isinstance(call, Convolution) and call.has_prologue:
        raise UnsupportedError("oneDNN does nothing before a convolution")
    if isinstance(call, TransposedConvolution):
        yield from _plans(call, operands, layout, "deconvolution", TRANSPOSED)
    else:
        yield from _plans(call, operands, layout, "convolution", DIRECT)


def _plans(
    call: Convolution | TransposedConvolution,
    operands: Operands,
    layout: str,
    kind: str,
    algorithm: int,
) -> Iterator[Plan]:
    onednn = operands.onednn
    x = operands.map("input", call.input, layout)
    weights = _weights(call, operands)
    shape = _filter_shape(call)
    fixed = "filter" in operands.fixed
    bias = operands.plain("bias") if call.bias else None
    steps: list[Step] = []
    if call.residual:
        steps.append(Combined(Operation.ADD, operands.map("residual", call.output, layout)))
    steps += functions(call.activation, call.numbers)
    attributes = Attributes(onednn, tuple(steps))
    found = ways(
        onednn,
        f"{kind}_forward",
        attributes,
        INFERENCE,
        algorithm,
        x.descriptor,
        operands.packable(shape) if fixed else weights.descriptor,
        bias and bias.descriptor,
        operands.described(call.output, layout),
        longs(call.strides),
        longs([dilation - 1 for dilation in call.dilations]),
        longs(call.pads_before),
        longs(_pads_after(call)),
    )
    reads = [call.input] if call.input[1] >= operands.block else []
    reads += [call.output] if call.residual else []
    for way in tried(found):
        yield Plan(
            f"{kind} {way.name}",
            layout,
            partial(_made, operands, way, attributes, x, weights, bias),
            tuple(reads) if layout == BLOCKED else (),
            (call.output,) if layout == BLOCKED else (),
            preferred=not way.number,
        )


def _made(
    operands: Operands,
    way: Way,
    attributes: Attributes,
    x: Memory,
    weights: Memory,
    bias: Memory | None,
) -> tuple[Primitive, Memory]:
    onednn = operands.onednn
    result = empty(onednn, way.wants(Argument.RESULT))
    memories: dict[int, Memory] = {
        Argument.SOURCE: x,
        Argument.WEIGHTS: reordered(onednn, weights, way.wants(Argument.WEIGHTS)),
        Argument.RESULT: result,
        **attributes.memories,
    }
    if bias is not None:
        memories[Argument.BIAS] = bias
    return Primitive(onednn, way, memories), result


def _filter_shape(call: AnyConvolution) -> Shape:
    """The shape of the filter for oneDNN: groups, if there are several, outputs, inputs, space."""
    groups = _groups(call)
    outputs, inputs = call.output[1] // groups, call.input[1] // groups
    return (*((groups,) if groups > 1 else ()), outputs, inputs, *call.filter[2:])


def _weights(call: AnyConvolution, operands: Operands) -> Memory:
    """The filter as ONNX has it. That of a transposed convolution has its inputs first."""
    onednn = operands.onednn
    memory = operands.plain("filter", call.filter)
    shape = _filter_shape(call)
    if isinstance(call, TransposedConvolution):
        groups = _groups(call)
        *_, outputs, inputs = shape[: len(shape) - len(call.filter[2:])]
        space = [1]
        for size in reversed(call.filter[3:]):
            space.insert(0, space[0] * size)
        window = space[0] * call.filter[2]
        strides = [window, outputs * window, *space]
        if groups > 1:
            strides.insert(0, inputs * outputs * window)
        described = strided(onednn, shape, DataType.F32, strides)
    else:
        described = strided(onednn, shape, DataType.F32)
    return Memory(onednn, described, memory.data)


def _groups(call: AnyConvolution) -> int:
    assert isinstance(call, Convolution | TransposedConvolution)
    return call.groups


def _pads_after(call: AnyConvolution) -> list[int]:
    """What has to be given so that the result has its size."""
    transposed = isinstance(call, TransposedConvolution)
    larger, smaller = (call.output, call.input) if transposed else (call.input, call.output)
    windows = [
        (size - 1) * dilation + 1
        for size, dilation in zip(call.filter[2:], call.dilations, strict=True)
    ]
    return [
        (last - 1) * stride + window - whole - before
        for last, stride, window, whole, before in zip(
            smaller[2:], call.strides, windows, larger[2:], call.pads_before, strict=True
        )
    ]
