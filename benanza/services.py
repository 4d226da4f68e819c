"""The services as an operator names them: the consumer group and the topics of each."""

from typing import NamedTuple

from benanza_schemas.topics import (
    BOUNDS,
    DEAD_LETTERS,
    GRAPHS,
    JOBS,
    LAYERS,
    MODELS,
    PROFILES,
    RESULTS,
)


class Service(NamedTuple):
    """`group` is its consumer group; runners have one for each system and precision, of which
    it is the first part.
    """

    group: str
    topics: tuple[str, ...]


RUNNER = "runner"
SINK = "sink"

SERVICES = {
    "ingest": Service("ingest", (MODELS,)),
    "dedupe": Service("dedupe", (LAYERS,)),
    RUNNER: Service("runner", (JOBS,)),
    "analyzer": Service("analyzer", (GRAPHS, RESULTS)),
    SINK: Service("store", (GRAPHS, JOBS, RESULTS, PROFILES, BOUNDS, DEAD_LETTERS)),
}


def service_of(group: str) -> str:
    """The service whose consumer group this is; the group itself if it is none's."""
    return next((service for service in SERVICES if is_of(group, service)), group)


def is_of(group: str, service: str) -> bool:
    """Whether a consumer group is that of this service."""
    return group.split(".")[0] == SERVICES[service].group
