"""Dedupe as a step over an event log, for the embedded pipeline.

Over Kafka, the Faust app in `agent` takes its place.
"""

from benanza_backbone.clock import Clock
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.service.step import Step
from benanza_dedupe.core import TAKES, Dedupe
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, DEDUPE
from benanza_schemas.topics import JOBS


def dedupe_step(log: EventLog, clock: Clock) -> Step:
    """The step that makes jobs of layers.

    The jobs in the log say which layers are known: a job that was written before a crash is there,
    and one that wasn't is written when its layer comes again.
    """
    owners = {record.key.decode(errors="replace"): "" for record in log.records(JOBS)}
    return Step(log, CONSUMER_GROUPS[DEDUPE], TAKES, Dedupe(owners).handle, clock)
