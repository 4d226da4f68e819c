"""What is kept of a record that a service could not process."""

from datetime import datetime

from benanza_backbone.event_log.event_log import Record
from benanza_schemas.codec import MAX_EVENT_BYTES
from benanza_schemas.events import MAX_REASON_LENGTH, DeadLetter, event_id
from benanza_schemas.one_line import one_line

MAX_KEPT_BYTES = MAX_EVENT_BYTES - 1_000_000
MAX_KEPT_KEY_BYTES = 100_000


def dead_letter(record: Record, service: str, error: Exception, now: datetime) -> DeadLetter:
    """The record with the reason; the same for the same record and service.

    What is too large for an event is cut off.
    """
    topic, partition = record.partition.topic, record.partition.number
    return DeadLetter(
        event_id=event_id("DeadLetter", service, topic, f"{partition}", f"{record.offset}"),
        topic=topic,
        partition=partition,
        offset=record.offset,
        key=record.key[:MAX_KEPT_KEY_BYTES],
        value=record.value[:MAX_KEPT_BYTES],
        service=service,
        reason=one_line(str(error) or type(error).__name__)[:MAX_REASON_LENGTH],
        failed_at=now,
    )
