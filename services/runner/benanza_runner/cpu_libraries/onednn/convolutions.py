"""Convolutions and transposed ones, with what follows them in the same call."""

from collections.abc import Iterator
from math import prod

from benanza_runner.cpu_libraries.onednn.activations import functions
from benanza_runner.cpu_libraries.onednn.attributes import Attributes, Combined, Operation, Step
from benanza_runner.cpu_libraries.onednn.memory import Memory, Shape, anyhow, longs, strided
from benanza_runner.cpu_libraries.onednn.plan import (
    FIRST,
    INFERENCE,
    Operands,
    Plan,
    plans,
)
from benanza_runner.cpu_libraries.onednn.primitive import Argument, ways
from benanza_runner.cuda.calls import Convolution, TransposedConvolution
from benanza_runner.cuda.unsupported import UnsupportedError

AnyWay = Convolution | TransposedConvolution

DIRECT = 0x1
TRANSPOSED = 0xA
"""`dnnl_convolution_direct` and `dnnl_deconvolution_direct`. Version 3 has no Winograd's for x64
any more that `dnnl_convolution_winograd` would give.
"""


def convolution_plans(call: AnyWay, operands: Operands, layout: str) -> Iterator[Plan]:
    """The implementations of a convolution with feature maps in this layout.

    Raises `UnsupportedError` and `OneDnnError`.
    """
    if isinstance(call, Convolution) and call.has_prologue:
        raise UnsupportedError("oneDNN does nothing before a convolution")
    onednn = operands.onednn
    kind, algorithm = "convolution", DIRECT
    if isinstance(call, TransposedConvolution):
        kind, algorithm = "deconvolution", TRANSPOSED
    # The input of a model, of few channels, stays as ONNX has it where others are in blocks.
    taken = operands.takes(call.input, layout)
    x = operands.map("input", call.input, layout if taken else FIRST)
    weights = _weights(call, operands)
    packed = weights.descriptor
    if "filter" in operands.fixed:
        packed = anyhow(onednn, _filter_shape(call), operands.kind)
    memories: dict[int, Memory] = {Argument.SOURCE: x, Argument.WEIGHTS: weights}
    if call.bias:
        memories[Argument.BIAS] = operands.exact("bias", call.output[1:2])
    steps: list[Step] = []
    if call.residual:
        steps.append(Combined(Operation.ADD, operands.map("residual", call.output, layout)))
    attributes = Attributes(onednn, (*steps, *functions(call.activation, call.numbers)))
    found = ways(
        onednn,
        f"{kind}_forward",
        attributes,
        INFERENCE,
        algorithm,
        x.descriptor,
        packed,
        memories[Argument.BIAS].descriptor if call.bias else None,
        operands.described(call.output, layout),
        longs(call.strides),
        longs([dilation - 1 for dilation in call.dilations]),
        longs(call.pads_before),
        longs(_pads_after(call)),
    )
    reads = [call.input] if taken else []
    reads += [call.output] if call.residual else []
    yield from plans(
        operands, kind, found, attributes, memories, (call.output, layout), tuple(reads)
    )


def _filter_shape(call: AnyWay) -> Shape:
    """The shape of the filter for oneDNN: groups, if there are several, outputs, inputs, space."""
    groups = (call.groups,) if call.groups > 1 else ()
    channels = call.output[1] // call.groups, call.input[1] // call.groups
    return (*groups, *channels, *call.filter[2:])


def _weights(call: AnyWay, operands: Operands) -> Memory:
    """The filter as ONNX has it: that of a transposed convolution has its inputs first."""
    shape = _filter_shape(call)
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    if isinstance(call, TransposedConvolution):
        outputs = len(shape) - len(call.filter)
        window = prod(call.filter[2:])
        strides[outputs : outputs + 2] = window, shape[outputs] * window
    described = strided(operands.onednn, shape, operands.kind, strides)
    return Memory(operands.onednn, described, operands.plain("filter").data)


def _pads_after(call: AnyWay) -> list[int]:
    """Those with which the result has its size."""
    larger, smaller = call.input, call.output
    if isinstance(call, TransposedConvolution):
        larger, smaller = smaller, larger
    windows = [
        (size - 1) * dilation + 1
        for size, dilation in zip(call.filter[2:], call.dilations, strict=True)
    ]
    sizes = zip(smaller[2:], call.strides, windows, larger[2:], call.pads_before, strict=True)
    return [
        (count - 1) * stride + window - whole - before
        for count, stride, window, whole, before in sizes
    ]
