"""An agent in one of its frameworks, as a step over an event log: evaluations to results."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from benanza.agents.core import Agent, EvaluationOutcome, evaluated_on, given_up, is_asked, taken
from benanza.agents.known_agents import at_work, known_agents
from benanza.agents.matching import unmet
from benanza.agents.serving.isolated import Evaluate, evaluate_apart
from benanza.agents.serving.known_evaluations import KnownEvaluations
from benanza.agents.serving.model_file import model_file
from benanza_backbone.clock import Clock
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.service.processor import as_message
from benanza_backbone.service.step import Step
from benanza_backbone.telemetry import EVALUATIONS
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.reading.allowed import ANYWHERE, Allowed
from benanza_schemas.consumer_groups import agent_group
from benanza_schemas.events import AgentAnnounced, EvaluationRequested, ModelEvaluated

MOST_LEFT = 5
"""So often an agent leaves an evaluation to others: what these announce may be out of date."""


@dataclass(frozen=True)
class At:
    """What an agent evaluates with: in which turn on its device, with which limits, and with models
    from where. `files` are those of the turn, for processes that inherit it. `left` counts how
    often an evaluation was left to others.
    """

    turn: AbstractContextManager[object]
    files: Sequence[int] = ()
    limits: Limits = field(default_factory=Limits)
    allowed: Allowed = ANYWHERE
    evaluate: Evaluate = evaluate_apart
    left: Counter[str] = field(default_factory=Counter)


def agent_step(
    log: EventLog,
    agent: Agent,
    announced: Callable[[], AgentAnnounced],
    at: At,
    clock: Clock,
) -> Step:
    """The step that does the evaluations of one system, each once.

    `announced` is what the agent has now. Raises `BenanzaError` if the log can't be reached.
    """
    evaluations = Evaluations(log, agent, announced, at, clock)
    return Step(
        log,
        agent_group(agent.system.system_id),
        EvaluationRequested,
        evaluations.handle,
        clock,
        # What is wrong with a model is a result: an error is the device's or the log's fault.
        stops_on=(BenanzaError,),
    )


class Evaluations:
    """Does what is asked of one system. An evaluation is committed once its result is in the log,
    so that of an agent that dies it comes again, to another one of the system.
    """

    def __init__(
        self,
        log: EventLog,
        agent: Agent,
        announced: Callable[[], AgentAnnounced],
        at: At,
        clock: Clock,
    ) -> None:
        self._log = log
        self._agent = agent
        self._announced = announced
        self._at = at
        self._clock = clock
        self._known = KnownEvaluations(log, agent.system.system_id)

    def handle(self, requested: EvaluationRequested) -> list[ModelEvaluated]:
        """The result; none of what isn't asked of this system, or was done before."""
        if not is_asked(requested, self._agent.system.system_id):
            return []
        if self._is_done(requested):
            return []
        outcome = self._outcome(requested)
        # Another agent may have been given it, where this one counted as dead.
        if outcome is None or self._is_done(requested):
            return []
        EVALUATIONS.labels("failed" if outcome.failure else "done").inc()
        return [evaluated_on(requested, self._agent, outcome, self._clock())]

    def _is_done(self, requested: EvaluationRequested) -> bool:
        self._known.catch_up()
        if self._known.has_done(requested.event_id):
            EVALUATIONS.labels("repeated").inc()
            return True
        return False

    def _outcome(self, requested: EvaluationRequested) -> EvaluationOutcome | None:
        """What comes of it; nothing if another agent has a result by then.

        The model is had before the device, which a slow server would else keep from others.
        """
        try:
            with (
                model_file(requested.published, self._at.limits, self._at.allowed) as path,
                self._at.turn,
            ):
                # The wait may have been long.
                return None if self._is_done(requested) else self._in_turn(requested, path)
        except ModelError as error:
            return EvaluationOutcome(failure=str(error))

    def _leave_to_another(self, requested: EvaluationRequested) -> None:
        """Raises `BenanzaError` if another agent of the system has the memory now. Nothing is
        committed then, so the evaluation comes to a member of the group again, mostly to another.
        """
        now = self._clock()
        others = [
            other.name
            for other in at_work(known_agents(self._log, now), now)
            if other.agent_id != self._agent.agent_id
            and self._agent.system in other.systems
            and not unmet(requested.constraints, other)
        ]
        left = self._at.left
        if others and left[requested.event_id] < MOST_LEFT:
            left[requested.event_id] += 1
            raise BenanzaError(
                f"{requested.published.name} is left to {others[0]}, which has the memory for it"
            )

    def _in_turn(self, requested: EvaluationRequested, path: Path) -> EvaluationOutcome:
        # Of what the agent has, only this system does it: a request may name the system of another
        # framework than it wants.
        has = msgspec.structs.replace(self._announced(), systems=(self._agent.system,))
        lacking = unmet(requested.constraints, has)
        if [each.constraint for each in lacking] == ["memory"]:
            self._leave_to_another(requested)
        why = given_up(self._agent, self._known.takers(requested.event_id)) or "; ".join(
            map(str, lacking)
        )
        if why:
            return EvaluationOutcome(failure=why)
        began = taken(requested, self._agent, self._clock())
        self._log.append([as_message(began)])
        return self._at.evaluate(requested, path, self._at.limits, self._at.files)
