"""Runs ingest as a step over an event log: reads models, and writes graphs and layers."""

from benanza_backbone.clock import Clock
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.service.step import Step
from benanza_ingest.limits import Limits
from benanza_ingest.published import Ingest, ingest_published
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, INGEST
from benanza_schemas.events import LayerSeen, ModelIngested, ModelPublished


def ingest_step(
    log: EventLog, limits: Limits, clock: Clock, ingest: Ingest = ingest_published
) -> Step:
    """The step that ingests published models; `ingest` may do it in another process."""

    def handle(published: ModelPublished) -> list[ModelIngested | LayerSeen]:
        return ingest(published, limits)

    return Step(log, *CONSUMER_GROUPS[INGEST], ModelPublished, handle, clock)
