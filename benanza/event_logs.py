"""The event log that the settings name."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from benanza.embedded import opened_log
from benanza_backbone.event_log import EventLog
from benanza_backbone.settings import Settings


@contextmanager
def configured_log(settings: Settings) -> Iterator[EventLog]:
    """Kafka's, where `BENANZA_KAFKA` is set; else the embedded one, for this process alone.

    Raises `BenanzaError` if no broker answers, or as `opened_log` does.
    """
    if settings.kafka is None:
        with opened_log(settings) as log:
            yield log
        return
    # kafka-python takes a while to import, and the embedded mode does without it.
    from benanza_backbone.kafka_log import KafkaEventLog

    quieten_kafka()
    with KafkaEventLog(settings.kafka) as log:
        yield log


def quieten_kafka() -> None:
    """Keeps kafka-python's log out of a command's errors.

    It logs as errors what it also raises, and each connection that ends.
    """
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
