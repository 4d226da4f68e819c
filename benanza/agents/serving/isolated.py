"""Evaluations in processes of their own, which may crash, hang or run out of memory."""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

from benanza.agents.core import EvaluationOutcome
from benanza.agents.serving.messages import (
    MOST_BYTES,
    Answered,
    Asked,
    DescribeFrameworks,
    EvaluateModel,
    ExportTrace,
    FrameworksDescribed,
    ModelWasEvaluated,
    TraceExported,
    answered,
    encoder,
)
from benanza.spans.exporting import is_on
from benanza_backbone.errors import BenanzaError
from benanza_backbone.worker.process import WorkerError, WorkerProcess
from benanza_ingest.limits import Limits
from benanza_runner.isolation.device_turn import LONGEST_TURN_S
from benanza_runner.isolation.isolated_runtime import SECRET
from benanza_runner.reasons import short_reason
from benanza_schemas.events import EvaluationRequested

log = logging.getLogger(__name__)

WORKER_MODULE = "benanza.agents.serving.worker"

DESCRIBE_S = 120.0
"""Frameworks take so many seconds at most to say their versions: they are imported for it."""

Evaluate = Callable[[EvaluationRequested, Path, Limits, Sequence[int]], EvaluationOutcome]
"""The type of `evaluate_apart`."""


def evaluate_apart(
    requested: EvaluationRequested,
    path: Path,
    limits: Limits,
    files: Sequence[int],
    module: str = WORKER_MODULE,
) -> EvaluationOutcome:
    """Evaluates the model in this file in a process that inherits these file descriptors.

    However the process ends, that is an outcome, also where it can't be started. It runs `module`,
    which answers as `worker` does. Where OpenTelemetry's variables ask for it, the process exports
    the trace after that, and whatever goes wrong then is a warning.
    """
    request = EvaluateModel(
        requested, str(path), limits.model_bytes, limits.nodes, limits.tensor_elements
    )
    until = monotonic() + LONGEST_TURN_S
    try:
        with _started(files, module) as worker:
            answer = _asked(worker, request, LONGEST_TURN_S)
            if is_on(os.environ):
                _export(worker, max(0.0, until - monotonic()))
    except WorkerError as error:
        return EvaluationOutcome(failure=_ending(error, "the evaluation's process"))
    if not isinstance(answer, ModelWasEvaluated):
        return EvaluationOutcome(failure=f"the process answered with a {type(answer).__name__}")
    return EvaluationOutcome(answer.figures, answer.report, answer.failure)


def described_apart(frameworks: Sequence[str]) -> FrameworksDescribed:
    """The systems of these frameworks, or of all that are installed.

    Raises `BenanzaError` if they can't be asked.
    """
    try:
        with _started() as worker:
            answer = _asked(worker, DescribeFrameworks(tuple(frameworks)), DESCRIBE_S)
    except WorkerError as error:
        raise BenanzaError(f"the frameworks here can't be described: {_ending(error)}") from error
    assert isinstance(answer, FrameworksDescribed)
    return answer


def _export(worker: WorkerProcess, seconds: float) -> None:
    try:
        answer = _asked(worker, ExportTrace(), seconds)
    except WorkerError as error:
        why = _ending(error)
    else:
        why = answer.failure if isinstance(answer, TraceExported) else type(answer).__name__
    if why:
        log.warning("the trace of an evaluation was not exported: %s", why)


def _started(files: Sequence[int] = (), module: str = WORKER_MODULE) -> WorkerProcess:
    """Raises `WorkerError` where the machine has no place for another process."""
    # What reads models that others name needs none of the agent's passwords.
    told = {name: value for name, value in os.environ.items() if not name.startswith(SECRET)}
    try:
        return WorkerProcess(module, told, files=files)
    except OSError as error:
        raise WorkerError(
            f"can't be started: {error.strerror or error}; end other programs on the agent's "
            "machine, or raise its limits"
        ) from error


def _asked(worker: WorkerProcess, request: Asked, seconds: float) -> Answered:
    return worker.ask(encoder.encode(request), answered, seconds, MOST_BYTES)


def _ending(error: WorkerError, process: str = "the process") -> str:
    """What became of a process, as a sentence about it, with its last words."""
    ending = f"{process} {str(error).removeprefix('the process ')}"
    return f"{ending}: {short_reason(error.words)}" if error.words else ending
