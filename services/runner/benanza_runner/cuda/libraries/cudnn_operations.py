"""Operations of cuDNN's graphs: convolutions, products and attention.

Sources: nvidia-cudnn-frontend 1.32. `cudnn/_pygraph.py` has the operations; a transposed
convolution has to be told the shape of its output. The headers
`scaled_dot_product_flash_attention.h` and `sdpa_support_surface.h` say that attention wants the
columns of all operands next to each other, and its other strides in multiples of 16 bytes. A
convolution whose input is computed wants that input in the type of the filter, with channels last:
cuDNN 9.19 said so, asked with the properties of an H200.
"""

from math import prod
from typing import Any

import cudnn

from benanza_runner.cuda.calls import (
    AnyConvolution,
    Attention,
    Convolution,
    Matrices,
    Product,
    Shape,
)
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.libraries.cudnn_activations import activated
from benanza_runner.cuda.libraries.cudnn_plans import TYPES, Build, Built, OperationGraph
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import Workspace


def convolution(
    workspace: Workspace,
    call: AnyConvolution,
    order: tuple[int, ...],
    result: DeviceTensor,
) -> Build:
    def build(graph: OperationGraph, ir: Any) -> Built:
        x = graph.input(workspace.expanded("input", call.input, order))
        filters = graph.input(workspace.expanded("filter", call.filter, order))
        how = windows(call)
        if isinstance(call, Convolution):
            if call.has_prologue:
                x = _prepared(graph, ir, workspace, call, x)
            value = ir.conv_fprop(x, filters, **how)
        else:
            value = ir.conv_dgrad(x, filters, **how, out_dims=list(call.output))
        if call.residual:
            residual = workspace.expanded("residual", call.output, order)
            value = ir.add(value, graph.input(residual))

        def by_channel(name: str) -> Any:
            return vector(graph, workspace.operand(name), call.output)

        if call.bias:
            value = ir.add(value, by_channel("bias"))
        value = activated(ir, value, call, by_channel, graph.scalar)
        return value, result.shape, result.strides

    return build


def windows(call: AnyConvolution) -> dict[str, list[int]]:
    """How the windows of a convolution move, as the frontend's arguments."""
    return {
        "pre_padding": list(call.pads_before),
        "post_padding": list(call.pads_after),
        "stride": list(call.strides),
        "dilation": list(call.dilations),
    }


def _prepared(
    graph: OperationGraph, ir: Any, workspace: Workspace, call: Convolution, x: Any
) -> Any:
    """The input as it is convolved: after the prologue, computed in float32 and rounded."""
    value = x
    if call.scaled:
        value = ir.scale(value, vector(graph, workspace.operand("scale"), call.input))
        value = ir.bias(value, vector(graph, workspace.operand("shift"), call.input))
    if call.relu_first:
        value = ir.relu(value)
    return value.set_data_type(TYPES[workspace.precision])


def product(workspace: Workspace, call: Product, result: DeviceTensor) -> Build:
    batch, m, n, k = call.batch, call.m, call.n, call.k

    def operand(graph: OperationGraph, name: str, where: Matrices, rows: int, columns: int) -> Any:
        count = batch if where.pair else 1
        steps = where.pair or rows * columns, *_within(where)
        return graph.part(workspace.operand(name), where.start, (count, rows, columns), steps)

    def build(graph: OperationGraph, ir: Any) -> Built:
        if call.alpha != 1 or call.beta != 1 or call.rounds != 1:
            raise UnsupportedError("its graphs take no factors, and multiply only once")
        value = ir.matmul(operand(graph, "a", call.a, m, k), operand(graph, "b", call.b, k, n))
        shape, steps = (batch, m, n), (call.result.pair or m * n, *_within(call.result))
        if call.residual:
            value = ir.add(value, graph.tensor(workspace.operand("residual").pointer, shape, steps))

        def by_column(name: str) -> Any:
            return graph.tensor(workspace.operand(name).pointer, (1, 1, n), (n, n, 1))

        if call.bias:
            value = ir.add(value, by_column("bias"))
        value = activated(ir, value, call, by_column, graph.scalar)
        return value, shape, steps

    return build


def _within(where: Matrices) -> tuple[int, int]:
    """The strides of the rows and the columns of a matrix."""
    return (1, where.line) if where.transposed else (where.line, 1)


def attention(workspace: Workspace, call: Attention) -> Build:
    def build(graph: OperationGraph, ir: Any) -> Built:
        if call.chosen:
            raise UnsupportedError("its attention adds numbers, and the mask has bools")
        if call.cap:
            raise UnsupportedError("a cap on the scores of its attention is not tried")
        if call.biased:
            raise UnsupportedError("its attention adds no bias to queries and values")
        if call.stored or call.pages:
            raise UnsupportedError("its attention to quantised keys or to pages is not tried")
        queries, keys, batch = call.queries, call.keys, call.batch
        query = (batch, call.heads, queries, call.size), call.query_steps
        key = (batch, call.key_heads, keys, call.size), call.key_steps
        value = (batch, call.value_heads, keys, call.width), call.value_steps
        how: dict[str, Any] = {
            "q": graph.part(workspace.operand("query"), call.query_start, *query),
            "k": graph.part(workspace.operand("key"), call.key_start, *key),
            "v": graph.part(workspace.operand("value"), call.value_start, *value),
        }
        if call.mask:
            packed = tuple(prod(call.mask[axis + 1 :]) for axis in range(len(call.mask)))
            how["bias"] = graph.part(workspace.operand("mask"), 0, call.mask, packed)
        if call.causal:
            how["diagonal_band_right_bound"] = 0
        if call.window:
            how["diagonal_band_left_bound"] = call.window
        if call.causal or call.window:
            how["diagonal_alignment"] = _diagonal(call)
        if call.sinks:
            how["sink_token"] = _sinks(graph, workspace, call.heads)
        result, _ = ir.sdpa(**how, attn_scale=call.scale, generate_stats=False)
        return result, (batch, call.heads, queries, call.width), call.output_steps

    return build


def _sinks(graph: OperationGraph, workspace: Workspace, heads: int) -> Any:
    """The sinks, which cuDNN wants as float32. Raises `UnsupportedError`."""
    if "sinks" not in workspace.fixed:
        raise UnsupportedError("its sinks are float32 at all precisions")
    pointer = workspace.exact("sinks").pointer
    return graph.tensor(pointer, (1, heads, 1, 1), (heads, 1, 1, 1), cudnn.data_type.FLOAT)


def _diagonal(call: Attention) -> Any:
    """Where the diagonal begins up to which queries see keys. Raises `UnsupportedError`."""
    if call.before == 0:
        return cudnn.diagonal_alignment.TOP_LEFT
    if call.before == call.keys - call.queries:
        return cudnn.diagonal_alignment.BOTTOM_RIGHT
    raise UnsupportedError("its diagonals begin in a corner")


def vector(graph: OperationGraph, operand: DeviceTensor, x: Shape) -> Any:
    """An operand by channel of a feature map. cuDNN wants these strides on its axes of one."""
    ones = (1,) * (len(x) - 2)
    return graph.tensor(operand.pointer, (1, x[1], *ones), (x[1], 1, *ones), graph.type(operand))
