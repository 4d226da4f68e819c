"""The process in which a model is evaluated, so that one that fails takes nothing else along.

It is started as `python -m benanza.agents.serving.worker FD`. FD is the file descriptor of a
socket to the agent. Standard input is a pipe that closes when the agent ends, however it ends.
"""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, NamedTuple

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
    asked,
    encoder,
)
from benanza.profiling.framework import ENTRY_POINTS, framework_named
from benanza.spans.exporting import export_asked
from benanza.spans.of_requests import on_system
from benanza.spans.trace import span_id
from benanza_backbone.errors import BenanzaError
from benanza_backbone.worker import frames
from benanza_backbone.worker.inside import end_with_the_parent
from benanza_ingest.limits import Limits
from benanza_runner.reasons import short_reason
from benanza_schemas.events import MAX_REASON_LENGTH, EvaluationRequested, System

if TYPE_CHECKING:
    from benanza.evaluating.evaluate import EvaluationRun


class InFile(NamedTuple):
    """What came of the evaluation of a model's file, and the run, if there was one."""

    outcome: EvaluationOutcome
    run: "EvaluationRun | None" = None


def main(agent: int) -> None:
    """Answers requests over this file descriptor until the other side closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the agent to act on.
    end_with_the_parent()
    worker = EvaluationWorker()
    while True:
        try:
            request = asked.decode(frames.receive(agent, MOST_BYTES))
        except EOFError:
            return
        frames.send(agent, encoder.encode(worker.answer(request)))


class EvaluationWorker:
    """Answers requests, and keeps the last evaluation for its trace."""

    def __init__(self) -> None:
        self._exports: Callable[[], str] = lambda: "nothing was evaluated before"

    def answer(self, request: Asked) -> Answered:
        match request:
            case DescribeFrameworks():
                return _described(request.frameworks)
            case EvaluateModel():
                (figures, report, failure), run = evaluated_in_file(request)
                if run is not None:
                    self._exports = partial(why_not_exported, request.requested, run)
                return ModelWasEvaluated(dict(figures), report, failure[:MAX_REASON_LENGTH])
            case ExportTrace():
                return TraceExported(self._exports()[:MAX_REASON_LENGTH])


def _described(frameworks: tuple[str, ...]) -> FrameworksDescribed:
    try:
        import benanza.evaluating.evaluate  # noqa: F401  # what it needs may not be there
    except ImportError as error:
        reason = f"LoadGen can't be loaded: {error}; say: pip install 'benanza[evaluate]'"
        return FrameworksDescribed((), {"LoadGen": reason})
    names = frameworks or sorted({entry.name for entry in entry_points(group=ENTRY_POINTS)})
    systems: list[System] = []
    failures: dict[str, str] = {}
    for name in names:
        try:
            systems.append(framework_named(name).system())
        except BenanzaError as error:
            failures[name] = str(error)
    return FrameworksDescribed(tuple(systems), failures)


def evaluated_in_file(request: EvaluateModel) -> InFile:
    """What comes of it; whatever goes wrong is an outcome."""
    limits = Limits(request.model_bytes, request.nodes, request.tensor_elements)
    try:
        # Slow to import, and a description does without.
        from benanza.agents.options import request_of
        from benanza.agents.serving.outcome import outcome_of
        from benanza.evaluating.evaluate import evaluation_run

        run = evaluation_run(request_of(request.requested, request.path), None, limits)
        return InFile(outcome_of(run.evaluation), run)
    except BenanzaError as error:
        return InFile(EvaluationOutcome(failure=str(error)))
    except MemoryError:
        return InFile(EvaluationOutcome(failure="there is not enough memory for it"))
    except Exception as error:  # noqa: BLE001  # a defect in one model must not cost the others
        return InFile(EvaluationOutcome(failure=short_reason(f"{type(error).__name__}: {error}")))


def why_not_exported(requested: EvaluationRequested, run: "EvaluationRun") -> str:
    """Exports the evaluation within the trace of its request; empty if that could be done."""
    try:
        from benanza.spans.of_evaluation import SpanPlace, evaluation_trace

        around = on_system(requested.event_id, run.evaluation.system.system_id)
        place = SpanPlace(span_id(around, run.evaluation.evaluated_at.isoformat()), around)
        export_asked(evaluation_trace(run, requested.event_id, place), os.environ)
    except BenanzaError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001  # the evaluation stands, whatever becomes of its trace
        return short_reason(f"{type(error).__name__}: {error}")
    return ""


if __name__ == "__main__":
    main(int(sys.argv[1]))
