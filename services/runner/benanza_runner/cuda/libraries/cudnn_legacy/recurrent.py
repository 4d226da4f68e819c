"""Recurrent networks. Numbers are those of `cudnn_adv.h`."""

import ctypes
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import cupy

from benanza_runner.cuda.calls import Recurrence
from benanza_runner.cuda.candidate import Candidate, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.libraries.cudnn_legacy.library import (
    DATA_TYPE,
    LIBRARY,
    MATH,
    CudnnError,
    CudnnLibrary,
    Descriptor,
    Scratch,
    address,
    integers,
)
from benanza_runner.cuda.libraries.cudnn_legacy.recurrent_weights import linear_layers
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

ALGORITHMS = ("STANDARD", "PERSIST_STATIC", "PERSIST_DYNAMIC", "PERSIST_STATIC_SMALL_H")
"""In the order of `cudnnRNNAlgo_t`."""

STANDARD, DYNAMIC = 0, 2
CELLS = {"Relu": 0, "Tanh": 1, "LSTM": 2, "GRU": 3}
NO_BIAS, DOUBLE_BIAS = 0, 2
LINEAR_INPUT = 0
INFERENCE = 0


class _Data(NamedTuple):
    """How sequences lie, for cuDNN: `cudnnRNNDataLayout_t` and the flag that belongs to it."""

    name: str
    layout: int
    padded_io: int


DATA = (_Data("packed", 1, 0), _Data("unpacked", 0, 1))
"""Both go step by step. If all sequences have the same length, both are the same in memory."""


class CudnnRecurrent:
    """Candidates for recurrent networks: each algorithm, on sequences packed and unpacked."""

    library = LIBRARY

    def __init__(self, library: CudnnLibrary) -> None:
        self._cudnn = library

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """Each algorithm, on packed and on unpacked sequences."""
        call = workspace.call
        if not isinstance(call, Recurrence):
            return
        for (number, algorithm), data in product(enumerate(ALGORITHMS), DATA):
            name = f"RNN {algorithm}, {data.name}"
            try:
                yield _Network(self._cudnn, workspace, call, number, data).candidate(name)
            except CudnnError as error:
                yield refused(LIBRARY, name, "", error)


class _Network:
    """A network of one layer, to be run by one algorithm.

    At each step, cuDNN has both directions' states next to each other, and ONNX one direction after
    the other. cuDNN has no network that only goes backwards: then the sequence is reversed before,
    and the result after it. These copies are part of a run.
    """

    def __init__(
        self,
        cudnn: CudnnLibrary,
        workspace: Workspace,
        call: Recurrence,
        algorithm: int,
        data: _Data,
    ) -> None:
        self._cudnn, self._workspace, self._call = cudnn, workspace, call
        self._algorithm, self._data = algorithm, data
        self._backwards = call.direction == "reverse"
        self._results = {
            name: workspace.result(call.shape(name), number=number)
            for number, name in enumerate(call.outputs)
        }
        self._given = self._read = workspace.operand("sequence").array
        self._initial = workspace.operand("initial") if call.initial else None
        self._cell = workspace.operand("initial_cell") if call.initial_cell else None
        self._copies_bytes = 0
        if self._backwards:
            self._read = cupy.empty_like(self._given)
            self._copies_bytes += self._read.nbytes
        self._written = self._states()
        self._x = self._sequences(call.features)
        self._y = self._sequences(call.directions * call.hidden)
        state = call.shape("last")
        self._state = cudnn.tensor(workspace.precision, state, (state[1] * state[2], state[2], 1))
        self._rnn = self._descriptor()
        self._weights: Any = None

    def candidate(self, name: str) -> Candidate:
        """The network under this name."""
        scratch = Scratch(self._workspace, self._ask_for_scratch)

        def prepare() -> int:
            if self._algorithm == DYNAMIC:
                self._cudnn.run("cudnnBuildRNNDynamic", self._rnn, self._call.batch)
            size = scratch.prepare()
            self._weights = self._packed_weights()
            return size + self._copies_bytes

        def run() -> None:
            if self._backwards:
                cupy.copyto(self._read, self._given[::-1])
            self._forward(scratch)
            if "all" in self._results and self._written is not self._results["all"]:
                self._reorder()

        first, *more = self._results.values()
        return Candidate(LIBRARY, name, "", prepare, run, first, tuple(more))

    def _states(self) -> DeviceTensor:
        """Memory for the states of all steps in cuDNN's order: the result itself, if possible."""
        call = self._call
        same = not self._backwards and (call.directions == 1 or call.batch == 1)
        if same and "all" in self._results:
            return self._results["all"]
        shape = call.length, call.batch, call.directions * call.hidden
        states = self._workspace.memory.empty(shape, (0, 1, 2), self._workspace.precision)
        states.poison()
        self._copies_bytes += states.array.nbytes
        return states

    def _reorder(self) -> None:
        """Copies the states of all steps from cuDNN's order into ONNX's."""
        call = self._call
        states = self._written.array.reshape(call.length, call.batch, call.directions, call.hidden)
        if self._backwards:
            states = states[::-1]
        cupy.copyto(self._results["all"].array, states.transpose(0, 2, 1, 3))

    def _sequences(self, size: int) -> Descriptor:
        """A descriptor of sequences of the same length, of vectors of this size."""
        call = self._call
        return Descriptor(self._cudnn, "RNNData").set(
            "RNNData",
            DATA_TYPE[self._workspace.precision],
            self._data.layout,
            call.length,
            call.batch,
            size,
            integers((call.length,) * call.batch),
            None,
        )

    def _descriptor(self) -> Descriptor:
        """The network's descriptor. Only the standard algorithm takes one without bias."""
        call = self._call
        without = self._algorithm == STANDARD and not call.bias
        network = Descriptor(self._cudnn, "RNN")
        self._cudnn.call(
            "cudnnSetRNNDescriptor_v8",
            network,
            self._algorithm,
            CELLS[call.cell],
            NO_BIAS if without else DOUBLE_BIAS,
            call.directions - 1,
            LINEAR_INPUT,
            DATA_TYPE[self._workspace.precision],
            DATA_TYPE["fp32"],
            MATH[self._workspace.precision],
            call.features,
            call.hidden,
            call.hidden,
            1,
            None,
            self._data.padded_io,
        )
        return network

    def _ask_for_scratch(self, size: Any) -> None:
        reserve = ctypes.byref(ctypes.c_size_t())
        mode = INFERENCE
        self._cudnn.run("cudnnGetRNNTempSpaceSizes", self._rnn, mode, self._x, size, reserve)

    def _packed_weights(self) -> Any:
        """All weights at the places that cuDNN says; missing biases are zero."""
        needed = ctypes.c_size_t()
        self._cudnn.run(
            "cudnnGetRNNWeightSpaceSize",
            self._rnn,
            ctypes.byref(needed),
        )
        space = cupy.zeros(needed.value, cupy.uint8)
        hidden = self._call.hidden
        what = Descriptor(self._cudnn, "Tensor"), Descriptor(self._cudnn, "Tensor")
        for layer in linear_layers(self._call):
            matrix, bias = ctypes.c_void_p(), ctypes.c_void_p()
            self._cudnn.run(
                "cudnnGetRNNWeightParams",
                self._rnn,
                layer.direction,
                ctypes.c_size_t(space.nbytes),
                address(space.data.ptr),
                layer.number,
                what[0],
                ctypes.byref(matrix),
                what[1],
                ctypes.byref(bias),
            )
            source = self._workspace.operand(layer.matrix).array[layer.direction]
            _put(space, matrix, source[layer.row : layer.row + hidden])
            if self._call.bias:
                source = self._workspace.operand("bias").array[layer.direction]
                _put(space, bias, source[layer.bias_row : layer.bias_row + hidden])
        return space

    def _forward(self, scratch: Scratch) -> None:
        self._cudnn.run(
            "cudnnRNNForward",
            self._rnn,
            INFERENCE,
            None,
            self._x,
            address(self._read.data.ptr),
            self._y,
            self._written,
            self._state,
            self._initial,
            self._results.get("last"),
            self._state,
            self._cell,
            self._results.get("last_cell"),
            ctypes.c_size_t(self._weights.nbytes),
            address(self._weights.data.ptr),
            scratch.size,
            scratch,
            ctypes.c_size_t(0),
            None,
        )


def _put(space: Any, where: ctypes.c_void_p, source: Any) -> None:
    """Copies weights to an address in the weight space. Raises `CudnnError` for one outside."""
    offset = (where.value or 0) - int(space.data.ptr)
    if not 0 <= offset <= space.nbytes - source.nbytes:
        raise CudnnError("cudnnGetRNNWeightParams: weights outside of their space")
    cupy.copyto(cupy.ndarray(source.shape, source.dtype, space.data + offset), source)
