"""How far evaluations are that were asked for, as the log has it."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime

import msgspec

from benanza.agents.known_agents import KnownAgent, known_agents
from benanza.agents.matching import version_of
from benanza.agents.results import (
    Agents,
    AgentStatus,
    EvaluationOnSystem,
    RequestedEvaluation,
    RequestedEvaluations,
    State,
)
from benanza.prefixes import with_prefix
from benanza_backbone.clock import Clock, now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.event_log.readable import events_of
from benanza_schemas.events import (
    EvaluationRequested,
    EvaluationTaken,
    ModelEvaluated,
    System,
    device,
)
from benanza_schemas.topics import EVALUATED, EVALUATIONS

EVERY_S = 1.0
"""So often it is looked whether results came."""

Known = Mapping[str, KnownAgent]


class _Events:
    """What the log has of what agents did, and of agents; only of evaluations with one of these
    keys, if some are given.
    """

    def __init__(
        self, log: EventLog, time: datetime, keys: Collection[bytes] | None = None
    ) -> None:
        self.now = time
        self.agents = known_agents(log, time)
        self.takes: dict[tuple[str, str], list[EvaluationTaken]] = defaultdict(list)
        self.results: dict[tuple[str, str], ModelEvaluated] = {}
        for taken in events_of(log, EVALUATED, EvaluationTaken, keys):
            of = self.takes[taken.evaluation_id, taken.system_id]
            if taken not in of:
                of.append(taken)
        for result in events_of(log, EVALUATED, ModelEvaluated, keys):
            # What another agent may have written at the same time counts no more.
            self.results.setdefault((result.evaluation_id, result.system.system_id), result)


def agents(log: EventLog, clock: Clock = now) -> Agents:
    """Who is there, by name. Raises `BenanzaError` if the log can't be read."""
    time = clock()
    known = known_agents(log, time).values()
    return Agents(
        agents=tuple(
            AgentStatus(
                agent_id=agent.announced.agent_id,
                agent=agent.announced.name,
                device=agent.announced.device,
                frameworks={s.runtime: version_of(s) for s in agent.announced.systems},
                systems={s.runtime: s.system_id for s in agent.announced.systems},
                memory_bytes=agent.announced.memory_bytes,
                free_bytes=agent.announced.free_bytes,
                seen_at=agent.seen_at,
                gone=agent.is_gone(time),
            )
            for agent in sorted(known, key=lambda agent: agent.announced.name)
        )
    )


def evaluations(
    log: EventLog, identity: str = "", limit: int = 100, clock: Clock = now
) -> RequestedEvaluations:
    """The newest evaluations, or those whose id begins so.

    Raises `BenanzaError` if there is none of such an id, or if the log can't be read.
    """
    meant = [each for id_, each in _requested(log).items() if id_.startswith(identity)]
    if identity and not meant:
        raise _unknown(identity)
    events = _Events(log, clock())
    meant.sort(key=lambda requested: requested.requested_at, reverse=True)
    return RequestedEvaluations(evaluations=tuple(_one(each, events) for each in meant[:limit]))


def wait(
    log: EventLog,
    identity: str,
    seen: Callable[[RequestedEvaluation], object],
    timeout_s: float | None = None,
) -> RequestedEvaluation:
    """Returns once each system of the evaluation has a result, or after so many seconds.

    `seen` is told how far it is at each look. Raises `BenanzaError` if none has such an id or
    several do, or if the log can't be read.
    """
    asked = _requested(log)
    found = with_prefix(identity, asked, "evaluations")
    if found is None:
        raise _unknown(identity)
    meant = asked[found]
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        requested = _one(meant, _Events(log, now(), {found.encode()}))
        seen(requested)
        if requested.is_over or (deadline is not None and time.monotonic() > deadline):
            return requested
        time.sleep(EVERY_S)


def unanswered(requested: EvaluationRequested, systems: Iterable[System]) -> RequestedEvaluation:
    """An evaluation that was just asked of these systems."""
    return _document(
        requested,
        tuple(
            EvaluationOnSystem(
                system_id=system.system_id,
                device=device(system),
                version=version_of(system),
                state="waiting",
                agent="",
                taken_over=False,
                why="",
                figures={},
                evaluated_at=None,
            )
            for system in systems
        ),
    )


def _requested(log: EventLog) -> dict[str, EvaluationRequested]:
    """What was asked for, by id, without the models: these may be large, and are read by agents."""
    return {
        each.event_id: msgspec.structs.replace(
            each, published=msgspec.structs.replace(each.published, content=None)
        )
        for each in events_of(log, EVALUATIONS, EvaluationRequested)
    }


def _unknown(identity: str) -> BenanzaError:
    return BenanzaError(
        f"no evaluation {identity} was asked for; benanza evaluations list shows them"
    )


def _one(requested: EvaluationRequested, events: _Events) -> RequestedEvaluation:
    return _document(
        requested, tuple(_on(requested, system_id, events) for system_id in requested.systems)
    )


def _document(
    requested: EvaluationRequested, systems: tuple[EvaluationOnSystem, ...]
) -> RequestedEvaluation:
    return RequestedEvaluation(
        evaluation_id=requested.event_id,
        model=requested.published.name,
        model_id=requested.model_id,
        framework=requested.constraints.framework,
        scenario=requested.scenario,
        precision=requested.precision,
        requested_at=requested.requested_at,
        systems=systems,
    )


def _on(requested: EvaluationRequested, system_id: str, events: _Events) -> EvaluationOnSystem:
    of_system = _agents_of(system_id, events.agents)
    alive = {
        agent_id: agent for agent_id, agent in of_system.items() if not agent.is_gone(events.now)
    }
    takes = events.takes.get((requested.event_id, system_id), [])
    result = events.results.get((requested.event_id, system_id))
    system = result.system if result else _system(system_id, of_system)
    last = takes[-1] if takes else None
    state: State
    if result is not None:
        state, agent, why = "failed" if result.failure else "done", result.agent, result.failure
    elif last is not None and last.agent_id in alive:
        state, agent, why = "running", last.agent, ""
    elif alive:
        others = ", ".join(sorted(each.announced.name for each in alive.values()))
        ended = f"{last.agent} ended at it; " if last else ""
        state, agent, why = "waiting", "", f"{ended}waits for {others}"
    else:
        state, agent, why = "orphaned", last.agent if last else "", _gone(of_system)
    return EvaluationOnSystem(
        system_id=system_id,
        device=device(system) if system else "",
        version=version_of(system) if system else "",
        state=state,
        agent=agent,
        taken_over=len({taken.agent_id for taken in takes}) > 1,
        why=why,
        figures=dict(result.figures) if result else {},
        evaluated_at=result.evaluated_at if result else None,
    )


def _agents_of(system_id: str, known: Known) -> dict[str, KnownAgent]:
    return {
        agent_id: agent
        for agent_id, agent in known.items()
        if any(system.system_id == system_id for system in agent.announced.systems)
    }


def _system(system_id: str, of_system: Known) -> System | None:
    systems = (s for agent in of_system.values() for s in agent.announced.systems)
    return next((s for s in systems if s.system_id == system_id), None)


def _gone(of_system: Known) -> str:
    if not of_system:
        return "no agent of its system has been there for an hour; start one there"
    last = max(of_system.values(), key=lambda agent: agent.seen_at)
    return (
        f"no agent of its system is there: {last.announced.name} was last seen at "
        f"{last.seen_at:%H:%M:%S}; start one there again"
    )
