"""The consumer group of each service: its name on the cluster, and the topics that it reads."""

from typing import NamedTuple

from benanza_schemas.layer import Precision
from benanza_schemas.topics import (
    BOUNDS,
    CHECKPOINTS,
    DEAD_LETTERS,
    EVALUATED,
    EVALUATIONS,
    GRAPHS,
    JOBS,
    LAYERS,
    MODELS,
    PROFILES,
    RESULTS,
)


class ConsumerGroup(NamedTuple):
    """Members of a group share out the partitions of its `topics`; each reads those of `whole`."""

    name: str
    topics: tuple[str, ...]
    whole: tuple[str, ...] = ()


INGEST = "ingest"
DEDUPE = "dedupe"
RUNNER = "runner"
AGENT = "agent"
ANALYZER = "analyzer"
SINK = "sink"
"""The services, as an operator names them. The sink runs in the analyzer's process."""

CONSUMER_GROUPS = {
    INGEST: ConsumerGroup("ingest", (MODELS,)),
    DEDUPE: ConsumerGroup("dedupe", (LAYERS,)),
    # Only the first part of the name: `runner_group` gives the whole.
    RUNNER: ConsumerGroup("runner", (JOBS,)),
    # Likewise: `agent_group`.
    AGENT: ConsumerGroup("agent", (EVALUATIONS,)),
    ANALYZER: ConsumerGroup("analyzer", (GRAPHS,), whole=(RESULTS,)),
    # The offsets of installations are committed under the name `store`, so that it has to stay.
    SINK: ConsumerGroup(
        "store",
        (GRAPHS, CHECKPOINTS, JOBS, RESULTS, PROFILES, BOUNDS, EVALUATED, DEAD_LETTERS),
    ),
}

OF_SYSTEMS = frozenset((RUNNER, AGENT))
"""The services that have a group for each system, whose names begin with that of the service."""


def runner_group(system_id: str, precision: Precision) -> ConsumerGroup:
    """The group of the runners of one system at one precision: they share its jobs."""
    name, topics, _ = CONSUMER_GROUPS[RUNNER]
    return ConsumerGroup(f"{name}.{system_id}.{precision}", topics)


def agent_group(system_id: str) -> ConsumerGroup:
    """The group of the agents of one system: they share the evaluations."""
    name, topics, _ = CONSUMER_GROUPS[AGENT]
    return ConsumerGroup(f"{name}.{system_id}", topics)


def service_of(group: str) -> str:
    """The service whose consumer group has this name; if none has, what stands before its dot."""
    known = (service for service in CONSUMER_GROUPS if is_of(group, service))
    return next(known, group.split(".")[0])


def is_of(group: str, service: str) -> bool:
    """Whether a consumer group of this name is that of the service."""
    return group.split(".")[0] == CONSUMER_GROUPS[service].name
