"""Agents and evaluations for the tests."""

from datetime import datetime

import msgspec

from benanza.agents.core import Agent
from benanza.agents.options import options_of
from benanza.evaluating.request import EvaluationRequest
from benanza_backbone.clock import Clock
from benanza_schemas.events import (
    AgentAnnounced,
    Constraints,
    EvaluationRequested,
    ModelPublished,
    System,
    event_id,
    identified,
)
from tests.backbone.sample_events import NOON, PROFILED

GIGABYTE = 10**9


def system(framework: str = "onnxruntime", version: str = "1.31.1", gpu: str = "") -> System:
    return identified(
        msgspec.structs.replace(
            PROFILED.system, runtime=framework, libraries={framework: version}, accelerator=gpu
        )
    )


def announced(
    name: str, *systems: System, free_bytes: int = 8 * GIGABYTE, at: datetime = NOON
) -> AgentAnnounced:
    return AgentAnnounced(
        event_id=event_id("AgentAnnounced", name, at.isoformat()),
        agent_id=event_id("Agent", name),
        name=name,
        device=systems[0].accelerator or systems[0].cpu,
        systems=systems,
        memory_bytes=16 * GIGABYTE,
        free_bytes=free_bytes,
        interval_s=10.0,
        announced_at=at,
    )


def agent(name: str, on: System) -> Agent:
    return Agent(event_id("Agent", name), name, on)


def requested(
    *systems: System, constraints: Constraints | None = None, number: int = 1
) -> EvaluationRequested:
    request = EvaluationRequest(model="")
    return EvaluationRequested(
        event_id=event_id("EvaluationRequested", str(number)),
        published=ModelPublished(
            event_id=event_id("ModelPublished", "tiny"), name="tiny", sha256=SHA256, content=b""
        ),
        model_id=event_id("tiny"),
        scenario=request.scenario,
        precision=request.precision,
        constraints=constraints or Constraints(framework=systems[0].runtime),
        systems=tuple(each.system_id for each in systems),
        requested_at=NOON,
        options=options_of(request),
    )


SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""Of nothing."""


def at(time: datetime) -> Clock:
    return lambda: time
