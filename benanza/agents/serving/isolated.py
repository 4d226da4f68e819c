"""Evaluations in processes of their own, which may crash, hang or run out of memory."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from benanza.agents.core import EvaluationOutcome
from benanza.agents.serving.messages import (
    MOST_BYTES,
    Answered,
    Asked,
    DescribeFrameworks,
    EvaluateModel,
    FrameworksDescribed,
    ModelWasEvaluated,
    answered,
    encoder,
)
from benanza_backbone.errors import BenanzaError
from benanza_backbone.worker.process import WorkerError, WorkerProcess
from benanza_ingest.limits import Limits
from benanza_runner.isolation.device_turn import LONGEST_TURN_S
from benanza_runner.isolation.isolated_runtime import SECRET
from benanza_runner.reasons import short_reason
from benanza_schemas.events import EvaluationRequested

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

    However the process ends, that is an outcome. It runs `module`, which answers as `worker` does.
    """
    request = EvaluateModel(
        requested, str(path), limits.model_bytes, limits.nodes, limits.tensor_elements
    )
    try:
        answer = _asked(request, LONGEST_TURN_S, files, module)
    except WorkerError as error:
        return EvaluationOutcome(failure=_ending(error))
    if not isinstance(answer, ModelWasEvaluated):
        return EvaluationOutcome(failure=f"the process answered with a {type(answer).__name__}")
    return EvaluationOutcome(answer.figures, answer.report, answer.failure)


def described_apart(frameworks: Sequence[str]) -> FrameworksDescribed:
    """The systems of these frameworks, or of all that are installed.

    Raises `BenanzaError` if they can't be asked.
    """
    try:
        answer = _asked(DescribeFrameworks(tuple(frameworks)), DESCRIBE_S)
    except WorkerError as error:
        raise BenanzaError(f"the frameworks here can't be described: {_ending(error)}") from error
    assert isinstance(answer, FrameworksDescribed)
    return answer


def _asked(
    request: Asked, seconds: float, files: Sequence[int] = (), module: str = WORKER_MODULE
) -> Answered:
    # What reads models that others name needs none of the agent's passwords.
    told = {name: value for name, value in os.environ.items() if not name.startswith(SECRET)}
    with WorkerProcess(module, told, files=files) as worker:
        return worker.ask(encoder.encode(request), answered, seconds, MOST_BYTES)


def _ending(error: WorkerError) -> str:
    return f"{error}: {short_reason(error.words)}" if error.words else f"the evaluation {error}"
