"""The services over Kafka: steps that a process runs until it is told to stop."""

from collections.abc import Iterator
from contextlib import contextmanager

from benanza.steps import analyzer_step, store_step
from benanza_backbone.clock import now
from benanza_backbone.kafka_log import KafkaEventLog
from benanza_backbone.service import Service, Started
from benanza_backbone.settings import Settings, kafka_of
from benanza_backbone.step import Step
from benanza_backbone.store import Store
from benanza_backbone.telemetry import DEAD_LETTERS_OPEN
from benanza_schemas.consumer_groups import ANALYZER, CONSUMER_GROUPS, SINK

ONE = 1
"""Models and jobs take long: what is committed after each is not done again."""

ANALYZED_AT_ONCE = 200
STORED_AT_ONCE = 2000

LONGEST_REBUILD_S = 1800.0
"""Seconds in which the analyzer must have read again all results there ever were."""

LONGEST_INSERT_S = 600.0


def serve_analyzer(settings: Settings, started: Started) -> int:
    """Graphs and results to bounds, and all that people ask for into ClickHouse; the exit
    status."""
    kafka = kafka_of(settings)
    service = Service("analyzer", settings)

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
                store_step(log, store, now) as step,
            ):
                yield step
        finally:
            # Who looks no longer knows no more; other copies do.
            DEAD_LETTERS_OPEN.clear()

    service.add("analyzer", analyzer, limit=ANALYZED_AT_ONCE, longest_turn_s=LONGEST_REBUILD_S)
    service.add(SINK, sink, limit=STORED_AT_ONCE, longest_turn_s=LONGEST_INSERT_S)
    groups = [CONSUMER_GROUPS[ANALYZER].name, CONSUMER_GROUPS[SINK].name]
    return service.run(lambda address: started(groups, address))
