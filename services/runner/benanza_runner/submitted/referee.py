"""Checks and times a submitted kernel from outside of its process.

The kernel runs in a worker that has inputs and room for outputs, and nothing else. What it should
compute, the clock, and when it is to stop are here. Nobody in the worker's process knows which call
is the last of a window; of this one all outputs are compared, so that each call has to be right.
Timed windows aren't short. So that none of their first calls is left out, there are others among
them, as many, which end sooner, and whose results alone are looked at.

All inputs are others at each call. Making them so takes part of a window; windows of calls that do
nothing say how long.
"""

import resource
import secrets
import time
from pathlib import Path
from statistics import median

import numpy as np

from benanza_backbone.worker import frames
from benanza_backbone.worker.process import WorkerProcess, decoded
from benanza_runner.arrays import Array
from benanza_runner.machine_load import longest_wait_s, machine_load
from benanza_runner.measuring.busy import Load as MachineLoad
from benanza_runner.measuring.busy import as_environment, busy_between
from benanza_runner.submitted.asked_worker import NOT_ASKED, AskedWorker, accepted
from benanza_runner.submitted.disturbance import Disturbance
from benanza_runner.submitted.draws import PLAIN, Draws, InputKind
from benanza_runner.submitted.memory import SharedMemory, shared_memory
from benanza_runner.submitted.messages import (
    MOST_BYTES,
    Arrange,
    Begin,
    Begun,
    CallsMade,
    LoadKernel,
    Prepare,
    Run,
    Try,
    encoder,
    replies,
)
from benanza_runner.submitted.outcome import KernelLimits, RefusedError, TimedKernel
from benanza_runner.submitted.signature import Signature
from benanza_runner.submitted.verdict import poison, why_written, why_wrong
from benanza_runner.submitted.windows import TimedWindow, overhead, samples_us
from benanza_schemas.layer import Layer, Precision

WORKER_MODULE = "benanza_runner.submitted.worker"

TRIES = 2
"""At least so many calls are only looked at, with other weights than those of the timed ones."""

WARM_UP, FEW_WINDOWS, WINDOWS = 3, 10, 60
"""Of each kind of inputs that is timed."""

WINDOW_S = 0.002
"""About how long a timed window is; it ends at a time between half of it and one and a half."""

SPUN_S = 0.0001
"""Less than this isn't slept: the system wakes nobody so soon."""

MOST_US = 1_000_000.0
"""There are fewer windows if they take so long together."""

OVERHEADS = 8
"""Windows without calls, and with calls that do nothing, before the kernel is loaded."""

TURNS = 6
"""After so many timed windows comes another with calls that do nothing: the machine may have become
faster since the first ones.
"""

MOST_CALLS = 1e8
"""In a second. Python calls nothing so often."""

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")

LATE_S = 0.1
"""So long after a window it is looked whether a wrong result has become right since."""


def judged(
    layer: Layer,
    signature: Signature,
    precision: Precision,
    kernel: Path,
    threads: int,
    limits: KernelLimits = KernelLimits(),  # noqa: B008  # it is frozen
) -> TimedKernel:
    """The times of a kernel whose results are right each time.

    `kernel` is a module of Python or a shared library, `signature` that of the layer at the
    precision. Raises `RefusedError`, and whatever ONNX Runtime raises that computes the results.
    """
    # Nobody can guess what is drawn from so many bits.
    draws = Draws(layer, signature, precision, np.random.default_rng(secrets.randbits(128)))
    try:
        memory = shared_memory(signature)
    except OSError as error:
        raise RefusedError(f"there is no memory for what it reads: {error.strerror}") from error
    environment = {name: str(threads) for name in THREADS}
    before = _load()
    try:
        with WorkerProcess(WORKER_MODULE, environment) as worker:
            asked = AskedWorker(worker, limits)
            timed = _Referee(draws, signature, precision, memory, asked, limits).judge(kernel)
    finally:
        memory.path.unlink(missing_ok=True)
    busy = busy_between(before, _load())
    return timed._replace(environment=as_environment(busy, busy.by))


def _load() -> MachineLoad:
    """How busy the machine is; processes that have ended count as this one."""
    load, ended = machine_load(), resource.getrusage(resource.RUSAGE_CHILDREN)
    return load._replace(own_s=load.own_s + ended.ru_utime + ended.ru_stime)


class _Referee:
    def __init__(
        self,
        draws: Draws,
        signature: Signature,
        precision: Precision,
        memory: SharedMemory,
        worker: AskedWorker,
        limits: KernelLimits,
    ) -> None:
        self._draws = draws
        self._signature = signature
        self._precision: Precision = precision
        self._memory = memory
        self._worker = worker
        self._limits = limits
        self._weights: list[Array] = []
        self._inputs: list[Array] = []
        self._pools: list[Array] = []
        """What these should be, where no kernel can write."""
        self._empty: list[TimedWindow] = []
        """Windows with calls that do nothing."""
        self._kept: list[Array] = []
        """The outputs as they were at the last answer, likewise."""

    def judge(self, kernel: Path) -> TimedKernel:
        """Checks and times it, without what is seen around that. Raises `RefusedError`."""
        begun = self._worker.ask(
            Begin(
                kernel=str(kernel.absolute()),
                memory=str(self._memory.path),
                signature=self._signature,
                memory_bytes=self._limits.memory_bytes,
            ),
            self._limits.start_seconds,
        )
        self._memory.path.unlink()
        self._reweigh()
        without = [self._window(PLAIN, empty=True, stopped=True) for _ in range(OVERHEADS)]
        self._empty = [self._window(PLAIN, empty=True) for _ in range(OVERHEADS)]
        self._worker.ask(LoadKernel())
        kinds = (*self._draws.kinds, *self._draws.special_kinds)
        for kind in kinds * -(-TRIES // len(kinds)):
            self._reweigh()
            self._worker.ask(Prepare())
            self._renew(kind)
            self._worker.ask(Try())
            self._keep()
            self._check()
        self._reweigh()
        self._worker.ask(Prepare())
        timed = self._windows()
        calls = sum(window.calls for windows in timed for window in windows)
        missing = begun.missing if isinstance(begun, Begun) else ()
        less = overhead(without, self._empty)
        times = max((samples_us(windows, less) for windows in timed), key=median)
        if not all(times):
            raise RefusedError("it takes no longer than a call that does nothing")
        return TimedKernel(tuple(times), calls, {}, missing)

    def _windows(self) -> list[list[TimedWindow]]:
        """All that count, by the kind of inputs: the usual one and that of all widths. Whichever
        takes longer is the time, so that nobody wins who is right at the one and fast at the other.
        """
        kinds = self._draws.kinds
        ends = dict.fromkeys((kinds[0], kinds[-1]))
        for _ in range(WARM_UP):
            self._window(kinds[0])
        timed: dict[InputKind, list[TimedWindow]] = {kind: [] for kind in ends}
        spent_us = 0.0
        while len(timed[kinds[-1]]) < (FEW_WINDOWS if spent_us > MOST_US else WINDOWS):
            if secrets.randbelow(2):
                self._window(secrets.choice(kinds), _early_s())
                continue
            for kind, windows in timed.items():
                windows.append(self._window(kind))
                spent_us += windows[-1].passed_us / len(timed)
            if not len(windows) % TURNS:
                self._empty.append(self._window(kinds[0], empty=True))
        return list(timed.values())

    def _window(
        self,
        kind: InputKind,
        length_s: float | None = None,
        *,
        empty: bool = False,
        stopped: bool = False,
    ) -> TimedWindow:
        """A window of one call or more; of none if it is `stopped`. All is right after it."""
        if length_s is None:
            length_s = 0.0 if stopped else WINDOW_S * (0.5 + secrets.randbelow(1000) / 1000)
        self._renew(kind)
        arranged = Arrange(secrets.randbits(60), empty)
        self._worker.ask(arranged)
        window = self._timed(length_s, stopped=stopped)
        pools = [
            None if operand.fixed else pool
            for operand, pool in zip(self._signature.changing, self._pools, strict=True)
        ]
        Disturbance(self._inputs, pools, arranged.seed).skip(1 + window.calls)
        if not empty:
            self._check()
        return window

    def _timed(self, length_s: float, *, stopped: bool) -> TimedWindow:
        self._memory.stop[0], self._memory.begun[0] = int(stopped), int(stopped)
        worker, message = self._worker, encoder.encode(Run())
        with worker.answering() as deadline:
            waited_s, cpu_s = longest_wait_s(worker.pid), worker.cpu_s()
            begun_s = time.perf_counter()
            frames.send(worker.socket, message, deadline)
            if length_s >= SPUN_S:
                time.sleep(length_s)
            while time.perf_counter() < begun_s + length_s:
                pass
            while not self._memory.begun[0] and worker.is_waited_for(deadline):
                time.sleep(length_s)
            ended = bool(self._memory.stop[0]) and not stopped
            self._memory.stop[0] = 1
            answer = frames.receive(worker.socket, MOST_BYTES, deadline)
            passed_s = time.perf_counter() - begun_s
            worked_s = worker.cpu_s() - cpu_s
            waited_s = longest_wait_s(worker.pid) - waited_s
            self._keep()
            reply = decoded(answer, replies)
        accepted(reply)
        if ended:
            raise RefusedError("it ended a window itself")
        match reply:
            case CallsMade(calls):
                if not stopped and not 0 < calls < MOST_CALLS * passed_s:
                    raise RefusedError(f"it claims {calls:,} calls in {passed_s:.2g} seconds")
                return TimedWindow(passed_s * 1e6, worked_s * 1e6, waited_s * 1e6, calls)
        raise RefusedError(NOT_ASKED)

    def _reweigh(self) -> None:
        """Draws other weights."""
        self._weights = self._draws.weights()
        self._draws.use(self._weights)
        for array, value in zip(self._shared(constant=True), self._weights, strict=True):
            array[...] = value

    def _renew(self, kind: InputKind) -> None:
        """Draws other inputs, and what they are changed with. Outputs hold no numbers then."""
        self._pools = self._draws.pools(kind)
        operands = self._signature.changing
        self._inputs = [
            np.resize(pool, operand.shape)
            for operand, pool in zip(operands, self._pools, strict=True)
        ]
        for array, value in zip(self._shared(constant=False), self._inputs, strict=True):
            array[...] = value
        for shared, pool in zip(self._memory.pools, self._pools, strict=True):
            if shared is not None:
                shared[...] = pool
        for output in (*self._memory.outputs, *self._memory.copies):
            poison(output)

    def _keep(self) -> None:
        """Takes the outputs to where no thread of the worker can write them later."""
        self._kept = [copy.copy() for copy in self._memory.copies]

    def _check(self) -> None:
        """Raises `RefusedError` unless the last call left right results, and its inputs alone."""
        for constant, values in ((False, self._inputs), (True, self._weights)):
            read = [each for each in self._signature.inputs if each.constant == constant]
            if reason := why_written(read, values, self._shared(constant=constant)):
                raise RefusedError(reason)
        operands = self._signature.outputs
        expected = self._draws.expected(self._inputs)
        if reason := why_wrong(operands, self._kept, expected, self._precision):
            time.sleep(LATE_S)
            if not why_wrong(operands, self._memory.outputs, expected, self._precision):
                reason = "it returned before its work was done"
            raise RefusedError(reason)

    def _shared(self, *, constant: bool) -> list[Array]:
        pairs = zip(self._signature.inputs, self._memory.inputs, strict=True)
        return [array for operand, array in pairs if operand.constant == constant]


def _early_s() -> float:
    """When a window ends that isn't timed: any time before a timed one may, the first ones more
    often.
    """
    return 0.5 * WINDOW_S * (secrets.randbelow(1000) / 1000) ** 3
