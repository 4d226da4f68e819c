"""Quantised convolutions and products as cuDNN's graphs: sums, then scaled as float32.

Source: nvidia-cudnn-frontend 1.32, `cudnn/_pygraph.py`: an operation has a type in which it
computes, and a virtual tensor one of its own.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import cudnn
import cupy

from benanza_runner.cuda.calls import Convolution, EightBitProduct, Quantised, Shape
from benanza_runner.cuda.calls.quantised import CHANNELS
from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.integers.padded_maps import padded_map
from benanza_runner.cuda.kernels.integers.products import shift
from benanza_runner.cuda.layouts import Order
from benanza_runner.cuda.libraries.cudnn_activations import activated
from benanza_runner.cuda.libraries.cudnn_operations import vector, windows
from benanza_runner.cuda.libraries.cudnn_plans import Build, Built, OperationGraph
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import Workspace


class PreparedGraph(NamedTuple):
    """How the graph of a quantised convolution is built, and what runs before it, if anything."""

    build: Build
    before: Run | None


def quantised_convolution(
    workspace: Workspace, call: Quantised, sums: Convolution, order: Order, result: DeviceTensor
) -> PreparedGraph:
    """The graph of a quantised convolution whose feature maps have channels last, in this order.

    Raises `UnsupportedError` for groups or axes that the kernel before it doesn't know.
    """
    x = workspace.expanded("input", sums.input, order)
    filters = workspace.expanded("filter", sums.filter, order)
    bias, moves, before = workspace.exact("bias"), windows(sums), None
    moved = shift(x.element)
    more = -sums.filter[1] % CHANNELS
    if moved or more:
        if sums.groups > 1 or len(order) != 4:
            raise UnsupportedError("integers are only padded for convolutions of whole maps")
        channels, shape = sums.input[1] + more, sums.input
        pads: Shape = (0, 0)
        if moved:
            # Σ (x - 128)·w is too small by 128 times the sum of each filter.
            axes = tuple(range(1, filters.array.ndim))
            lacking = moved * filters.array.astype(cupy.int32).sum(axis=axes)
            whole = bias.array + workspace.exact("scale").array * lacking.astype(cupy.float32)
            bias = DeviceTensor(whole, bias.order, bias.precision)
            edges = zip(sums.input[2:], sums.pads_before, sums.pads_after, strict=True)
            shape, pads = (*shape[:2], *map(sum, edges)), sums.pads_before
            moves |= {"pre_padding": [0, 0], "post_padding": [0, 0]}
        written, before = padded_map(x, shape, pads, channels)
        x = DeviceTensor(written, order, x.precision, filters.element)
        wide = cupy.pad(filters.array, [(0, 0)] * (filters.array.ndim - 1) + [(0, more)])
        filters = DeviceTensor(wide, order, x.precision, filters.element)

    def build(graph: OperationGraph, ir: Any) -> Built:
        value = ir.conv_fprop(
            graph.input(x), graph.input(filters), **moves, compute_data_type=_sums(call)
        )

        def by_channel(operand: DeviceTensor) -> Any:
            return vector(graph, operand, sums.output)

        def residual() -> Any:
            return graph.input(workspace.expanded("residual", sums.output, order))

        value = _scaled(workspace, call, graph, ir, value, bias, by_channel, residual)
        return value, result.shape, result.strides

    return PreparedGraph(build, before)


def quantised_product(workspace: Workspace, call: Quantised, sums: EightBitProduct) -> Build:
    """Builds the graph of a quantised product; the weights lie with the rows of k in a line."""

    def build(graph: OperationGraph, ir: Any) -> Built:
        m, n, k = sums.m, sums.n, sums.k
        a, b = workspace.operand("a"), workspace.operand("b", (1, 0))
        first = graph.tensor(a.pointer, (1, m, k), (m * k, k, 1), graph.type(a))
        second = graph.tensor(b.pointer, (1, k, n), (n * k, 1, k), graph.type(b))
        value = ir.matmul(first, second, compute_data_type=_sums(call))
        shape, steps = (1, m, n), (m * n, n, 1)

        def by_column(operand: DeviceTensor) -> Any:
            return graph.tensor(operand.pointer, (1, 1, n), (n, n, 1), graph.type(operand))

        def residual() -> Any:
            operand = workspace.operand("residual")
            return graph.tensor(operand.pointer, shape, steps, graph.type(operand))

        bias = workspace.exact("bias")
        value = _scaled(workspace, call, graph, ir, value, bias, by_column, residual)
        return value, shape, steps

    return build


def _sums(call: Quantised) -> Any:
    """What cuDNN calls the type of the sums, in which products are added up."""
    return cudnn.data_type.FLOAT if call.of_float8 else cudnn.data_type.INT32


def _scaled(
    workspace: Workspace,
    call: Quantised,
    graph: OperationGraph,
    ir: Any,
    value: Any,
    bias: DeviceTensor,
    vector_of: Callable[[DeviceTensor], Any],
    residual: Callable[[], Any],
) -> Any:
    """What follows the sums. cuDNN rounds and limits what it writes in 8 bits."""
    value = value.set_data_type(_sums(call))
    value = ir.mul(value, vector_of(workspace.exact("scale")))
    value = ir.add(value, vector_of(bias))
    if call.residual:
        added = residual()
        if call.factor != 1:
            added = ir.mul(added, graph.scalar(call.factor))
        value = ir.add(value, added)

    def by_name(name: str) -> Any:
        return vector_of(workspace.exact(name))

    value = activated(ir, value, call, by_name, graph.scalar)
    return value if call.step == 1 else ir.mul(value, graph.scalar(call.step))
