"""The service: layers to jobs over Kafka, until it is told to stop."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.group import GroupProgress
from benanza_backbone.kafka.topics import create_topics
from benanza_backbone.service.circuit_breaker import CircuitOpenError
from benanza_backbone.service.process import DONE, FAILED
from benanza_backbone.service.standstill import StandstillError
from benanza_backbone.service.status_server import StatusServer
from benanza_backbone.service.watchdog import Watchdog
from benanza_backbone.settings import Settings
from benanza_dedupe.agent import GROUP, DedupeAgent, create_app
from benanza_dedupe.watch import Watch
from benanza_dedupe.worker import Shutdown, run_app
from benanza_schemas.consumer_groups import DEDUPE
from benanza_schemas.topics import LAYERS

FOLDER = "dedupe"
RETRY_S = 2.0
"""Seconds between two tries to reach Kafka at the start; later, its client sees to that."""

log = logging.getLogger(__name__)


def serve(settings: Settings, started: Callable[[Sequence[str], str], None]) -> int:
    """Runs the service in this process's main thread; the exit status.

    `started` is told the consumer group and the address of the status pages. The first SIGTERM
    or SIGINT lets what is in work end, within `drain_timeout_s`; a second one ends the process
    at once. What is known of layers lies in the folder `dedupe` of the data folder, and can be
    had again from Kafka. Raises `BenanzaError` if no Kafka is named or its certificates can't be
    read, or if another process has the folder or the status port. If so many events fail that the
    fault is hardly theirs, it takes no more, and raises `CircuitOpenError` once it is told to stop.
    If events wait and none is processed although Kafka answers, it ends by itself.
    """
    if settings.kafka is None:
        raise BenanzaError("dedupe needs Kafka: set BENANZA_KAFKA to its brokers, as host:port")
    # Faust tells its whole life at INFO, in tables of many lines; its Kafka client every failed
    # try to reach a broker, ten a second. What matters of that comes here as an error, or from
    # `watch`.
    for library in ("faust", "mode"):
        logging.getLogger(library).setLevel(logging.ERROR)
    # What derives from Faust's classes tells of each under the name of its own module.
    logging.getLogger("benanza_dedupe.owners").setLevel(logging.WARNING)
    # Why the app crashed is told at the end.
    ours = ("benanza_dedupe.consumer", "benanza_dedupe.producer")
    for library in ("aiokafka", "faust.transport.drivers.aiokafka", *ours, "faust.app.base"):
        logging.getLogger(library).setLevel(logging.CRITICAL)
    # On asyncio's own event loop. What is written to a connection that just closes is an error on
    # uvloop, which ends for good what keeps aiokafka's metadata up to date (aiokafka's issue 1038);
    # and it made dedupe no faster.
    with _own_folder(settings.data / FOLDER) as folder:
        return asyncio.run(_serve(settings, settings.kafka, folder, started))


async def _serve(
    settings: Settings,
    connection: KafkaConnection,
    folder: Path,
    started: Callable[[Sequence[str], str], None],
) -> int:
    shutdown = Shutdown()
    shutdown.on_signals()
    app = create_app(connection, folder)
    group = GroupProgress(connection, GROUP)
    agent = DedupeAgent(app, connection, lambda: datetime.now(UTC), shutdown.request)
    watch = Watch(app, agent, group, connection.topic(LAYERS), shutdown.request)
    with (
        group,
        StatusServer(
            settings.metrics_port,
            watch.readiness,
            liveness=watch.liveness,
            host=settings.metrics_host,
            name=DEDUPE,
        ) as status,
        Watchdog(watch.liveness),
    ):
        watching = asyncio.create_task(watch.run())
        started([GROUP], status.address)
        await _create_topics(connection, shutdown)
        try:
            if not shutdown.requested.is_set():
                await run_app(app, shutdown, settings.drain_timeout_s)
        except StandstillError as error:
            log.critical("dedupe ends, and goes on when it is started again: %s", error)
            return FAILED
        except CircuitOpenError as error:
            log.critical("%s", error)
            watch.ended(str(error))
            await shutdown.signalled.wait()
            raise
        finally:
            watching.cancel()
    return DONE


async def _create_topics(connection: KafkaConnection, shutdown: Shutdown) -> None:
    """Waits for Kafka as long as it takes, or until the service is to stop."""
    while not shutdown.requested.is_set():
        try:
            await asyncio.to_thread(create_topics, connection)
            return
        except BenanzaError as error:
            log.warning("trying again in %g s: %s", RETRY_S, error)
            with suppress(TimeoutError):
                await asyncio.wait_for(shutdown.requested.wait(), RETRY_S)


@contextmanager
def _own_folder(folder: Path) -> Iterator[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock", blocking=False):
            yield folder
    except Timeout:
        raise BenanzaError(
            f"another dedupe is at work in {folder}; give each a BENANZA_DATA of its own"
        ) from None
