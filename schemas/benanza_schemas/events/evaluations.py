"""Events of evaluations that agents do: who is there, what is asked for, who does it, what came."""

from typing import Annotated

import msgspec

from benanza_schemas.events.event import TimedEvent
from benanza_schemas.events.measurements import System
from benanza_schemas.events.models import ModelPublished
from benanza_schemas.layer import Precision
from benanza_schemas.limits import (
    MOST_NAMED,
    Count,
    Hash,
    Hashes,
    Name,
    Named,
    Reason,
    Text,
    Time,
)

Seconds = Annotated[float, msgspec.Meta(ge=0, le=86_400)]
"""A time between two announcements."""

Figures = Annotated[
    dict[Name, Annotated[float, msgspec.Meta(ge=-(2**53), le=2**53)]],
    msgspec.Meta(max_length=MOST_NAMED),
]
"""What was found, by names with their units."""


class AgentAnnounced(TimedEvent, frozen=True, kw_only=True):
    """An agent is at work, and what it has. Topic `agents`, key `agent_id`.

    `agent_id` is that of one process, and `name` tells people which. `systems` has one for each
    framework that it runs, which is the system's `runtime`. Of `memory_bytes` of its device
    `free_bytes` are free. It says so again after `interval_s` seconds; with `leaving` it ends.
    """

    agent_id: Hash
    name: Name
    device: Name
    systems: Annotated[tuple[System, ...], msgspec.Meta(max_length=MOST_NAMED)]
    memory_bytes: Count
    free_bytes: Count
    interval_s: Seconds
    announced_at: Time
    leaving: bool = False


class Constraints(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an agent must have to do an evaluation.

    `device` is a pattern with `*` and `?` for the device's name, in any case; empty for any.
    `versions` are those of the framework, as PEP 440 writes them (`>=1.20,<2`); empty for any.
    So many bytes of the device's memory must be free.
    """

    framework: Name
    device: Name = ""
    versions: Name = ""
    memory_bytes: Count = 0


class EvaluationRequested(TimedEvent, frozen=True, kw_only=True):
    """A model is to be evaluated on systems. Topic `evaluations`, key `event_id`.

    `systems` are those of the agents that met the `constraints` when this was asked for: each does
    it once. `published` is the model; `model_id` is that of the model as it is bound there.
    `options` are what else the evaluation is told, as JSON, by name.
    """

    published: ModelPublished
    model_id: Hash
    scenario: Name
    precision: Precision
    constraints: Constraints
    systems: Hashes
    requested_at: Time
    options: Named = msgspec.field(default_factory=dict)


class EvaluationTaken(TimedEvent, frozen=True, kw_only=True):
    """An agent begins with an evaluation on a system. Topic `evaluated`, key `evaluation_id`.

    Where it is followed by another one of the same system, the first agent ended before its result.
    """

    evaluation_id: Hash
    system_id: Hash
    agent_id: Hash
    agent: Name
    taken_at: Time


class ModelEvaluated(TimedEvent, frozen=True, kw_only=True):
    """What came of an evaluation on a system. Topic `evaluated`, key `evaluation_id`.

    The id follows from the evaluation and the system, so there is one of each. `figures` are what
    was found, in the units that their names say; `report` is the whole of it as JSON. `name` is the
    model's. `failure` says why there is nothing.
    """

    evaluation_id: Hash
    model_id: Hash
    name: Name
    system: System
    agent_id: Hash
    agent: Name
    scenario: Name
    precision: Precision
    evaluated_at: Time
    options: Named = msgspec.field(default_factory=dict)
    figures: Figures = msgspec.field(default_factory=dict)
    report: Text = ""
    failure: Reason = ""
