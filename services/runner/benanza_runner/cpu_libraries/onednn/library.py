"""oneDNN's primitives as candidates: a layer is lowered to a call, and that to a primitive."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial

import numpy as np
from onnx import numpy_helper

from benanza_runner.arrays import Array
from benanza_runner.cpu_libraries.cpu_library import Borders, Calls, CpuCandidate, CpuWork
from benanza_runner.cpu_libraries.onednn.binding import OneDnnApi, OneDnnError, binding
from benanza_runner.cpu_libraries.onednn.convolutions import convolution_plans
from benanza_runner.cpu_libraries.onednn.elementwise import elementwise_plans
from benanza_runner.cpu_libraries.onednn.memory import KINDS, Shape
from benanza_runner.cpu_libraries.onednn.movement import (
    concatenation_plans,
    shuffle_plans,
    view_plans,
)
from benanza_runner.cpu_libraries.onednn.plan import FIRST, WHICHEVER, Operands, Plan, Ready
from benanza_runner.cpu_libraries.onednn.products import product_plans
from benanza_runner.cpu_libraries.onednn.rows import (
    as_pooling,
    reduction_plans,
    row_normalisation_plans,
    softmax_plans,
)
from benanza_runner.cpu_libraries.onednn.windows import (
    normalisation_plans,
    pooling_plans,
    resizing_plans,
)
from benanza_runner.cuda.calls import (
    Concatenation,
    Convolution,
    Normalisation,
    Pooling,
    Product,
    Reduction,
    Resizing,
    RowNormalisation,
    Shuffle,
    Softmax,
    TransposedConvolution,
    View,
)
from benanza_runner.cuda.candidate import refused
from benanza_runner.cuda.lowering.elementwise.chains import is_chain
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.measuring.clock import clocked
from benanza_runner.measuring.sampling import Timing
from benanza_runner.onnx_layers.layer_model import LayerModel
from benanza_runner.onnx_layers.precision import retyped
from benanza_runner.onnxruntime.blocked import LAYOUT as BLOCKED
from benanza_runner.onnxruntime.blocked import block_size, maps
from benanza_runner.onnxruntime.channels_last import LAYOUT as CHANNELS_LAST
from benanza_schemas.events import MAX_NAME_LENGTH, Variant

LAYOUTS = (FIRST, BLOCKED, CHANNELS_LAST)

MOST_COPIES = 1_000
EMPTY_CALLS = 1_000


class OneDnn:
    """oneDNN on the CPU: each layer as one primitive, with weights packed beforehand.

    Feature maps are as ONNX has them, or in float32 in blocks of channels or with channels last.
    Integers are not asked for.
    """

    library = "onednn"

    def __init__(self) -> None:
        self._onednn = binding()
        self.version = self._onednn.version()
        self._empty_call_us = cache(self._timed_empty_call_us)

    def candidates(self, work: CpuWork) -> Iterator[CpuCandidate | Variant]:
        """The implementations that oneDNN has, in each layout."""
        if work.layer.execution == "network":
            return
        self._onednn.use_threads(work.threads)
        graph = work.model.proto.graph
        maps_around = {*maps(graph.input).values(), *maps(graph.output).values()}
        in_any = work.precision == "fp32" and block_size() and maps_around
        try:
            yield from self._offered(work, LAYOUTS if in_any else LAYOUTS[:1], maps_around)
        finally:
            self._onednn.end_threads()

    def _offered(
        self, work: CpuWork, layouts: Sequence[str], maps_around: set[Shape]
    ) -> Iterator[CpuCandidate | Variant]:
        refusals: set[str] = set()
        for layout in layouts:
            try:
                for plan in self._plans(work, layout):
                    if {*plan.reads, *plan.writes} <= maps_around:
                        yield self._candidate(work, plan)
            except (OneDnnError, UnsupportedError) as error:
                if str(error) not in refusals:
                    yield refused(self.library, work.layer.title(), layout, error)
                refusals.add(str(error))

    def empty_call_us(self, threads: int) -> float:
        """The least of many calls that start no primitive."""
        return self._empty_call_us(threads)

    def _plans(self, work: CpuWork, layout: str) -> Iterator[Plan]:
        """The plans of the layer in one layout; those that have any come with the first."""
        onednn, precision, block = self._onednn, work.precision, block_size()
        layer, values = retyped(work.layer, "fp32"), _values(work.model)
        if len(layer.outputs) > 1:
            raise UnsupportedError("oneDNN is asked for one result of a layer")
        if is_chain(layer):
            operands = Operands(onednn, {}, frozenset(), precision, block)
            return elementwise_plans(layer, values, operands, layout)
        call, arrays, fixed = lower(layer, values)
        if isinstance(call, Reduction):
            call = as_pooling(call) or call
        operands = Operands(onednn, arrays, fixed, precision, block)
        match call:
            case Convolution() | TransposedConvolution():
                return convolution_plans(call, operands, layout)
            case Pooling():
                return pooling_plans(call, operands, layout)
            case Normalisation():
                return normalisation_plans(call, operands, layout)
            case Resizing():
                return resizing_plans(call, operands, layout)
            case Concatenation():
                return concatenation_plans(call, operands, layout)
        if layout != FIRST:
            return iter(())
        match call:
            case Product():
                return product_plans(call, operands)
            case Softmax():
                return softmax_plans(call, operands)
            case Reduction():
                return reduction_plans(call, operands)
            case RowNormalisation():
                return row_normalisation_plans(call, operands)
            case View():
                return view_plans(call, operands)
            case Shuffle():
                return shuffle_plans(call, operands)
        if len(work.layer.operators) > 1:
            raise UnsupportedError("oneDNN runs it as several calls")
        return iter(())

    def _candidate(self, work: CpuWork, plan: Plan) -> CpuCandidate:
        borders = work.as_onnx
        if plan.layout in (BLOCKED, CHANNELS_LAST):
            borders = Borders(plan.layout, plan.reads, plan.writes)
        elif plan.layout == WHICHEVER and borders.layout:
            borders = Borders(WHICHEVER, (), borders.writes)
        opened = partial(self._open, work, plan)
        return CpuCandidate(self.library, plan.name[:MAX_NAME_LENGTH], borders, opened, MOST_COPIES)

    @contextmanager
    def _open(self, work: CpuWork, plan: Plan, copies: int) -> Iterator[Calls]:
        self._onednn.use_threads(work.threads)
        try:
            yield OneDnnCalls(self._onednn, plan.make(), work, copies)
        finally:
            self._onednn.end_threads()

    def _timed_empty_call_us(self, threads: int) -> float:
        self._onednn.use_threads(threads)
        return min(clocked(self._onednn.wait).us for _ in range(EMPTY_CALLS))


class OneDnnCalls:
    """A primitive that is run so many times in a call."""

    def __init__(self, onednn: OneDnnApi, ready: Ready, work: CpuWork, copies: int) -> None:
        self._onednn, self._ready, self._copies = onednn, ready, copies
        (self._output,) = work.model.proto.graph.output
        self._shape = work.layer.tensors[work.layer.outputs[0]].shape

    def call(self) -> Timing:
        """Runs all copies, to the end."""
        return clocked(self._run)

    def results(self) -> Mapping[str, Array]:
        """What each copy wrote to the same place."""
        return {self._output.name: self._ready.result().reshape(self._shape)}

    def _run(self) -> None:
        self._ready.primitive.run(self._copies)
        self._onednn.wait()


def _values(model: LayerModel) -> dict[int, Array]:
    """The layer's inputs by position: constants, weights and others, with floats as float32."""
    held = {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in model.proto.graph.initializer
        if tensor.name not in model.constants
    }
    arrays = held | model.constants | model.inputs
    return {int(name.removeprefix("t")): _as_float32(array) for name, array in arrays.items()}


def _as_float32(array: Array) -> Array:
    return array.astype(np.float32, copy=False) if array.dtype.name in KINDS else array
