"""`benanza evaluations request`: a model is to be evaluated by all agents that can do it."""

from collections.abc import Sequence

import msgspec

from benanza.agents.core import request_id
from benanza.agents.known_agents import at_work, known_agents
from benanza.agents.matching import check, matched
from benanza.agents.options import options_of
from benanza.agents.progress import unanswered
from benanza.agents.results import Refusal, RequestedEvaluation
from benanza.evaluating.request import EvaluationRequest
from benanza.installation.configured import configured_log
from benanza.publishing.asked_models import asked_models
from benanza.publishing.publish import PublishRequest, fetched_events
from benanza.request import RunRequest
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings, kafka_of
from benanza_ingest.limits import limits_of
from benanza_runner.isolation.device_turn import LONGEST_TURN_S
from benanza_schemas.events import Constraints, EvaluationRequested, ModelPublished

SEARCH_DURATIONS = 9
"""The search for a server's greatest rate takes up to 8.2 times the duration: six short runs, five
whole ones, and two short ones before each of these.
"""

RUN_DURATIONS = 3
"""A run, with times without load before it."""


class NoAgentError(BenanzaError):
    """No agent can do an evaluation; the text says what each of them lacks."""


def check_duration(request: EvaluationRequest) -> None:
    """Raises `BenanzaError` if an agent's turn on the device would end before the evaluation."""
    searches = request.scenario == "server" and request.rate_per_s is None
    longest_s = LONGEST_TURN_S / (SEARCH_DURATIONS if searches else RUN_DURATIONS)
    if request.duration_s > longest_s:
        what = "search a server's rate with runs of" if searches else "evaluate for"
        mend = "a shorter --duration, or a --rate" if searches else "a shorter --duration"
        raise BenanzaError(
            f"agents {what} {longest_s:g} s at most, so that others get their turn on the device; "
            f"give {mend}"
        )


def request_evaluation(
    request: EvaluationRequest, constraints: Constraints, settings: Settings
) -> RequestedEvaluation:
    """Asks each system for it that has an agent at work which meets the constraints.

    Raises `NoAgentError` if none does, and `BenanzaError` if the model can't be read, if an agent
    could not be told where it is, or if Kafka can't be had.
    """
    kafka_of(settings)
    check(constraints)
    check_duration(request)
    (asked,) = asked_models(
        request.model, RunRequest((request.model,), dims=request.dims), limits_of(settings)
    )
    published = _published(request, settings)
    with configured_log(settings) as log:
        agents = known_agents(log, now())
        systems, refusals = matched(constraints, at_work(agents, now()))
        if not systems:
            raise NoAgentError(_nobody(refusals))
        time, options = now(), options_of(request)
        causes = (request.scenario, request.precision, msgspec.json.encode(options).decode())
        ids = tuple(sorted(system.system_id for system in systems))
        event = EvaluationRequested(
            event_id=request_id(asked.model_id, ids, time, constraints.framework, *causes),
            published=published,
            model_id=asked.model_id,
            scenario=request.scenario,
            precision=request.precision,
            constraints=constraints,
            systems=ids,
            requested_at=time,
            options=options,
        )
        log.append([as_message(event)])
    requested = unanswered(event, systems)
    return msgspec.structs.replace(requested, refusals=refusals, warning=_warning(published))


def _published(request: EvaluationRequest, settings: Settings) -> ModelPublished:
    """The model as an event holds it: a file that is too large for one is uploaded."""
    asked = PublishRequest(dims=request.dims)
    (event,) = fetched_events(request.model, asked, settings)
    if isinstance(event, BenanzaError):
        raise event
    return event


def _warning(published: ModelPublished) -> str:
    if published.content is not None or not published.uri.startswith("file:"):
        return ""
    return (
        f"{published.name} is too large to travel with the request: agents must see it as "
        f"{published.uri}, in a folder that their BENANZA_MODEL_SOURCES names; or set "
        "BENANZA_MODEL_UPLOADS to s3://BUCKET/PREFIX, to have such files uploaded"
    )


def _nobody(refusals: Sequence[Refusal]) -> str:
    if not refusals:
        return "no agent is at work; start one where the model is to run: benanza serve agent"
    lacking = (
        f"{refusal.agent} ({refusal.device}): {'; '.join(map(str, refusal.unmet))}"
        for refusal in refusals
    )
    return f"no agent can do it, so nothing was asked. {' | '.join(lacking)}"
