"""`benanza evaluate`: models under load, stored, and beside their bounds."""

from collections.abc import Callable

from benanza.agents.options import options_of
from benanza.agents.serving.outcome import outcome_of
from benanza.evaluating.beside import beside
from benanza.evaluating.request import EvaluationRequest, check_request
from benanza.evaluating.results import EvaluatedModel, Evaluation
from benanza.evaluating.samples import SampleSource
from benanza.installation.configured import configured_log, known_store
from benanza.spans.trace import SpanTrace
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.events import ModelEvaluated, event_id
from benanza_schemas.limits import MAX_REASON_LENGTH

NO_AGENT = "0" * 32


Tell = Callable[[SpanTrace], None]
"""Takes the trace of an evaluation."""


def evaluate(
    request: EvaluationRequest,
    settings: Settings,
    source: SampleSource | None = None,
    tell: Tell | None = None,
) -> EvaluatedModel:
    """Runs the model under the scenario, appends what comes of it to the log, and sets that beside
    its bound where one is known. With `tell`, then looks into a few requests, and gives it the
    trace of all. Raises `BenanzaError` as `evaluated` does, for a request out of its ranges,
    without LoadGen, and if the log or the store can't be used.
    """
    try:
        from benanza.evaluating.evaluate import evaluation_run
        from benanza.spans.of_evaluation import evaluation_trace
    except ImportError as error:
        raise BenanzaError(
            f"LoadGen can't be loaded: {error}; say: pip install 'benanza[evaluate]'"
        ) from error
    check_request(request)
    run = evaluation_run(request, source, limits_of(settings))
    stored = _stored(run.evaluation)
    with configured_log(settings) as log:
        log.append([as_message(stored)])
    if tell is not None:
        tell(evaluation_trace(run, stored.evaluation_id))
    with known_store(settings) as store:
        return beside(store, run.evaluation)


def _stored(evaluation: Evaluation) -> ModelEvaluated:
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
