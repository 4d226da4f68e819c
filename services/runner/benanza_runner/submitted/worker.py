"""The process in which a submitted kernel runs. It can reach nothing, and knows no results.

It is started as `python -m benanza_runner.submitted.worker FD`. FD is the file descriptor of a
socket to the referee.
"""

import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benanza_backbone.confining import readable
from benanza_backbone.confining.confine import confine_alone
from benanza_backbone.worker import frames
from benanza_backbone.worker.inside import end_with_the_parent
from benanza_runner.arrays import Array
from benanza_runner.reasons import short_reason
from benanza_runner.submitted import disturbance, kernels, memory, messages
from benanza_runner.submitted.disturbance import Disturbance
from benanza_runner.submitted.kernels import (
    LIBRARIES,
    KernelError,
    LoadedKernel,
    empty_call,
    load,
)
from benanza_runner.submitted.memory import SharedMemory
from benanza_runner.submitted.messages import (
    MOST_BYTES,
    Arrange,
    Begin,
    Begun,
    CallsMade,
    Done,
    KernelRefused,
    LoadKernel,
    Prepare,
    Reply,
    Request,
    Run,
    Try,
    encoder,
    requests,
)
from benanza_runner.submitted.tampering import KernelWatch


class Bench:
    """The kernel and its arrays. Its methods raise what the kernel raises."""

    def __init__(self, begin: Begin, watch: KernelWatch) -> None:
        self._watch = watch
        self._path = Path(begin.kernel)
        self._memory = SharedMemory(Path(begin.memory), begin.signature)
        pairs = list(zip(begin.signature.inputs, self._memory.inputs, strict=True))
        self._weights = [array for operand, array in pairs if operand.constant]
        self._changing = [array for operand, array in pairs if not operand.constant]
        self._kernel: LoadedKernel | None = None
        self._earlier: list[Array] = []
        self._call: Callable[[], object] = list
        self._change: Callable[[], object] = list
        self._copy = np.copyto

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
        self._keep_outputs()
        results = list(self._loaded.results())
        for result in results:
            if any(np.may_share_memory(result, array) for array in self._memory.inputs):
                raise KernelError("it returns the memory of an input")
            if any(np.may_share_memory(result, array) for array in self._earlier):
                raise KernelError("it returns the memory of an earlier result")
        self._earlier = results

    def arrange(self, seed: int, *, empty: bool) -> None:
        """Makes ready for calls with inputs that change so, and makes the first."""
        shared = self._memory
        self._call = (
            empty_call(shared.inputs, shared.outputs, library=self._path.suffix in LIBRARIES)
            if empty
            else self._loaded.call
        )
        self._change = Disturbance(self._changing, shared.pools, seed).step
        with self._watch.running():
            self._change()
            self._call()

    def run(self) -> int:
        """Calls it until the flag is set; returns how often."""
        change, call, calls = self._change, self._call, 0
        stop, begun = self._memory.stop, self._memory.begun
        with self._watch.running():
            while not stop[0]:
                change()
                call()
                calls += 1
                begun[0] = 1
        self._keep_outputs()
        return calls

    @property
    def _loaded(self) -> LoadedKernel:
        assert self._kernel is not None, "the referee has it loaded first"
        return self._kernel

    def _keep_outputs(self) -> None:
        """What a kernel writes later comes too late."""
        for kept, output in zip(self._memory.copies, self._memory.outputs, strict=True):
            self._copy(kept, output)


def main(referee: int) -> None:
    """Answers requests over this file descriptor until the other side closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the referee to act on.
    end_with_the_parent()
    warnings.simplefilter("ignore")  # To show one, Python would read files.
    sys.dont_write_bytecode = True  # It could not, and would be taken for the kernel's doing.
    begin = _request(referee)
    if not isinstance(begin, Begin):
        raise TypeError(f"the first message is a {type(begin).__name__}, not a Begin")
    own = (sys.modules[__name__], disturbance, frames, kernels, memory, messages)
    watch = KernelWatch(*own, Bench, Disturbance, KernelWatch, LoadedKernel)
    bench = Bench(begin, watch)
    paths = [*readable.of_program(), Path(begin.kernel)]
    confinement = confine_alone(paths, begin.memory_bytes)
    _reply(referee, Begun(confinement.missing()))
    while True:
        try:
            request = _request(referee)
        except EOFError:
            return
        _reply(referee, _answer(bench, watch, request))


def _answer(bench: Bench, watch: KernelWatch, request: Request) -> Reply:
    try:
        reply = _done(bench, request)
        return KernelRefused(reason) if (reason := watch.reason()) else reply
    except KernelError as error:
        return KernelRefused(watch.reason() or str(error))
    except MemoryError:
        return KernelRefused("it takes more memory than it may")
    except BaseException as error:  # noqa: BLE001  # a kernel may raise anything
        return KernelRefused(watch.reason() or short_reason(f"it raised {_said(error)}"))


def _done(bench: Bench, request: Request) -> Reply:
    match request:
        case LoadKernel():
            bench.load()
        case Prepare():
            bench.prepare()
        case Try():
            bench.try_it()
        case Arrange():
            bench.arrange(request.seed, empty=request.empty)
        case Run():
            return CallsMade(bench.run())
        case Begin():
            raise TypeError("the worker has begun already")
    return Done()


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _request(referee: int) -> Request:
    return requests.decode(frames.receive(referee, MOST_BYTES))


def _reply(referee: int, reply: Reply) -> None:
    frames.send(referee, encoder.encode(reply))


if __name__ == "__main__":
    main(int(sys.argv[1]))
