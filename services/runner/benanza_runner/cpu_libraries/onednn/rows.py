"""Calls along rows: softmax, normalisation, reductions."""

import ctypes
from collections.abc import Iterator

from benanza_runner.cpu_libraries.onednn.attributes import Attributes
from benanza_runner.cpu_libraries.onednn.binding import DataType
from benanza_runner.cpu_libraries.onednn.memory import Memory, strided
from benanza_runner.cpu_libraries.onednn.plan import (
    FIRST,
    INFERENCE,
    Operands,
    Plan,
    plans,
)
from benanza_runner.cpu_libraries.onednn.primitive import Argument, ways
from benanza_runner.cuda.calls import Pooling, Reduction, RowNormalisation, Softmax
from benanza_runner.cuda.unsupported import UnsupportedError

SOFTMAX = {False: 0x30000, True: 0x30001}
"""`dnnl_softmax_accurate` and `dnnl_softmax_log`, by whether it is the logarithm."""

WITH_SCALE = 2
WITH_SHIFT = 4
"""`dnnl_use_scale` and `dnnl_use_shift`."""

REDUCTIONS = {
    "Max": (0x2FFF2, 0.0),
    "Min": (0x2FFF3, 0.0),
    "Sum": (0x2FFF4, 0.0),
    "Prod": (0x2FFF5, 0.0),
    "Mean": (0x2FFF6, 0.0),
    "L2": (0x2FFF8, 2.0),
    "L1": (0x2FFFA, 1.0),
    "SumSquare": (0x2FFFA, 2.0),
}
"""`dnnl_reduction_…` and its p, by ONNX's names."""

POOLINGS = {"Max": "max", "Mean": "average"}
"""The mode of a pooling, by what a reduction is called."""


def softmax_plans(call: Softmax, operands: Operands) -> Iterator[Plan]:
    """The implementations of a softmax. Raises `UnsupportedError` and `OneDnnError`."""
    shape = (call.outer, call.size) if call.inner == 1 else (call.outer, call.size, call.inner)
    x, attributes = operands.plain("input", shape), Attributes(operands.onednn)
    found = ways(
        operands.onednn,
        "softmax_forward",
        attributes,
        INFERENCE,
        SOFTMAX[call.logarithm],
        x.descriptor,
        operands.described(shape),
        1,
    )
    memories: dict[int, Memory] = {Argument.SOURCE: x}
    yield from plans(operands, "softmax", found, attributes, memories, (shape, FIRST))


def row_normalisation_plans(call: RowNormalisation, operands: Operands) -> Iterator[Plan]:
    """The implementations of a layer normalisation. Raises as `softmax_plans` does."""
    by_rows = (call.reduced, call.affine) == ((False, True),) * 2
    if call.kind != "variance" or call.residual or call.by_channel or not by_rows:
        raise UnsupportedError("of normalisations of rows, oneDNN has that of layers only")
    onednn, attributes = operands.onednn, Attributes(operands.onednn)
    rows, size = call.lengths
    x = operands.plain("input", (rows, size))
    memories: dict[int, Memory] = {Argument.SOURCE: x}
    if call.scale:
        memories[Argument.SCALE] = operands.exact("scale", (size,))
    if call.bias:
        memories[Argument.SHIFT] = operands.exact("bias", (size,))
    found = ways(
        onednn,
        "layer_normalization_forward",
        attributes,
        INFERENCE,
        x.descriptor,
        operands.described((rows, size)),
        strided(onednn, (rows,), DataType.F32),
        ctypes.c_float(call.epsilon),
        WITH_SCALE * call.scale | WITH_SHIFT * call.bias,
    )
    written = (rows, size), FIRST
    yield from plans(operands, "layer normalization", found, attributes, memories, written)


def as_pooling(call: Reduction) -> Pooling | None:
    """The pooling with one window that a reduction of feature maps over their space is, which
    oneDNN computes faster; None if it is none.
    """
    if call.kind not in POOLINGS or call.element or len(call.input) not in (4, 5):
        return None
    if call.axes != tuple(range(2, len(call.input))):
        return None
    space = call.input[2:]
    ones, zeros = (1,) * len(space), (0,) * len(space)
    output = (*call.input[:2], *ones)
    return Pooling(POOLINGS[call.kind], call.input, output, space, ones, ones, zeros)


def reduction_plans(call: Reduction, operands: Operands) -> Iterator[Plan]:
    """The implementations of a reduction. Raises as `softmax_plans` does."""
    if call.element or call.kind not in REDUCTIONS:
        raise UnsupportedError(f"oneDNN has no Reduce{call.kind} of such elements")
    shape = tuple(1 if axis in call.axes else size for axis, size in enumerate(call.input))
    x, attributes = operands.plain("input", call.input), Attributes(operands.onednn)
    algorithm, power = REDUCTIONS[call.kind]
    found = ways(
        operands.onednn,
        "reduction",
        attributes,
        algorithm,
        x.descriptor,
        operands.described(shape),
        ctypes.c_float(power),
        ctypes.c_float(0),
    )
    memories: dict[int, Memory] = {Argument.SOURCE: x}
    yield from plans(operands, "reduction", found, attributes, memories, (shape, FIRST))
