"""Norms, softmax, reductions, poolings, and what moves elements."""

from collections.abc import Mapping
from functools import partial

from benanza.tracing.translating.products import Rule
from benanza.tracing.translating.writing import Writer, refuse


def _batch_norm(write: Writer) -> str:
    """`batch_norm(x, weight, bias, mean, variance, training, momentum, epsilon, …)`"""
    if write.flag(5):
        refuse("statistics of a batch are of training")
    channels = (write.shape(0)[1],)
    parts = (
        write.weight(place) if write.has(place) else write.made_up("float32", channels)
        for place in (1, 2, 3, 4)
    )
    # Exporters write the momentum 0 where nothing is trained.
    return write.node(
        "BatchNormalization", write.tensor(0), *parts, epsilon=write.number(7), momentum=0.0
    )


def _layer_norm(write: Writer) -> str:
    """`layer_norm(x, shape, weight, bias, epsilon, …)`"""
    shape = write.integers(1)
    if not shape:
        refuse("the trace lacks over which axes it is")
    scale = write.weight(2) if write.has(2) else write.made_up(write.dtype(0), shape)
    shift = (write.weight(3),) if write.has(3) else ()
    return write.node(
        "LayerNormalization",
        write.tensor(0),
        scale,
        *shift,
        axis=-len(shape),
        epsilon=write.number(4),
    )


def _rms_norm(write: Writer) -> str:
    """`rms_norm(x, shape, weight, epsilon)`"""
    shape = write.integers(1)
    if not shape:
        refuse("the trace lacks over which axes it is")
    scale = write.weight(2) if write.has(2) else write.made_up(write.dtype(0), shape)
    epsilon = write.number(3, 1e-5)
    return write.node("RMSNormalization", write.tensor(0), scale, axis=-len(shape), epsilon=epsilon)


def _group_norm(write: Writer) -> str:
    """`group_norm(x, groups, weight, bias, epsilon, …)`"""
    if not (write.has(2) and write.has(3)):
        refuse("a norm of groups is translated with a scale and a shift only")
    return write.node(
        "GroupNormalization",
        write.tensor(0),
        write.weight(2),
        write.weight(3),
        num_groups=write.integer(1, 1),
        epsilon=write.number(4),
    )


def _softmax(write: Writer, *, op_type: str) -> str:
    return write.node(op_type, write.tensor(0), axis=write.integer(1, -1))


def _reduced(write: Writer, *, op_type: str) -> str:
    """`mean(x, axes, keep, …)`; without axes it is over all."""
    axes = write.integers(1)
    chosen = (write.constant(axes, "int64"),) if axes else ()
    return write.node(op_type, write.tensor(0), *chosen, keepdims=int(write.flag(2)))


def _arg(write: Writer, *, op_type: str) -> str:
    if not write.value(1):
        refuse("the place of the greatest of all elements isn't translated")
    axis, keeps = write.integer(1, -1), int(write.flag(2))
    return write.node(op_type, write.tensor(0), axis=axis, keepdims=keeps)


def _cumulative(write: Writer) -> str:
    return write.node("CumSum", write.tensor(0), write.constant(write.integer(1, -1), "int64"))


def _max_pool(write: Writer) -> str:
    """`max_pool2d(x, kernel, stride, padding, dilation, ceil)`"""
    kernel, strides, pads, dilations = (
        _pair(write, place, default) for place, default in ((1, 0), (2, 0), (3, 0), (4, 1))
    )
    # Older versions of ONNX lack these two, and their defaults are left out.
    newer: dict[str, object] = {} if set(dilations) == {1} else {"dilations": dilations}
    if write.flag(5):
        newer["ceil_mode"] = 1
    return write.node(
        "MaxPool",
        write.tensor(0),
        kernel_shape=kernel,
        strides=strides if any(strides) else kernel,
        pads=pads * 2,
        **newer,
    )


def _average_pool(write: Writer) -> str:
    """`avg_pool2d(x, kernel, stride, padding, ceil, counts_padding, divisor)`"""
    kernel, strides, pads = (_pair(write, place, 0) for place in (1, 2, 3))
    if write.value(6):
        refuse("a pooling with a divisor of its own isn't translated")
    return write.node(
        "AveragePool",
        write.tensor(0),
        kernel_shape=kernel,
        strides=strides if any(strides) else kernel,
        pads=pads * 2,
        ceil_mode=int(write.flag(4)),
        count_include_pad=int(write.flag(5)),
    )


def _pair(write: Writer, number: int, default: int) -> tuple[int, ...]:
    given = write.integers(number) or (default,)
    return given * 2 if len(given) == 1 else given


def _joined(write: Writer) -> str:
    parts = write.tensors(0)
    if len(parts) < 2:
        refuse("it copies one tensor: no layer needs it")
    return write.node("Concat", *parts, axis=write.integer(1, 0))


def _embedding(write: Writer) -> str:
    return write.node("Gather", write.weight(0), write.tensor(1))


def _selected(write: Writer) -> str:
    axis = write.integer(1, 0)
    return write.node("Gather", write.tensor(0), write.tensor(2), axis=axis)


def _gathered(write: Writer) -> str:
    axis = write.integer(1, 0)
    return write.node("GatherElements", write.tensor(0), write.tensor(2), axis=axis)


ROWS: Mapping[str, Rule] = {
    "aten::batch_norm": _batch_norm,
    "aten::layer_norm": _layer_norm,
    "aten::native_layer_norm": _layer_norm,
    "aten::rms_norm": _rms_norm,
    "aten::_fused_rms_norm": _rms_norm,
    "aten::group_norm": _group_norm,
    "aten::softmax": partial(_softmax, op_type="Softmax"),
    "aten::_softmax": partial(_softmax, op_type="Softmax"),
    "aten::log_softmax": partial(_softmax, op_type="LogSoftmax"),
    "aten::_log_softmax": partial(_softmax, op_type="LogSoftmax"),
    "aten::mean": partial(_reduced, op_type="ReduceMean"),
    "aten::sum": partial(_reduced, op_type="ReduceSum"),
    "aten::amax": partial(_reduced, op_type="ReduceMax"),
    "aten::amin": partial(_reduced, op_type="ReduceMin"),
    "aten::argmax": partial(_arg, op_type="ArgMax"),
    "aten::argmin": partial(_arg, op_type="ArgMin"),
    "aten::cumsum": _cumulative,
    "aten::max_pool2d": _max_pool,
    "aten::max_pool2d_with_indices": _max_pool,
    "aten::avg_pool2d": _average_pool,
    "aten::cat": _joined,
    "aten::embedding": _embedding,
    "aten::index_select": _selected,
    "aten::gather": _gathered,
}
