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
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

from benanza_backbone.worker.process import WorkerProcess
from benanza_runner.machine_load import machine_load
from benanza_runner.measuring.busy import Load as MachineLoad
from benanza_runner.measuring.busy import (
    as_environment,
    busy_between,
    doubts_as_environment,
)
from benanza_runner.monitoring.gpu_state import gpu_state
from benanza_runner.submitted.asked_worker import AskedWorker
from benanza_runner.submitted.device import ON_CPU, KernelDevice
from benanza_runner.submitted.draws import PLAIN, Draws, InputKind
from benanza_runner.submitted.memory import SharedMemory, shared_memory
from benanza_runner.submitted.messages import Begin, Begun, FetchArrays, LoadKernel, Prepare, Try
from benanza_runner.submitted.operands import KernelOperands
from benanza_runner.submitted.outcome import KernelLimits, RefusedError, TimedKernel
from benanza_runner.submitted.signature import Signature
from benanza_runner.submitted.timing import WindowTimer
from benanza_runner.submitted.windows import (
    TimedWindow,
    overhead,
    samples_us,
    threads_at_once,
)
from benanza_schemas.layer import Layer, Precision

TRIES = 2
"""At least so many calls are only looked at, with other weights than those of the timed ones."""

WARM_UP, FEW_WINDOWS = 3, 10
"""Of each kind of inputs that is timed."""

MOST_US = 1_000_000.0
"""There are fewer windows if they take so long together."""

OVERHEADS = 8
"""Windows without calls, and with calls that do nothing, before the kernel is loaded."""

MORE_THREADS = 0.3
"""Clocks of the time that passes and of that of processors may differ by so many threads."""

TURNS = 6
"""After so many timed windows comes another with calls that do nothing: the machine may have become
faster since the first ones.
"""


def judged(
    layer: Layer,
    signature: Signature,
    precision: Precision,
    kernel: Path,
    threads: int,
    device: KernelDevice = ON_CPU,
    limits: KernelLimits | None = None,
) -> TimedKernel:
    """The times of a kernel whose results are right each time.

    `kernel` is a module of Python or a shared library, `signature` that of the layer at the
    precision. `limits` are those of the device unless others are given. Raises `RefusedError`, and
    whatever ONNX Runtime raises that computes the results.
    """
    limits = limits or device.limits
    # Nobody can guess what is drawn from so many bits.
    draws = Draws(layer, signature, precision, np.random.default_rng(secrets.randbits(128)))
    try:
        memory = shared_memory(signature)
    except OSError as error:
        raise RefusedError(f"there is no memory for what it reads: {error.strerror}") from error
    operands = KernelOperands(draws, signature, precision, memory)
    before = _load()
    try:
        with tempfile.TemporaryDirectory(prefix="benanza-") as folder:
            begin = Begin(
                kernel=str(kernel.absolute()),
                memory=str(memory.path),
                folder=folder,
                signature=signature,
                memory_bytes=limits.memory_bytes,
            )
            environment = device.environment(threads, Path(folder))
            with WorkerProcess(device.worker, environment) as worker:
                asked = AskedWorker(worker, limits)
                referee = _Referee(draws, operands, memory, asked, limits, device)
                timed = referee.judge(begin, threads)
                if device.is_asynchronous:
                    return timed._replace(environment=_seen_on_gpu())
    finally:
        memory.path.unlink(missing_ok=True)
    busy = busy_between(before, _load())
    return timed._replace(environment=as_environment(busy, busy.by))


def _seen_on_gpu() -> dict[str, str]:
    """Which GPU it was, and what slows it down, as it has just worked."""
    state = gpu_state()
    reasons = (state and state.slowed_by) or ()
    doubts = doubts_as_environment(reasons, stable=not reasons)
    return {"gpu": state.uuid, **doubts} if state else doubts


def _load() -> MachineLoad:
    """How busy the machine is; processes that have ended count as this one."""
    load, ended = machine_load(), resource.getrusage(resource.RUSAGE_CHILDREN)
    return load._replace(own_s=load.own_s + ended.ru_utime + ended.ru_stime)


class _Referee:
    def __init__(
        self,
        draws: Draws,
        operands: KernelOperands,
        memory: SharedMemory,
        worker: AskedWorker,
        limits: KernelLimits,
        device: KernelDevice,
    ) -> None:
        self._draws = draws
        self._operands = operands
        self._memory = memory
        self._worker = worker
        self._limits = limits
        self._device = device
        self._timer = WindowTimer(operands, memory, worker, device)
        self._empty: list[TimedWindow] = []
        """Windows with calls that do nothing."""

    def judge(self, begin: Begin, threads: int) -> TimedKernel:
        """Checks and times it on so many threads, without what is seen around that. Raises
        `RefusedError`.
        """
        begun = self._worker.ask(begin, self._limits.start_seconds)
        self._memory.path.unlink()
        self._operands.reweigh()
        window = self._timer.window
        without = [window(PLAIN, empty=True, stopped=True) for _ in range(OVERHEADS)]
        self._empty = [window(PLAIN, empty=True) for _ in range(OVERHEADS)]
        compiles = self._limits.start_seconds if self._device.is_asynchronous else None
        self._worker.ask(LoadKernel(), compiles)
        kinds = (*self._draws.kinds, *self._draws.special_kinds)
        for kind in kinds * -(-TRIES // len(kinds)):
            self._operands.reweigh()
            self._worker.ask(Prepare())
            self._operands.renew(kind)
            self._worker.ask(Try())
            self._worker.ask(FetchArrays())
            self._operands.keep()
            self._operands.check()
        self._operands.reweigh()
        self._worker.ask(Prepare())
        timed = self._windows()
        used = max(map(threads_at_once, timed))
        if used > threads + MORE_THREADS:
            raise RefusedError(f"it works on {used:.1f} threads at once, where it has {threads}")
        calls = sum(window.calls for windows in timed for window in windows)
        missing = begun.missing if isinstance(begun, Begun) else ()
        less = overhead(without, self._empty)
        found = [samples_us(windows, less) for windows in timed]
        if self._device.is_asynchronous:
            steady = [window(kinds[0], steady=True) for _ in range(self._device.windows)]
            found.append(samples_us(steady, less._replace(call_us=0.0)))
        times = max(found, key=median)
        if not all(times):
            raise RefusedError("it takes no longer than a call that does nothing")
        return TimedKernel(tuple(times), calls, {}, missing)

    def _windows(self) -> list[list[TimedWindow]]:
        """All that count, by the kind of inputs: the usual one and that of all widths. Whichever
        takes longer is the time, so that nobody wins who is right at the one and fast at the other.
        """
        kinds, window = self._draws.kinds, self._timer.window
        ends = dict.fromkeys((kinds[0], kinds[-1]))
        for _ in range(WARM_UP):
            window(kinds[0])
        timed: dict[InputKind, list[TimedWindow]] = {kind: [] for kind in ends}
        spent_us = 0.0
        while len(timed[kinds[-1]]) < (FEW_WINDOWS if spent_us > MOST_US else self._device.windows):
            if secrets.randbelow(2):
                window(secrets.choice(kinds), early=True)
                continue
            for kind, windows in timed.items():
                windows.append(window(kind))
                spent_us += windows[-1].passed_us / len(timed)
            if not len(windows) % TURNS:
                self._empty.append(window(kinds[0], empty=True))
        return list(timed.values())
