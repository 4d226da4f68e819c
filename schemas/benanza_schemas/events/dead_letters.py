"""Events of what a service could not process."""

from typing import Annotated, Literal

import msgspec

from benanza_schemas.events.event import TimedEvent
from benanza_schemas.limits import MAX_KEY_BYTES, Count, Hash, Name, Reason, Time


class DeadLetter(TimedEvent, frozen=True, kw_only=True):
    """An event that a service could not process. Topic `dead-letters`, key that of the original.

    `topic`, `partition`, `offset`, `key` and `value` are those of the original record; `service` is
    the consumer group that read it.
    """

    topic: Name
    partition: Count
    offset: Count
    key: Annotated[bytes, msgspec.Meta(max_length=MAX_KEY_BYTES)]
    value: bytes
    service: Name
    reason: Reason
    failed_at: Time


class DeadLetterSettled(TimedEvent, frozen=True, kw_only=True):
    """An operator settled a dead letter. Topic `dead-letters`, key `dead_letter_id`.

    `replayed` means that the original bytes were appended to their topic again, `dropped` that
    nothing is to be done. If a dead letter of the same id comes later, it is open again.
    """

    dead_letter_id: Hash
    action: Literal["replayed", "dropped"]
    settled_at: Time
