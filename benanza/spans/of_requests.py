"""Evaluations that agents were asked for, each as one trace from its request to its results."""

from collections.abc import Iterator

from benanza.render.units import plural
from benanza.spans.records import Written, written
from benanza.spans.trace import SpanTrace, TraceSpan, span_id, within
from benanza_backbone.event_log.event_log import EventLog
from benanza_schemas.events import EvaluationRequested, EvaluationTaken, ModelEvaluated
from benanza_schemas.topics import EVALUATED, EVALUATIONS


def on_system(evaluation_id: str, system_id: str) -> str:
    """The id of the span of an evaluation on a system. What the agent's process exports of it is
    within that.
    """
    return span_id(evaluation_id, "evaluation", system_id)


def request_traces(log: EventLog, named: str) -> Iterator[SpanTrace]:
    """A trace for the request of this id, or each request of a model of this name, id or SHA-256.
    Its id is the request's, and it stands on that of the model's bounds. Raises `BenanzaError` if
    the log can't be read.
    """
    requests = written(log, EVALUATIONS, EvaluationRequested)
    asked = {
        identity: request
        for identity, request in requests.items()
        if named
        in (
            identity,
            request.event.published.name,
            request.event.published.sha256,
            request.event.model_id,
        )
    }
    taken = written(log, EVALUATED, EvaluationTaken, asked)
    results = written(log, EVALUATED, ModelEvaluated, asked)
    for identity, request in asked.items():
        yield _trace(
            request,
            [each for each in taken.values() if each.event.evaluation_id == identity],
            [each for each in results.values() if each.event.evaluation_id == identity],
        )


def _trace(
    request: Written[EvaluationRequested],
    taken: list[Written[EvaluationTaken]],
    results: list[Written[ModelEvaluated]],
) -> SpanTrace:
    event = request.event
    root = TraceSpan(
        span_id(event.event_id),
        "",
        f"evaluate on {plural(len(event.systems), 'system')}: {event.published.name}",
        request.at_ns,
        max([request.at_ns, *(result.at_ns for result in results)]),
        "evaluations",
        {"benanza.scenario": event.scenario, "benanza.precision": event.precision},
    )
    spans = [root]
    for result in results:
        system_id = result.event.system.system_id
        begun = [
            each.at_ns
            for each in taken
            if (each.event.system_id, each.event.agent_id) == (system_id, result.event.agent_id)
            and each.at_ns <= result.at_ns
        ]
        span = TraceSpan(
            on_system(event.event_id, system_id),
            root.span_id,
            f"agent {result.event.agent}, {result.event.system.runtime}",
            max(begun, default=result.at_ns),
            result.at_ns,
            root.track,
            {"benanza.system_id": system_id},
            result.event.failure,
        )
        spans.append(within(span, root))
    return SpanTrace(event.event_id, tuple(spans), links=(event.model_id,))
