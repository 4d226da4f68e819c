"""The process in which a submitted kernel for a GPU runs. It knows no results.

It is started as `python -m benanza_runner.submitted.on_gpu.worker FD`. FD is the file descriptor of
a socket to the referee.

A kernel's own code runs when it is loaded, and once for each set of weights, while its calls are
captured. What is timed are CUDA graphs of these and of the changes of its inputs.
"""

import sys
from pathlib import Path
from typing import Any

import cupy
import numpy as np
from cuda.bindings import driver

from benanza_backbone.confining import readable
from benanza_backbone.confining.confine import (
    Confinement,
    confine_started,
    confine_with_device,
)
from benanza_runner.arrays import Array
from benanza_runner.submitted import disturbance, memory
from benanza_runner.submitted.memory import SharedMemory
from benanza_runner.submitted.messages import Arrange, Begin
from benanza_runner.submitted.on_gpu import changes, graphs, loading
from benanza_runner.submitted.on_gpu.changes import DeviceChanges
from benanza_runner.submitted.on_gpu.graphs import RepeatedGraph, captured, why_refused
from benanza_runner.submitted.on_gpu.loading import DeviceKernel, load_for_device
from benanza_runner.submitted.working import sources
from benanza_runner.submitted.working.serving import KernelBench, serve
from benanza_runner.submitted.working.sources import KernelError
from benanza_runner.submitted.working.tampering import KernelWatch

IN_FLIGHT = 2
"""So many graphs are started before the first of them has to be done: the device is never idle."""


class GpuBench(KernelBench):
    """The kernel and its arrays on CUDA's first GPU."""

    def __init__(self, begin: Begin, watch: KernelWatch) -> None:
        self._watch = watch
        self._begin = begin
        self._memory = SharedMemory(Path(begin.memory), begin.signature)
        self._kernel: DeviceKernel | None = None
        self._call: Any = None
        self._timed: RepeatedGraph | None = None
        self._calls = 1

    def confine(self) -> Confinement:
        """Begins with the GPU, for which the driver does what no kernel may. Then the process is
        left reading the program, the kernel and the system's programs, writing what it compiles,
        and the GPU.
        """
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._stream.use()
        shared = self._memory
        self._inputs = [*map(_like, shared.inputs)]
        self._outputs = [*map(_like, shared.outputs)]
        operands = list(zip(self._begin.signature.inputs, self._inputs, strict=True))
        self._weights = [array for operand, array in operands if operand.constant]
        changing = [array for operand, array in operands if not operand.constant]
        self._changes = DeviceChanges(changing, shared.pools)
        self._change = captured(self._stream, self._changes.step)
        self._done = [cupy.cuda.Event(disable_timing=True) for _ in range(IN_FLIGHT)]
        self._start(RepeatedGraph([self._change], 1))
        return confine_with_device(
            self._readable(),
            Path(self._begin.folder),
            readable.devices(),
            self._begin.memory_bytes,
        )

    def load(self) -> None:
        """Loads the kernel, and calls it, so that it compiles what it does. From then on it may
        write nothing, and start no program.
        """
        self._upload()
        with self._watch.compiling():
            self._kernel = load_for_device(
                *(Path(self._begin.kernel), self._stream),
                *(self._inputs, self._weights, self._outputs),
            )
            self._use_stream()
            self._kernel.prepare()
            self._kernel.call()
            cupy.cuda.runtime.deviceSynchronize()
        confine_started(self._readable(), readable.devices())

    def prepare(self) -> None:
        """Tells it that there are other weights, and captures a call."""
        self._upload()
        kernel = self._loaded
        with self._watch.capturing():
            self._use_stream()
            kernel.prepare()
            cupy.cuda.runtime.deviceSynchronize()
            self._call = captured(self._stream, kernel.call)
        if reason := why_refused(self._call):
            raise KernelError(reason)
        self._look_at_results()

    def try_it(self) -> None:
        """Calls it once."""
        self._upload()
        self._start(RepeatedGraph([self._call], 1))

    def arrange(self, request: Arrange) -> None:
        """Makes a graph of so many calls, each with other inputs, and makes the first call."""
        self._upload()
        self._changes.begin(request.seed)
        parts = [self._change] if request.empty else [self._change, self._call]
        self._start(RepeatedGraph(parts, 1))
        if self._timed is not None:
            self._timed.close()
        self._calls = request.calls
        self._timed = RepeatedGraph([self._call] if request.steady else parts, request.calls)

    def run(self) -> int:
        """Starts the graph again and again until the flag is set; returns how many calls it was."""
        stop, begun, stream, launched = self._memory.stop, self._memory.begun, self._stream, 0
        assert self._timed is not None, "the referee has it arranged first"
        launch, done = self._timed.launch, self._done
        with self._watch.running():
            while not stop[0]:
                launch(stream)
                event = done[launched % IN_FLIGHT]
                event.record(stream)
                launched += 1
                begun[0] = 1
                if launched >= IN_FLIGHT:
                    done[launched % IN_FLIGHT].synchronize()
            cupy.cuda.runtime.deviceSynchronize()
        return launched * self._calls

    def fetch(self) -> None:
        """Lays what the device holds into the shared memory."""
        shared = self._memory
        for kept, output in zip(shared.copies, self._outputs, strict=True):
            _download(output, kept)
        for there, array in zip(shared.inputs, self._inputs, strict=True):
            _download(array, there)

    @property
    def _loaded(self) -> DeviceKernel:
        assert self._kernel is not None, "the referee has it loaded first"
        return self._kernel

    def _readable(self) -> list[Path]:
        paths = [*readable.of_program(), *readable.of_device()]
        return [*paths, Path(self._begin.kernel), Path(self._begin.folder)]

    def _upload(self) -> None:
        pairs = [
            *zip(self._inputs, self._memory.inputs, strict=True),
            *zip(self._outputs, self._memory.outputs, strict=True),
        ]
        for array, shared in pairs:
            array.set(_as_stored(shared))
        cupy.cuda.runtime.deviceSynchronize()

    def _start(self, graph: RepeatedGraph) -> None:
        """Runs a graph of one call."""
        graph.launch(self._stream)
        cupy.cuda.runtime.deviceSynchronize()
        graph.close()

    def _use_stream(self) -> None:
        """Makes all libraries of Python that the kernel uses start their work on the stream."""
        self._stream.use()
        if torch := sys.modules.get("torch"):
            torch.cuda.set_stream(torch.cuda.ExternalStream(self._stream.ptr))

    def _look_at_results(self) -> None:
        """Raises `KernelError` if what it returned lies where other values are."""
        found = list(self._loaded.results())
        for begin, end in found:
            if any(_extends(array, begin, end) for array in self._inputs):
                raise KernelError("it returns the memory of an input")


def _like(array: Array) -> Any:
    return cupy.zeros(array.shape, _as_stored(array).dtype)


def _as_stored(array: Array) -> Array:
    """As the device has it: CuPy has no bfloat16, whose bits it is given."""
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def _download(array: Any, there: Array) -> None:
    array.get(out=_as_stored(there))


def _extends(array: Any, begin: int, end: int) -> bool:
    first, last = cupy.byte_bounds(array)
    return bool(begin < last and first < end)


if __name__ == "__main__":
    modules = (sys.modules[__name__], disturbance, memory, sources, changes, graphs, loading)
    classes = (GpuBench, KernelBench, DeviceChanges, DeviceKernel, RepeatedGraph)
    used = (driver, cupy, cupy.cuda, cupy.cuda.runtime)
    serve(int(sys.argv[1]), GpuBench, (*modules, *classes), used)
