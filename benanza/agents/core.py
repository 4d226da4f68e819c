"""What an agent does with an evaluation that it is given, as far as that follows from events."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple

from benanza_schemas.events import (
    MAX_REASON_LENGTH,
    EvaluationRequested,
    EvaluationTaken,
    ModelEvaluated,
    System,
    event_id,
)

MOST_AGENTS = 2
"""So many agents begin with an evaluation on a system: what ended both is likely to end a third."""


class Agent(NamedTuple):
    """An agent in one of its frameworks."""

    agent_id: str
    name: str
    system: System


class EvaluationOutcome(NamedTuple):
    """What came of an evaluation: the fields of `ModelEvaluated` of these names."""

    figures: Mapping[str, float] = {}
    report: str = ""
    failure: str = ""


def is_asked(requested: EvaluationRequested, system_id: str) -> bool:
    """Whether the evaluation is for this system."""
    return system_id in requested.systems


def given_up(agent: Agent, takers: Mapping[str, str]) -> str:
    """Why the agent doesn't begin with an evaluation that those have begun with; empty if it does.

    `takers` are the names of agents by their ids.
    """
    others = sorted(name for agent_id, name in takers.items() if agent_id != agent.agent_id)
    if len(others) < MOST_AGENTS:
        return ""
    return (
        f"{' and '.join(others)} began with it and ended without a result; see why in their logs, "
        "and ask for it again"
    )


def taken(requested: EvaluationRequested, agent: Agent, at: datetime) -> EvaluationTaken:
    """That the agent begins with it."""
    causes = requested.event_id, agent.system.system_id, agent.agent_id
    return EvaluationTaken(
        event_id=event_id("EvaluationTaken", *causes),
        evaluation_id=requested.event_id,
        system_id=agent.system.system_id,
        agent_id=agent.agent_id,
        agent=agent.name,
        taken_at=at,
    )


def evaluated_on(
    requested: EvaluationRequested, agent: Agent, outcome: EvaluationOutcome, at: datetime
) -> ModelEvaluated:
    """The result, of the same id whichever agent of the system has it."""
    return ModelEvaluated(
        event_id=event_id("ModelEvaluated", requested.event_id, agent.system.system_id),
        evaluation_id=requested.event_id,
        model_id=requested.model_id,
        name=requested.published.name,
        system=agent.system,
        agent_id=agent.agent_id,
        agent=agent.name,
        scenario=requested.scenario,
        precision=requested.precision,
        evaluated_at=at,
        options=requested.options,
        figures=dict(outcome.figures),
        report=outcome.report,
        failure=outcome.failure[:MAX_REASON_LENGTH],
    )


def request_id(model_id: str, systems: Collection[str], at: datetime, *causes: str) -> str:
    """The id of a request: the same model may be asked for again."""
    return event_id("EvaluationRequested", model_id, *sorted(systems), at.isoformat(), *causes)
