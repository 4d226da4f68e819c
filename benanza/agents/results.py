"""Results of `benanza agents` and `benanza evaluations`."""

from datetime import datetime
from typing import Literal

from benanza.results.result import Result
from benanza_backbone.document import Document

GIGABYTE = 1e9
"""Memory of agents is said, and asked for, in these."""


class Unmet(Document, frozen=True, kw_only=True):
    """A constraint that an agent doesn't meet: what an evaluation wants, and what it has."""

    constraint: Literal["device", "framework", "version", "memory"]
    wanted: str
    found: str

    def __str__(self) -> str:
        return f"{self.constraint}: {self.wanted} is wanted, and it has {self.found}"


class Refusal(Document, frozen=True, kw_only=True):
    """An agent that can't do an evaluation, with all constraints that it doesn't meet."""

    agent: str
    device: str
    unmet: tuple[Unmet, ...]


class AgentStatus(Document, frozen=True, kw_only=True):
    """An agent. `frameworks` are those that it runs, with their versions; `systems` are the ids of
    its system in each. It is gone if it hasn't said since `seen_at` that it is there.
    """

    agent_id: str
    agent: str
    device: str
    frameworks: dict[str, str]
    systems: dict[str, str]
    memory_bytes: int
    free_bytes: int
    seen_at: datetime
    gone: bool


class Agents(Result, frozen=True, kw_only=True):
    """The agents that said lately that they are there, by name."""

    agents: tuple[AgentStatus, ...]


State = Literal["waiting", "running", "orphaned", "done", "failed"]
"""`orphaned`: no agent of the system is there."""


class EvaluationOnSystem(Document, frozen=True, kw_only=True):
    """How far an evaluation is on one of its systems. `agent` is the one that is at it, or did it;
    `why` says what it waits for, or why it failed.
    """

    system_id: str
    device: str
    version: str
    state: State
    agent: str
    taken_over: bool
    why: str
    figures: dict[str, float]
    evaluated_at: datetime | None


class RequestedEvaluation(Result, frozen=True, kw_only=True):
    """An evaluation that was asked for, and how far it is on each system. `refusals` and `warning`
    are of the moment at which it was asked for.
    """

    evaluation_id: str
    model: str
    model_id: str
    framework: str
    scenario: str
    precision: str
    requested_at: datetime
    systems: tuple[EvaluationOnSystem, ...]
    refusals: tuple[Refusal, ...] = ()
    warning: str = ""

    @property
    def is_over(self) -> bool:
        """Whether there is a result of each system."""
        return all(each.state in ("done", "failed") for each in self.systems)


class RequestedEvaluations(Result, frozen=True, kw_only=True):
    """Evaluations that were asked for, the newest first."""

    evaluations: tuple[RequestedEvaluation, ...]
