"""Runs ingest as a service over Kafka."""

from collections.abc import Iterator
from contextlib import contextmanager

from benanza_backbone.clock import now
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.service.process import Service, Started
from benanza_backbone.service.step import Step
from benanza_backbone.settings import Settings, kafka_of
from benanza_ingest.isolation.isolated_ingest import LONGEST_S, TRIES, IsolatedIngest
from benanza_ingest.limits import limits_of
from benanza_ingest.reading.allowed import allowed_of
from benanza_ingest.step import ingest_step
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, INGEST

AT_ONCE = 1
"""Models per turn. A model takes long; after each, the offset is committed."""


def serve(settings: Settings, started: Started) -> int:
    """Runs the service until a signal ends it, and returns the exit status.

    Call it in the main thread of the process. Raises `BenanzaError` if the service can't be
    started.
    """
    kafka = kafka_of(settings)
    limits = limits_of(settings)
    service = Service(INGEST, settings)
    with IsolatedIngest(allowed_of(settings)) as ingest:
        longest_s = TRIES * LONGEST_S

        @contextmanager
        def opened() -> Iterator[Step]:
            with (
                KafkaEventLog(kafka, longest_s) as log,
                ingest_step(log, limits, now, ingest) as step,
            ):
                yield step

        service.add(INGEST, opened, limit=AT_ONCE, longest_turn_s=longest_s)
        return service.run(lambda address: started([CONSUMER_GROUPS[INGEST].name], address))
