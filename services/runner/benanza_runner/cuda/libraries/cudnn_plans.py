"""A graph of cuDNN's, and its plans as candidates.

A plan's index means nothing later, so a plan is named by its engine and knobs. Source:
nvidia-cudnn-frontend 1.32: `cudnn/_pygraph.py`; a number may be a tensor (`tensor_scalar`;
`cudnn/gemm/ops/swiglu_mlp.py` shows which cuDNN that needs).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cudnn
import numpy as np

from benanza_runner.cuda.calls import Quantised, Shape
from benanza_runner.cuda.candidate import Candidate, NotApplicableError
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.elements import FLOAT8
from benanza_runner.cuda.libraries.cudnn_tiles import ENGINE
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import MAX_SCRATCH_BYTES, Workspace
from benanza_schemas.layer import Precision

LIBRARY = "cudnn-graph"
TYPES: dict[Precision, Any] = {
    "fp32": cudnn.data_type.FLOAT,
    "tf32": cudnn.data_type.FLOAT,
    "fp16": cudnn.data_type.HALF,
    "bf16": cudnn.data_type.BFLOAT16,
}
EIGHT_BITS = {
    "int8": cudnn.data_type.INT8,
    "uint8": cudnn.data_type.UINT8,
    FLOAT8: cudnn.data_type.FP8_E4M3,
}
"""Its types for elements that aren't floats of the precision."""

DESELECTED = "Deselecting execution plan"
"""How the error begins that building a plan raises if it has a deselected note."""

ALIGNED_BYTES = 16
"""What a graph's tensors are aligned to if they don't say otherwise."""

MODES = (cudnn.heur_mode.A, cudnn.heur_mode.B, cudnn.heur_mode.FALLBACK)


Built = tuple[Any, Shape, Shape]
"""The last value of a graph, its shape and its strides."""

Build = Callable[["OperationGraph", Any], Built]
"""Adds operations to a graph; its second argument is the frontend's object for the graph."""


class OperationGraph:
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
        value.set_output(True).set_data_type(self.type(result))
        value.set_dim(list(shape)).set_stride(list(strides))
        value.set_uid(len(self._pack) + 1)
        self._pack[len(self._pack) + 1] = self._result.pointer
        if workspace.precision == "fp32" and not isinstance(workspace.call, Quantised):
            # Tensor Cores would multiply in TF32.
            self._graph.deselect_numeric_notes([cudnn.numerical_note.TENSOR_CORE])
        self._graph.validate()
        self._graph.build_operation_graph()
        self._graph.create_execution_plans(list(MODES))
        self.count = int(self._graph.get_execution_plan_count())

    def input(self, operand: DeviceTensor) -> Any:
        """The graph's tensor for an operand."""
        return self.tensor(operand.pointer, operand.shape, operand.strides, self.type(operand))

    def tensor(
        self, pointer: int, shape: Sequence[int], strides: Sequence[int], kind: Any = None
    ) -> Any:
        """The graph's tensor at this address, of floats of the precision or of cuDNN's type `kind`;
        strides count elements.
        """
        uid = len(self._pack) + 1
        self._pack[uid] = pointer
        return self._graph.tensor(
            dim=list(shape),
            stride=list(strides),
            data_type=TYPES[self._workspace.precision] if kind is None else kind,
            uid=uid,
        )

    def type(self, tensor: DeviceTensor) -> Any:
        """What cuDNN calls the type of a tensor's elements."""
        if not tensor.element:
            return TYPES[tensor.precision]
        if tensor.element not in EIGHT_BITS:
            raise UnsupportedError(f"its graphs take no {tensor.element}")
        return EIGHT_BITS[tensor.element]

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
