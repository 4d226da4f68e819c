"""A file of ONNX as PyTorch runs it: for convolution nets of few operators, none of them dynamic.

`benanza export` brings other models from PyTorch itself, whose own code is what people run.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx
import torch
from onnx import NodeProto, numpy_helper
from torch.nn import functional

from benanza.profiling.whole_model import WholeModel

Tensor = Any


class NoCounterpartError(Exception):
    """Something of a file has no counterpart here."""


def from_onnx(model: WholeModel) -> tuple[Any, tuple[Any, ...]]:
    """A module that computes what the file does, with the same weights, and its inputs. Raises
    `NoCounterpartError`, as the module does where only shapes or attributes tell.
    """
    lacking = sorted({node.op_type for node in model.proto.graph.node} - OPERATORS.keys())
    if lacking:
        raise NoCounterpartError(f"its operators {', '.join(lacking)}")
    graph, root = torch.fx.Graph(), torch.nn.Module()
    values: dict[str, Any] = {name: graph.placeholder(f"x{n}") for n, name in _inputs(model)}
    for number, tensor in enumerate(model.proto.graph.initializer):
        array = model.weights.get(tensor.name)
        if array is None:
            array = numpy_helper.to_array(tensor)
        if array.dtype.kind != "f":
            values[tensor.name] = array.tolist()
            continue
        weight = torch.nn.Parameter(torch.from_numpy(array.copy()), requires_grad=False)
        root.register_parameter(f"w{number}", weight)
        values[tensor.name] = graph.get_attr(f"w{number}")
    opset = max(known.version for known in model.proto.opset_import if not known.domain)
    for node in model.proto.graph.node:
        read = tuple(values[name] for name in node.input if name)
        values[node.output[0]] = graph.call_function(
            OPERATORS[node.op_type], read, _attributes(node, opset)
        )
    graph.output(tuple(values[output.name] for output in model.proto.graph.output))
    inputs = tuple(torch.from_numpy(model.inputs[name].copy()) for _, name in _inputs(model))
    return torch.fx.GraphModule(root, graph), inputs


def _inputs(model: WholeModel) -> list[tuple[int, str]]:
    names = (value.name for value in model.proto.graph.input if value.name in model.inputs)
    return list(enumerate(names))


def _attributes(node: NodeProto, opset: int) -> dict[str, Any]:
    """Without what is written out as ONNX has it anyway. What an operator's function isn't made
    for, it raises a `TypeError` for.
    """
    usual = onnx.defs.get_schema(node.op_type, opset).attributes
    found = {
        each.name: onnx.helper.get_attribute_value(each)
        for each in node.attribute
        if each.name not in usual or not _is_usual(each, usual[each.name].default_value)
    }
    if node.op_type == "Softmax":
        found.setdefault("axis", -1 if opset >= 13 else 1)
    return found


def _is_usual(written: onnx.AttributeProto, default: onnx.AttributeProto) -> bool:
    if written.name == "dilations":
        return set(written.ints) == {1}
    return written.type == default.type and (
        onnx.helper.get_attribute_value(written) == onnx.helper.get_attribute_value(default)
    )


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise NoCounterpartError(what)


def _conv(
    x: Tensor,
    w: Tensor,
    bias: Tensor = None,
    *,
    kernel_shape: Sequence[int] = (),
    pads: Sequence[int] = (),
    strides: Sequence[int] = (1, 1),
    dilations: Sequence[int] = (1, 1),
    group: int = 1,
) -> Tensor:
    begin, end = _split(pads)
    _need(begin == end, "a convolution with different padding at both ends")
    return functional.conv2d(x, w, bias, list(strides), begin, list(dilations), group)


def _split(pads: Sequence[int]) -> tuple[list[int], list[int]]:
    given = list(pads) or [0, 0, 0, 0]
    return given[:2], given[2:]


def _padded(x: Tensor, begin: Sequence[int], end: Sequence[int], value: float) -> Tensor:
    return functional.pad(x, (begin[1], end[1], begin[0], end[0]), value=value)


def _max_pool(
    x: Tensor,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] = (),
    strides: Sequence[int] = (1, 1),
) -> Tensor:
    begin, end = _split(pads)
    if begin != end:
        x, begin = _padded(x, begin, end, -math.inf), [0, 0]
    return functional.max_pool2d(x, list(kernel_shape), list(strides), begin)


def _average_pool(
    x: Tensor,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] = (),
    strides: Sequence[int] = (1, 1),
    count_include_pad: int = 0,
) -> Tensor:
    begin, end = _split(pads)
    size, step = list(kernel_shape), list(strides)
    if begin == end:
        return functional.avg_pool2d(
            x, size, step, begin, count_include_pad=bool(count_include_pad)
        )
    _need(not count_include_pad, "an average over different padding at both ends")
    total, counted = (
        functional.avg_pool2d(_padded(each, begin, end, 0.0), size, step, divisor_override=1)
        for each in (x, torch.ones_like(x[:1, :1]))
    )
    return total / counted


def _batch_norm(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
) -> Tensor:
    return functional.batch_norm(x, mean, variance, scale, bias, False, 0.0, epsilon)


def _gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor = None,
    *,
    transA: int = 0,  # noqa: N803
    transB: int = 0,  # noqa: N803
    alpha: float = 1.0,
    beta: float = 1.0,
) -> Tensor:
    _need(not transA and alpha == beta == 1.0, "a Gemm with factors")
    return functional.linear(a, b if transB else b.t(), c)


def _softmax(x: Tensor, *, axis: int) -> Tensor:
    """Before opset 13 over all axes from this one on."""
    _need(x.shape[axis:].numel() == x.shape[axis], "a Softmax over several axes")
    return functional.softmax(x, axis)


def _sum(*xs: Tensor) -> Tensor:
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return total


def _lrn(
    x: Tensor, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Tensor:
    return functional.local_response_norm(x, size, alpha, beta, bias)


def _concat(*xs: Tensor, axis: int) -> Tensor:
    return torch.cat(xs, axis)


def _global_average_pool(x: Tensor) -> Tensor:
    return x.mean((2, 3), keepdim=True)


def _transpose(x: Tensor, *, perm: Sequence[int]) -> Tensor:
    return x.permute(list(perm))


def _first(x: Tensor, *_: Any, **__: Any) -> Tensor:
    return x


def _reshape(x: Tensor, shape: Sequence[int]) -> Tensor:
    return x.reshape([x.shape[at] if size == 0 else size for at, size in enumerate(shape)])


OPERATORS: Mapping[str, Callable[..., Any]] = {
    "Add": torch.add,
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_norm,
    "Concat": _concat,
    "Conv": _conv,
    "Dropout": _first,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_average_pool,
    "LRN": _lrn,
    "MaxPool": _max_pool,
    "Mul": torch.mul,
    "Relu": torch.relu,
    "Reshape": _reshape,
    "Softmax": _softmax,
    "Sum": _sum,
    "Transpose": _transpose,
}
"""What each operator of ONNX is, of two-dimensional feature maps."""
