"""The services over Kafka: steps that a process runs until it is told to stop."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from benanza.progress import Silent
from benanza.runtimes import longest_job_s
from benanza.steps import analyzer_step, runner_step, store_step
from benanza.system_description import describe_system
from benanza_backbone.clock import now
from benanza_backbone.kafka_log import KafkaEventLog
from benanza_backbone.service import Service, Started
from benanza_backbone.settings import Settings, kafka_of
from benanza_backbone.step import Step
from benanza_backbone.store import Store
from benanza_backbone.telemetry import DEAD_LETTERS_OPEN, GPU_BUSY
from benanza_runner.nvidia import busy_ratio
from benanza_runner.runtime import Runtime
from benanza_schemas.consumer_groups import ANALYZER, CONSUMER_GROUPS, SINK, runner_group
from benanza_schemas.layer import Precision

ONE = 1
"""Models and jobs take long: what is committed after each is not done again."""

ANALYZED_AT_ONCE = 200
STORED_AT_ONCE = 2000

LONGEST_REBUILD_S = 1800.0
"""Seconds in which the analyzer must have read again all results there ever were."""

LONGEST_INSERT_S = 600.0


def serve_runner(
    settings: Settings, runtime: Runtime, precisions: Sequence[Precision], started: Started
) -> int:
    """Jobs to results on this system, at each of the precisions; the exit status."""
    kafka = kafka_of(settings)
    system_id = runtime.system().system_id
    service = Service("runner", settings)
    device = Lock()
    longest = longest_job_s(settings) * len(precisions)

    def add(precision: Precision) -> None:
        @contextmanager
        def opened() -> Iterator[Step]:
            with KafkaEventLog(kafka, longest) as log:
                with device:
                    describe_system(log, runtime, [precision], now, Silent())
                    step = runner_step(log, runtime, precision, now, device)
                with step:
                    yield step

        service.add(f"runner {precision}", opened, limit=ONE, longest_turn_s=longest)

    for precision in precisions:
        add(precision)
    if accelerator := runtime.system().accelerator:
        GPU_BUSY.labels(accelerator).set_function(busy_ratio)
    groups = [runner_group(system_id, precision).name for precision in precisions]
    return service.run(lambda address: started(groups, address))


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
