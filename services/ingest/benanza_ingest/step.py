"""Runs ingest as a step over an event log: reads models, writes what is in them."""

from benanza_backbone.clock import Clock
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.service.step import Step
from benanza_ingest.core import Ingested
from benanza_ingest.known_architectures import KnownArchitectures
from benanza_ingest.limits import Limits
from benanza_ingest.published import Ingest, ingest_published
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, INGEST
from benanza_schemas.events import ModelPublished
from benanza_schemas.topics import GRAPHS


def ingest_step(
    log: EventLog, limits: Limits, clock: Clock, ingest: Ingest = ingest_published
) -> Step:
    """The step that ingests published models; `ingest` may do it in another process.

    The graphs in the log say which architectures are known.
    """
    known = KnownArchitectures((record.key, record.value) for record in log.records(GRAPHS))

    def handle(published: ModelPublished) -> list[Ingested]:
        return known.pass_on(ingest(published, limits))

    return Step(log, CONSUMER_GROUPS[INGEST], ModelPublished, handle, clock)
