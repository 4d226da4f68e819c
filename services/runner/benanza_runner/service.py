"""The runner as a service over Kafka."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from threading import Lock

from benanza_backbone.clock import now
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.service.process import Service, Started
from benanza_backbone.service.step import Step
from benanza_backbone.settings import Settings, kafka_of
from benanza_runner.monitoring.gpu_collector import shown_gpu
from benanza_runner.monitoring.gpu_state import gpu_state
from benanza_runner.runtime import Runtime
from benanza_runner.runtimes import longest_job_s
from benanza_runner.step import runner_step
from benanza_runner.system_description import describe_system
from benanza_schemas.consumer_groups import RUNNER, runner_group
from benanza_schemas.layer import Precision


def serve(
    settings: Settings, started: Started, *, runtime: Runtime, precisions: Sequence[Precision]
) -> int:
    """Runs the service on this system, with a step for each precision, until a signal ends it.

    Returns the exit status. To be called in the process's main thread. Raises `BenanzaError` if
    the service can't be started.
    """
    kafka = kafka_of(settings)
    system_id = runtime.system().system_id
    service = Service(RUNNER, settings)
    device = Lock()
    # A worker does up to two jobs of a turn, one after the other.
    longest_s = 2 * longest_job_s(settings) * len(precisions)
    # Jobs take long, and what is committed isn't done again: so a turn takes no more than needed.
    limit = runtime.at_once

    def add(precision: Precision) -> None:
        @contextmanager
        def opened() -> Iterator[Step]:
            with KafkaEventLog(kafka, longest_s) as log:
                with device:
                    describe_system(log, runtime, [precision], now)
                    step = runner_step(log, runtime, precision, now, device)
                with step:
                    yield step

        name = f"{RUNNER} {precision}"
        service.add(name, opened, limit=limit, longest_turn_s=longest_s)

    for precision in precisions:
        add(precision)
    groups = [runner_group(system_id, precision).name for precision in precisions]
    with shown_gpu(gpu_state) if runtime.system().accelerator else nullcontext():
        return service.run(lambda address: started(groups, address))
