"""Convolutions through cuDNN's graph API (`nvidia-cudnn-frontend`).

One call is one graph; its plans, which the heuristics and the fallback offer, are the
candidates. A plan's index means nothing later, so a plan is known by its engine and knobs.
Read: the Python sources of nvidia-cudnn-frontend 1.32 (`_pygraph.py`).
"""

from collections.abc import Iterator
from typing import Any

import cudnn

from benanza_runner.cuda.arrays import Placed
from benanza_runner.cuda.bench import MAX_SCRATCH_BYTES, Bench
from benanza_runner.cuda.calls import Convolution
from benanza_runner.cuda.candidate import Candidate, NotMeantError, refused
from benanza_runner.cuda.unsupported import UnsupportedError
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
"""What building a plan says that has one of the notes deselected."""

MODES = (cudnn.heur_mode.A, cudnn.heur_mode.B, cudnn.heur_mode.FALLBACK)


class CudnnGraph:
    """A handle on one stream."""

    library = LIBRARY

    def __init__(self, stream: int, most_plans: int) -> None:
        self._handle = cudnn.create_handle()
        self.use(stream)
        self._most_plans = most_plans

    def use(self, stream: int) -> None:
        """Starts what follows on this stream."""
        cudnn.set_stream(self._handle, stream)

    def candidates(self, bench: Bench) -> Iterator[Candidate | Variant]:
        """All plans in both layouts, the most promising first."""
        call = bench.call
        if not isinstance(call, Convolution):
            return
        for layout, order in bench.layouts(len(call.image)):
            try:
                graph = _Graph(self._handle, bench, call, order)
            except (cudnn.cudnnGraphNotSupportedError, RuntimeError, ValueError) as error:
                yield refused(LIBRARY, "graph", layout, error)
                continue
            for index in range(graph.count):
                if graph.built < self._most_plans:
                    yield graph.candidate(index, layout)


class _Graph:
    """A convolution with its epilogue, planned."""

    def __init__(
        self, handle: Any, bench: Bench, call: Convolution, order: tuple[int, ...]
    ) -> None:
        self._handle = handle
        self._bench = bench
        self._result = bench.result(call.output, order)
        self._pack: dict[int, int] = {}
        self.built = 0
        self._graph = cudnn.pygraph(
            handle=handle,
            io_data_type=TYPES[bench.precision],
            intermediate_data_type=cudnn.data_type.FLOAT,
            compute_data_type=cudnn.data_type.FLOAT,
        )
        image = self._input(bench.operand("image", order))
        filters = self._input(bench.operand("filter", order))
        value = self._graph.conv_fprop(
            image,
            filters,
            pre_padding=list(call.pads_before),
            post_padding=list(call.pads_after),
            stride=list(call.strides),
            dilation=list(call.dilations),
        )
        if call.residual:
            value = self._graph.add(value, self._input(bench.operand("residual", order)))
        if call.bias:
            bias = bench.operand("bias")
            shape = [1, call.output[1], *(1,) * (len(call.output) - 2)]
            value = self._graph.add(value, self._tensor(bias.pointer, shape, _packed(shape)))
        if call.activation:
            value = _activate(self._graph, value, call.activation)
        value.set_output(True).set_data_type(TYPES[bench.precision])
        value.set_dim(list(call.output)).set_stride(list(self._result.strides))
        value.set_uid(len(self._pack) + 1)
        self._pack[len(self._pack) + 1] = self._result.pointer
        if bench.precision == "fp32":
            # Tensor Cores would multiply in TF32.
            self._graph.deselect_numeric_notes([cudnn.numerical_note.TENSOR_CORE])
        self._graph.validate()
        self._graph.build_operation_graph()
        self._graph.create_execution_plans(list(MODES))
        self.count = int(self._graph.get_execution_plan_count())

    def _input(self, placed: Placed) -> Any:
        return self._tensor(placed.pointer, list(placed.shape), list(placed.strides))

    def _tensor(self, pointer: int, shape: list[int], strides: list[int]) -> Any:
        uid = len(self._pack) + 1
        self._pack[uid] = pointer
        return self._graph.tensor(
            dim=shape, stride=strides, data_type=TYPES[self._bench.precision], uid=uid
        )

    def candidate(self, index: int, layout: str) -> Candidate:
        scratch = 0

        def prepare() -> int:
            nonlocal scratch
            try:
                self._graph.build_plan_at_index(index)
            except (cudnn.cudnnGraphNotSupportedError, RuntimeError) as error:
                if DESELECTED in str(error):
                    raise NotMeantError(str(error)) from error
                raise
            self.built += 1
            size = int(self._graph.get_workspace_size_plan_at_index(index))
            if size > MAX_SCRATCH_BYTES:
                raise UnsupportedError(f"it wants {size:,} bytes of scratch memory")
            scratch = self._bench.scratch(size)
            return size

        def run() -> None:
            self._graph.execute_plan_at_index(self._pack, scratch, index, self._handle)

        return Candidate(LIBRARY, self._name(index), layout, prepare, run, self._result)

    def _name(self, index: int) -> str:
        """Engine and knobs: `engine 5 (TILE_SIZE=3, SPLIT_K=1)`."""
        engine, knobs = self._graph.get_engine_and_knobs_at_index(index)
        parts = sorted((getattr(kind, "name", str(kind)), value) for kind, value in knobs.items())
        return f"engine {engine} ({', '.join(f'{kind}={value}' for kind, value in parts)})"


def _activate(graph: Any, value: Any, activation: str) -> Any:
    if activation != "Relu":
        raise UnsupportedError(f"cuDNN's graph has no {activation} here")
    return graph.relu(value)


def _packed(shape: list[int]) -> list[int]:
    """Strides of a vector of channels; axes of one take any, cuDNN wants them as here."""
    return [shape[1], 1, *(1,) * (len(shape) - 2)]
