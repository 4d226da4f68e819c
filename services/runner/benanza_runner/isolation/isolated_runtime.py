"""A runtime in a process of its own, which may crash, hang or run out of memory."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import NamedTuple, Self, TypeVar

import msgspec

from benanza_backbone.errors import BenanzaError
from benanza_backbone.worker.process import WorkerError, WorkerProcess
from benanza_runner.isolation.device_turn import DeviceTakenError, DeviceTurn
from benanza_runner.isolation.memory import PROCESS_BYTES, SHARE, free_bytes, needed_bytes
from benanza_runner.isolation.messages import (
    MOST_REPLY_BYTES,
    CeilingsMeasured,
    Described,
    Failed,
    Measure,
    MeasureCeilings,
    Measured,
    ModelRun,
    Reply,
    Request,
    RunModel,
    Start,
    encoder,
    replies,
)
from benanza_runner.measuring.busy import OVERHEAD, doubts_as_environment, doubts_in
from benanza_runner.reasons import short_reason
from benanza_runner.runtime import Outcome, RunResult, Runtime
from benanza_schemas.events import Ceiling, System
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.one_line import one_line
from benanza_schemas.program import Program

GIGABYTE = 1e9
MOST_SLOW = 3
"""After so many slow answers in a row the machine is at fault, as new workers are slow, too."""

TRIED_EVERY = 20
"""From then on a new worker is only tried at one in so many slow answers."""

WORKER_MODULE = "benanza_runner.isolation.worker"

SECRET = ("BENANZA_", "AWS_")
"""How variables of the environment begin that may hold passwords, and that no runtime reads."""

ATTEMPTS = "attempts"
"""Where an outcome's environment says how many workers were tried: several, if some were lost."""

AnyResult = TypeVar("AnyResult", Outcome, RunResult)


class RuntimeStartError(BenanzaError):
    """A runtime that can't be used on this machine."""


class WorkerLimits(NamedTuple):
    """How many seconds each request may take. A layer is tried `tries` times in all."""

    start_seconds: float = 60.0
    layer_seconds: float = 60.0
    ceilings_seconds: float = 300.0
    witness_seconds: float = 600.0
    tries: int = 2


class IsolatedRuntime(Runtime):
    """Runs the runtime that `MODULE:CLASS` names in a worker process.

    Another worker takes the place of one that ended, and of one in which everything takes longer
    than when it started. Memory is limited to `memory_bytes`, by default to a share of what is
    free. It asks the worker in `turn`, if given: the time limits begin then. Close it, or use it
    in a `with` statement. Raises `RuntimeStartError` where the runtime can't be made.
    """

    def __init__(
        self,
        runtime: str,
        arguments: Mapping[str, str | int | float | bool] | None = None,
        limits: WorkerLimits | None = None,
        memory_bytes: int | None = None,
        turn: DeviceTurn | None = None,
    ) -> None:
        self._turn = turn
        self._memory_bytes = memory_bytes or int(free_bytes() * SHARE)
        self._start_message = Start(runtime, dict(arguments or {}), self._memory_bytes)
        self._limits = limits or WorkerLimits()
        self._worker: WorkerProcess | None = None
        self._renewals = 0
        self._described: Described | None = None
        self._slow_answers = 0
        self._stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the worker process. The next call would start another."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def stop(self) -> None:
        """Ends the worker process while another thread may wait for it.

        That thread, and whoever asks anything after it, gets a `RuntimeStartError`. To be closed
        once no thread waits.
        """
        self._stopped = True
        if self._turn is not None:
            self._turn.stop()
        if self._worker is not None:
            self._worker.kill()

    def system(self) -> System:
        """The runtime's system. Raises `RuntimeStartError`."""
        return self._description().system

    def cache_bytes(self) -> int:
        """The runtime's cache, in bytes. Raises `RuntimeStartError`."""
        return self._description().cache_bytes

    def _description(self) -> Described:
        with self._in_turn():
            self._started()
        if self._described is None:
            raise AssertionError("a started worker has described its system")
        return self._described

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        """What the runtime says of the layer, or how the worker ended.

        A layer that needs more memory than the worker has is not tried. Raises
        `RuntimeStartError`.
        """
        too_large = self._too_large(layer, precision)
        if too_large is not None:
            return Outcome(failure=too_large)
        outcome = self._unslowed(lambda: self._measured(layer, precision))
        return _said_slow(outcome) if outcome.slowed else outcome

    def _unslowed(self, ask: Callable[[], AnyResult]) -> AnyResult:
        """The answer of a worker that isn't slow, if a new worker helps; else the slow answer."""
        answer = ask()
        tried = self._slow_answers < MOST_SLOW or self._slow_answers % TRIED_EVERY == 0
        if answer.slowed and tried:
            self.close()
            answer = self._better(answer, ask)
        self._slow_answers = self._slow_answers + 1 if answer.slowed else 0
        return answer

    def _better(self, answer: AnyResult, ask: Callable[[], AnyResult]) -> AnyResult:
        try:
            again = ask()
        except RuntimeStartError:
            return answer
        return answer if again.failure and not answer.failure else again

    def _measured(self, layer: Layer, precision: Precision) -> Outcome:
        failures: list[str] = []
        while len(failures) < self._limits.tries:
            try:
                reply = self._ask(Measure(layer, precision), self._limits.layer_seconds)
            except WorkerError as error:
                failures.append(_ending(error))
                continue
            if not isinstance(reply, Measured):
                return Outcome(failure=_unexpected(reply))
            attempts = {ATTEMPTS: str(len(failures) + 1)}
            environment = reply.outcome.environment | attempts
            return msgspec.structs.replace(reply.outcome, environment=environment)
        reason = (
            f"gave no result in {self._limits.tries} tries: {'; '.join(dict.fromkeys(failures))}"
        )
        return Outcome(failure=reason, environment={ATTEMPTS: str(len(failures))})

    def ceilings(self, precision: Precision) -> tuple[Ceiling, ...]:
        """The runtime's ceilings. Raises `RuntimeStartError` if the worker ends meanwhile."""
        try:
            reply = self._ask(MeasureCeilings(precision), self._limits.ceilings_seconds)
        except WorkerError as error:
            raise RuntimeStartError(
                f"the system's ceilings can't be measured: {_ending(error)}"
            ) from error
        if isinstance(reply, CeilingsMeasured):
            return reply.ceilings
        raise _without_ceilings(_unexpected(reply))

    def witness(self, program: Program, precision: Precision) -> RunResult:
        """What the runtime says of the model, or how the worker ended.

        Raises `RuntimeStartError`.
        """
        return self._unslowed(lambda: self._witnessed(program, precision))

    def _witnessed(self, program: Program, precision: Precision) -> RunResult:
        try:
            reply = self._ask(RunModel(program, precision), self._limits.witness_seconds)
        except WorkerError as error:
            return RunResult(failure=_ending(error))
        if isinstance(reply, ModelRun):
            return reply.run_result
        return RunResult(failure=_unexpected(reply))

    def _too_large(self, layer: Layer, precision: Precision) -> str | None:
        needed = needed_bytes(layer, precision) + PROCESS_BYTES
        if needed <= self._memory_bytes:
            return None
        return (
            f"needs about {needed / GIGABYTE:.1f} GB of memory, and a benchmark may take "
            f"{self._memory_bytes / GIGABYTE:.1f} GB on this machine"
        )

    def _ask(self, request: Request, seconds: float) -> Reply:
        with self._in_turn():
            worker = self._started()
            try:
                return _answer(worker, request, seconds)
            except WorkerError:
                self._worker = None
                self._unless_stopped()
                raise

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        try:
            with self._turn or nullcontext():
                yield
        except DeviceTakenError as error:
            raise RuntimeStartError(f"{self._start_message.runtime} was stopped") from error

    def _unless_stopped(self) -> None:
        if self._stopped:
            raise RuntimeStartError(f"{self._start_message.runtime} was stopped")

    def _started(self) -> WorkerProcess:
        self._unless_stopped()
        renewals = self._turn.renewals if self._turn else 0
        if renewals != self._renewals:
            self.close()  # If this process is killed, the worker would keep nobody from the device.
        self._renewals = renewals
        if self._worker is None:
            worker = self._worker = WorkerProcess(
                WORKER_MODULE, _environment(), files=self._turn.files if self._turn else ()
            )
            if self._stopped:  # Meanwhile, so that this one wasn't ended.
                worker.kill()
            try:
                reply = _answer(worker, self._start_message, self._limits.start_seconds)
            except WorkerError as error:
                self._worker = None
                self._unless_stopped()
                raise RuntimeStartError(
                    f"{self._start_message.runtime}: {_ending(error)}"
                ) from error
            if not isinstance(reply, Described):
                self.close()
                raise RuntimeStartError(f"{self._start_message.runtime}: {_unexpected(reply)}")
            self._described = reply
        return self._worker


def _environment() -> dict[str, str]:
    """What a worker's libraries may have been told."""
    told = {name: value for name, value in os.environ.items() if not name.startswith(SECRET)}
    # As the driver's library counts GPUs, which says what they are called.
    return told | {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def _answer(worker: WorkerProcess, request: Request, seconds: float) -> Reply:
    return worker.ask(encoder.encode(request), replies, seconds, MOST_REPLY_BYTES)


def _ending(error: WorkerError) -> str:
    """What became of a worker, with its last words."""
    return f"{error}: {short_reason(error.words)}" if error.words else str(error)


def _without_ceilings(why: str) -> RuntimeStartError:
    return RuntimeStartError(f"the system's ceilings can't be measured: {why}")


def _unexpected(reply: Reply) -> str:
    if isinstance(reply, Failed):
        return one_line(short_reason(reply.reason))
    return f"answered with a {type(reply).__name__}"


def _said_slow(outcome: Outcome) -> Outcome:
    """The outcome of a process that is slow, as another would be: its times are doubtful."""
    reasons = [*doubts_in(outcome.environment), OVERHEAD]
    environment = outcome.environment | doubts_as_environment(reasons, stable=False)
    return msgspec.structs.replace(outcome, environment=environment)
