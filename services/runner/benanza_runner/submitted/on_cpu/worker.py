"""The process in which a submitted kernel for a CPU runs. It can reach nothing, and knows no
results.

It is started as `python -m benanza_runner.submitted.on_cpu.worker FD`. FD is the file descriptor
of a socket to the referee.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benanza_backbone.confining import readable
from benanza_backbone.confining.confine import Confinement, confine_alone
from benanza_runner.arrays import Array
from benanza_runner.submitted import disturbance, memory
from benanza_runner.submitted.disturbance import Disturbance
from benanza_runner.submitted.memory import SharedMemory
from benanza_runner.submitted.messages import Arrange, Begin
from benanza_runner.submitted.on_cpu import loading
from benanza_runner.submitted.on_cpu.loading import LoadedKernel, empty_call, load
from benanza_runner.submitted.working import sources
from benanza_runner.submitted.working.serving import KernelBench, serve
from benanza_runner.submitted.working.sources import LIBRARIES, KernelError
from benanza_runner.submitted.working.tampering import KernelWatch


class Bench(KernelBench):
    """The kernel and its arrays, in the memory that is shared."""

    def __init__(self, begin: Begin, watch: KernelWatch) -> None:
        self._watch = watch
        self._path = Path(begin.kernel)
        self._memory_bytes = begin.memory_bytes
        self._memory = SharedMemory(Path(begin.memory), begin.signature)
        pairs = list(zip(begin.signature.inputs, self._memory.inputs, strict=True))
        self._weights = [array for operand, array in pairs if operand.constant]
        self._changing = [array for operand, array in pairs if not operand.constant]
        self._kernel: LoadedKernel | None = None
        self._earlier: list[Array] = []
        self._call: Callable[[], object] = list
        self._change: Callable[[], object] = list
        self._copies = [
            partial(np.copyto, *pair)
            for pair in zip(self._memory.copies, self._memory.outputs, strict=True)
        ]

    def confine(self) -> Confinement:
        """Leaves the process nothing but reading the program and the kernel."""
        return confine_alone([*readable.of_program(), self._path], self._memory_bytes)

    def load(self) -> None:
        """Loads the kernel, which so runs for the first time."""
        shared = self._memory
        with self._watch.loading():
            self._kernel = load(self._path, shared.inputs, self._weights, shared.outputs)

    def prepare(self) -> None:
        """Tells it that there are other weights."""
        with self._watch.running():
            self._loaded.prepare()

    def try_it(self) -> None:
        """Calls it once. Raises `KernelError` if what it returns lies where other values are."""
        with self._watch.running():
            self._loaded.call()
        for keep in self._copies:
            keep()
        results = list(self._loaded.results())
        for result in results:
            if any(np.may_share_memory(result, array) for array in self._memory.inputs):
                raise KernelError("it returns the memory of an input")
            if any(np.may_share_memory(result, array) for array in self._earlier):
                raise KernelError("it returns the memory of an earlier result")
        self._earlier = results

    def arrange(self, request: Arrange) -> None:
        """Makes ready for calls with inputs that change so, and makes the first."""
        shared = self._memory
        self._call = (
            empty_call(shared.inputs, shared.outputs, library=self._path.suffix in LIBRARIES)
            if request.empty
            else self._loaded.call
        )
        self._change = Disturbance(self._changing, shared.pools, request.seed).step
        with self._watch.running():
            self._change()
            self._call()

    def run(self) -> int:
        """Calls it until the flag is set; returns how often."""
        change, call, calls = self._change, self._call, 0
        stop, begun = self._memory.stop, self._memory.begun
        copies, look = self._copies, self._watch.look
        with self._watch.running():
            while not stop[0]:
                change()
                call()
                calls += 1
                begun[0] = 1
            # What a kernel writes later comes too late. Nothing is called before that it could have
            # replaced for a moment, to compute the last results there alone.
            for keep in copies:
                keep()
            look()
        return calls

    def fetch(self) -> None:
        """Nothing: all is in the shared memory."""

    @property
    def _loaded(self) -> LoadedKernel:
        assert self._kernel is not None, "the referee has it loaded first"
        return self._kernel


if __name__ == "__main__":
    modules = (sys.modules[__name__], disturbance, loading, memory, sources)
    serve(int(sys.argv[1]), Bench, (*modules, Bench, KernelBench, Disturbance, LoadedKernel))
