"""An evaluation as the event that keeps it, which is that of agents without one."""

from benanza.agents.options import options_of
from benanza.agents.serving.outcome import outcome_of
from benanza.evaluating.results import Evaluation
from benanza_schemas.events import ModelEvaluated, event_id
from benanza_schemas.limits import MAX_REASON_LENGTH

NO_AGENT = "0" * 32


def stored(evaluation: Evaluation) -> ModelEvaluated:
    """The event. Nobody asked an agent for it, so its `evaluation_id` is no request's."""
    request, system_id = evaluation.request, evaluation.system.system_id
    causes = (request.scenario, request.precision, evaluation.evaluated_at.isoformat())
    evaluation_id = event_id("Evaluation", evaluation.model_id, system_id, *causes)
    outcome = outcome_of(evaluation)
    return ModelEvaluated(
        event_id=event_id("ModelEvaluated", evaluation_id, system_id),
        evaluation_id=evaluation_id,
        model_id=evaluation.model_id,
        name=evaluation.name,
        system=evaluation.system,
        agent_id=NO_AGENT,
        agent="",
        scenario=request.scenario,
        precision=request.precision,
        evaluated_at=evaluation.evaluated_at,
        options=options_of(request),
        figures=dict(outcome.figures),
        report=outcome.report,
        failure=outcome.failure[:MAX_REASON_LENGTH],
    )
