"""Convolutions, attention, and products that cuBLASLt lacks, through cuDNN's graph API.

One call is one graph. Its plans, which the heuristics and the fallback offer, are the candidates. A
plan's index means nothing later, so a plan is named by its engine and knobs.

Sources: nvidia-cudnn-frontend 1.32. `cudnn/_pygraph.py` has the operations; a number may be a
tensor (`tensor_scalar`; `cudnn/gemm/ops/swiglu_mlp.py` shows which cuDNN that needs), and a
transposed convolution has to be told the shape of its output. The headers
`scaled_dot_product_flash_attention.h` and `sdpa_support_surface.h` say that attention wants the
columns of all operands next to each other, and its other strides in multiples of 16 bytes. A
convolution whose input is computed wants that input in the type of the filter, with channels last:
cuDNN 9.19 said so, asked with the properties of an H200.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import cudnn
import cupy
import numpy as np

from benanza_runner.cuda.calls import (
    AnyConvolution,
    Attention,
    Convolution,
    Matrices,
    Product,
    Shape,
)
from benanza_runner.cuda.candidate import Candidate, NotApplicableError, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.libraries.cudnn_activations import activated
from benanza_runner.cuda.libraries.cudnn_tiles import ENGINE, configurations
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import MAX_SCRATCH_BYTES, Workspace
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

LIBRARY = "cudnn-graph"
TYPES: dict[Precision, Any] = {
    "fp32": cudnn.data_type.FLOAT,
    "tf32": cudnn.data_type.FLOAT,
    "fp16": cudnn.data_type.HALF,
    "bf16": cudnn.data_type.BFLOAT16,
}
DESELECTED = "Deselecting execution plan"
"""How the error begins that building a plan raises if it has a deselected note."""

ALIGNED_BYTES = 16
"""What a graph's tensors are aligned to if they don't say otherwise."""

FUSED_BY_CUBLASLT = frozenset(("", "Relu", "GeluTanh"))

MODES = (cudnn.heur_mode.A, cudnn.heur_mode.B, cudnn.heur_mode.FALLBACK)


Built = tuple[Any, Shape, Shape]
"""The last value of a graph, its shape and its strides."""

Build = Callable[["_Graph", Any], Built]
"""Adds operations to a graph; its second argument is the frontend's object for the graph."""


class CudnnGraph:
    """Candidates of cuDNN's graph API, on one stream; at most so many plans for each layout."""

    library = LIBRARY

    def __init__(self, stream: int, most_plans: int) -> None:
        self._handle = cudnn.create_handle()
        self.use(stream)
        self._most_plans = most_plans
        self._multiprocessors = int(cupy.cuda.Device().attributes["MultiProcessorCount"])

    def use(self, stream: int) -> None:
        """Starts what follows on this stream."""
        cudnn.set_stream(self._handle, stream)

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """Plans in both layouts, the most promising first."""
        call = workspace.call
        if isinstance(call, AnyConvolution):
            for layout, order in workspace.layouts(len(call.input)):
                result = workspace.result(call.output, order)
                build = _convolution(workspace, call, order, result)
                yield from self._planned(workspace, layout, result, build)
        elif isinstance(call, Product) and call.activation not in FUSED_BY_CUBLASLT:
            result = workspace.result(call.output)
            layout = workspace.natural_layout(*call.moved)
            yield from self._planned(workspace, layout, result, _product(workspace, call, result))
        elif isinstance(call, Attention):
            result = workspace.result(call.output)
            yield from self._planned(workspace, "", result, _attention(workspace, call))

    def _planned(
        self, workspace: Workspace, layout: str, result: DeviceTensor, build: Build
    ) -> Iterator[Candidate | Variant]:
        try:
            graph = _Graph(self._handle, workspace, result, build)
        except (cudnn.cudnnGraphNotSupportedError, RuntimeError, ValueError) as error:
            yield refused(LIBRARY, "graph", layout, error)
            return
        most, more = self._most_plans, list[dict[str, int]]()
        if isinstance(workspace.call, Convolution) and workspace.call.has_prologue:
            # Each takes a second to compile, and those that are offered are alike.
            most, more = 1, configurations(workspace.call, self._multiprocessors)
        for index in range(graph.count):
            if graph.built < most:
                yield graph.candidate(index, layout)
        for knobs in more:
            yield graph.configured(knobs, layout)


class _Graph:
    """A convolution or a product with its prologue and epilogue, or attention, with its plans."""

    def __init__(
        self, handle: Any, workspace: Workspace, result: DeviceTensor, build: Build
    ) -> None:
        self._handle = handle
        self._workspace = workspace
        self._result = result
        self._pack: dict[int, int] = {}
        self.built = 0
        self._graph = cudnn.pygraph(
            handle=handle,
            io_data_type=TYPES[workspace.precision],
            intermediate_data_type=cudnn.data_type.FLOAT,
            compute_data_type=cudnn.data_type.FLOAT,
        )
        value, shape, strides = build(self, self._graph)
        value.set_output(True).set_data_type(TYPES[workspace.precision])
        value.set_dim(list(shape)).set_stride(list(strides))
        value.set_uid(len(self._pack) + 1)
        self._pack[len(self._pack) + 1] = self._result.pointer
        if workspace.precision == "fp32":
            # Tensor Cores would multiply in TF32.
            self._graph.deselect_numeric_notes([cudnn.numerical_note.TENSOR_CORE])
        self._graph.validate()
        self._graph.build_operation_graph()
        self._graph.create_execution_plans(list(MODES))
        self.count = int(self._graph.get_execution_plan_count())

    def input(self, operand: DeviceTensor) -> Any:
        """The graph's tensor for an operand."""
        return self.tensor(operand.pointer, operand.shape, operand.strides)

    def tensor(self, pointer: int, shape: Sequence[int], strides: Sequence[int]) -> Any:
        """The graph's tensor at this address; strides count elements."""
        uid = len(self._pack) + 1
        self._pack[uid] = pointer
        return self._graph.tensor(
            dim=list(shape),
            stride=list(strides),
            data_type=TYPES[self._workspace.precision],
            uid=uid,
        )

    def part(
        self, operand: DeviceTensor, start: int, shape: Sequence[int], strides: Sequence[int]
    ) -> Any:
        """The graph's tensor for what begins at this element of an operand.

        Raises `UnsupportedError` where it doesn't begin as the library thinks that tensors do.
        """
        offset = start * operand.element_bytes
        if offset % ALIGNED_BYTES:
            raise UnsupportedError(
                f"an operand doesn't begin at a multiple of {ALIGNED_BYTES} bytes"
            )
        return self.tensor(operand.pointer + offset, shape, strides)

    def scalar(self, number: float) -> Any:
        """A number that the graph owns.

        It is rounded to float32, because a number that needs a double was read as zero. As a
        constant of the compiler it would need cuDNN 9.22.
        """
        return self._graph.tensor_scalar(float(np.float32(number)), cudnn.scalar_type.RUNTIME_PARAM)

    def candidate(self, index: int, layout: str) -> Candidate:
        """The plan that was offered at this index."""
        engine, knobs = self._graph.get_engine_and_knobs_at_index(index)
        return self._candidate(_name(engine, knobs), layout, lambda: index)

    def configured(self, knobs: Mapping[str, int], layout: str) -> Candidate:
        """A plan that was not offered: one of `cudnn_tiles`."""
        chosen = {getattr(cudnn.knob_type, name): value for name, value in knobs.items()}

        def add() -> int:
            self._graph.create_execution_plan(ENGINE, chosen)
            return int(self._graph.get_execution_plan_count()) - 1

        return self._candidate(_name(ENGINE, chosen), layout, add)

    def _candidate(self, name: str, layout: str, plan: Callable[[], int]) -> Candidate:
        index = scratch = 0

        def prepare() -> int:
            nonlocal index, scratch
            try:
                index = plan()
                self._graph.build_plan_at_index(index)
            except (cudnn.cudnnGraphNotSupportedError, RuntimeError) as error:
                if DESELECTED in str(error):
                    raise NotApplicableError(str(error)) from error
                raise
            self.built += 1
            size = int(self._graph.get_workspace_size_plan_at_index(index))
            if size > MAX_SCRATCH_BYTES:
                raise UnsupportedError(f"it wants {size:,} bytes of scratch memory")
            scratch = self._workspace.scratch(size)
            return size

        def run() -> None:
            self._graph.execute_plan_at_index(self._pack, scratch, index, self._handle)

        return Candidate(LIBRARY, name, layout, prepare, run, self._result)


def _name(engine: int, knobs: Mapping[Any, int]) -> str:
    """Engine and knobs, by which a plan is found again: `engine 5 (TILE_SIZE=3, SPLIT_K=1)`."""
    parts = sorted((getattr(kind, "name", str(kind)), value) for kind, value in knobs.items())
    return f"engine {engine} ({', '.join(f'{kind}={value}' for kind, value in parts)})"


def _convolution(
    workspace: Workspace,
    call: AnyConvolution,
    order: tuple[int, ...],
    result: DeviceTensor,
) -> Build:
    def build(graph: _Graph, ir: Any) -> Built:
        x = graph.input(workspace.expanded("input", call.input, order))
        filters = graph.input(workspace.expanded("filter", call.filter, order))
        how = {
            "pre_padding": list(call.pads_before),
            "post_padding": list(call.pads_after),
            "stride": list(call.strides),
            "dilation": list(call.dilations),
        }
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
            return _vector(graph, workspace, name, call.output)

        if call.bias:
            value = ir.add(value, by_channel("bias"))
        value = activated(ir, value, call, by_channel, graph.scalar)
        return value, result.shape, result.strides

    return build


def _prepared(graph: _Graph, ir: Any, workspace: Workspace, call: Convolution, x: Any) -> Any:
    """The input as it is convolved: after the prologue, computed in float32 and rounded."""
    value = x
    if call.scaled:
        value = ir.scale(value, _vector(graph, workspace, "scale", call.input))
        value = ir.bias(value, _vector(graph, workspace, "shift", call.input))
    if call.relu_first:
        value = ir.relu(value)
    return value.set_data_type(TYPES[workspace.precision])


def _product(workspace: Workspace, call: Product, result: DeviceTensor) -> Build:
    batch, m, n, k = call.batch, call.m, call.n, call.k

    def operand(graph: _Graph, name: str, where: Matrices, rows: int, columns: int) -> Any:
        count = batch if where.pair else 1
        steps = where.pair or rows * columns, *_within(where)
        return graph.part(workspace.operand(name), where.start, (count, rows, columns), steps)

    def build(graph: _Graph, ir: Any) -> Built:
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


def _attention(workspace: Workspace, call: Attention) -> Build:
    def build(graph: _Graph, ir: Any) -> Built:
        if call.chosen:
            raise UnsupportedError("its attention adds numbers, and the mask has bools")
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
            aligned = cudnn.diagonal_alignment
            how["diagonal_alignment"] = aligned.BOTTOM_RIGHT if call.before else aligned.TOP_LEFT
            how["diagonal_band_right_bound"] = 0
        result, _ = ir.sdpa(**how, attn_scale=call.scale, generate_stats=False)
        return result, (batch, call.heads, queries, call.width), call.output_steps

    return build


def _vector(graph: _Graph, workspace: Workspace, name: str, x: Shape) -> Any:
    """An operand by channel of a feature map. cuDNN wants these strides on its axes of one."""
    ones = (1,) * (len(x) - 2)
    pointer = workspace.operand(name).pointer
    return graph.tensor(pointer, (1, x[1], *ones), (x[1], 1, *ones))
