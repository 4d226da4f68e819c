"""The event log and the store that the settings name."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from benanza.installation.beside import store_beside
from benanza.installation.embedded import FolderTakenError, current_store, opened_log
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.log import quieten_kafka
from benanza_backbone.settings import Settings


@contextmanager
def configured_log(settings: Settings) -> Iterator[EventLog]:
    """The event log: Kafka where `BENANZA_KAFKA` is set, else the embedded one.

    The embedded log belongs to this process alone until it is closed.

    Raises `BenanzaError` if no broker answers, or as `opened_log` does.
    """
    if settings.kafka is None:
        with opened_log(settings) as log:
            yield log
        return
    # kafka-python takes a while to import, and the embedded mode does without it.
    from benanza_backbone.kafka.log import KafkaEventLog

    quieten_kafka()
    with KafkaEventLog(settings.kafka) as log:
        yield log


def log_name(settings: Settings) -> str:
    """What `configured_log` opens, for people."""
    if settings.kafka is None:
        return f"the embedded log in {settings.data}"
    prefix = settings.kafka.prefix
    return f"Kafka at {settings.kafka.shown()}" + (f", prefix {prefix}" if prefix else "")


@contextmanager
def known_store(settings: Settings) -> Iterator[Store]:
    """The store to read, up to date. Over Kafka, the services keep it so.

    While another process is at work in the embedded folder it is a copy of what is there.
    Read-only commands never create the data folder: its name may be misspelt. Raises
    `BenanzaError` where there is none.
    """
    if settings.kafka:
        with Store.open(settings.clickhouse, migrates=False) as store:
            yield store
        return
    if not settings.data.exists():
        raise BenanzaError(
            f"nothing is known yet: there is no folder {settings.data}; "
            "name another one, or say: benanza run MODEL"
        )
    with ExitStack() as opened:
        try:
            store = opened.enter_context(current_store(settings))
        except FolderTakenError:
            store = opened.enter_context(store_beside(settings))
        yield store
