"""Runs the analyzer as a service over Kafka, with the sink in the same process."""

from collections.abc import Iterator
from contextlib import contextmanager

from benanza_analyzer.sink import sink_step
from benanza_analyzer.step import analyzer_step
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clock import now
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.service.process import Service, Started
from benanza_backbone.service.step import Step
from benanza_backbone.settings import Settings, kafka_of
from benanza_backbone.telemetry import BOUNDS_BEATEN, DEAD_LETTERS_OPEN
from benanza_schemas.consumer_groups import ANALYZER, CONSUMER_GROUPS, SINK

ANALYZED_AT_ONCE = 200
STORED_AT_ONCE = 2000
"""Records per turn of the analyzer, and of the sink."""

LONGEST_REBUILD_S = 1800.0
"""The longest time in which the analyzer reads all former events again, in seconds."""

LONGEST_INSERT_S = 600.0
"""The longest time in which the sink stores the records of a turn, in seconds."""


def serve(settings: Settings, started: Started) -> int:
    """Runs the service until a signal ends it, and returns the exit status.

    Call it in the main thread of the process. Raises `BenanzaError` if the service can't be
    started.
    """
    kafka = kafka_of(settings)
    service = Service(ANALYZER, settings)

    @contextmanager
    def analyzer() -> Iterator[Step]:
        with KafkaEventLog(kafka, LONGEST_REBUILD_S) as log, analyzer_step(log, now) as step:
            yield step

    @contextmanager
    def sink() -> Iterator[Step]:
        try:
            with (
                KafkaEventLog(kafka, LONGEST_INSERT_S) as log,
                Store.open(settings.clickhouse) as store,
                sink_step(log, store, now) as step,
            ):
                yield step
        finally:
            # While nobody looks, the metrics are not known here; other copies know them.
            DEAD_LETTERS_OPEN.clear()
            BOUNDS_BEATEN.clear()

    service.add(ANALYZER, analyzer, limit=ANALYZED_AT_ONCE, longest_turn_s=LONGEST_REBUILD_S)
    service.add(SINK, sink, limit=STORED_AT_ONCE, longest_turn_s=LONGEST_INSERT_S)
    groups = [CONSUMER_GROUPS[name].name for name in (ANALYZER, SINK)]
    return service.run(lambda address: started(groups, address))
