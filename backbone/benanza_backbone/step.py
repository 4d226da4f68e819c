"""The shell of a service: reads events, calls the core, writes what it returns, commits.

In that order, so that a crash loses nothing: what was written and not committed is read and
written again, under the same event ids.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from benanza_backbone.closing import Closing
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log import EventLog, Message, Partition, Record
from benanza_schemas.codec import MAX_EVENT_BYTES, DecodeError, decode, encode
from benanza_schemas.events import AnyEvent, DeadLetter, Event, event_id
from benanza_schemas.topics import topic_and_key

MAX_DEAD_LETTERS_IN_A_ROW = 1000
MAX_KEPT_BYTES = MAX_EVENT_BYTES - 1_000_000
MAX_KEPT_KEY_BYTES = 100_000
MAX_REASON = 8192

log = logging.getLogger(__name__)


class Step(Closing):
    """One service's way through its topics.

    `handle` takes an event of one of the types in `takes` and returns the events that follow.
    An event that cannot be decoded, is of another type, or makes `handle` raise, goes to the
    dead letters with its reason, and the stream goes on. `flush`, if given, is called before
    each commit: what `handle` has only taken in has to be durable when it returns. Errors in
    `stops_on` are no fault of the event: they stop the step, and the event waits for the next.
    `clock` gives the time, in UTC.
    """

    def __init__(
        self,
        event_log: EventLog,
        group: str,
        topics: Sequence[str],
        takes: type[Event] | tuple[type[Event], ...],
        handle: Callable[[Any], Sequence[AnyEvent]],
        clock: Callable[[], datetime],
        *,
        flush: Callable[[], None] | None = None,
        stops_on: tuple[type[Exception], ...] = (),
    ) -> None:
        self._log = event_log
        self._group = group
        self._takes = takes
        self._handle = handle
        self._clock = clock
        self._flush = flush
        self._stops_on = stops_on
        self._dead_in_a_row = 0
        self._consumer = event_log.consumer(group, topics)

    def turn(self, limit: int, timeout: float = 0.0) -> int:
        """Processes up to `limit` records and commits them; returns how many there were.

        Waits up to `timeout` seconds for the first. Raises `BenanzaError` if the log can't be
        reached, or if more than `MAX_DEAD_LETTERS_IN_A_ROW` events could not be processed:
        then the fault is hardly theirs. Where it raises, the step can only be closed; another
        one goes on from the last commit.
        """
        records = self._consumer.poll(limit, timeout)
        if not records:
            return 0
        following = [message for record in records for message in self._process(record)]
        if following:
            self._log.append(following)
        if self._flush:
            self._flush()
        self._consumer.commit()
        if self._dead_in_a_row > MAX_DEAD_LETTERS_IN_A_ROW:
            raise BenanzaError(
                f"{self._group} stops: it could process none of the last "
                f"{self._dead_in_a_row:,} events; the dead letters hold them with their reasons"
            )
        return len(records)

    def waiting(self) -> int:
        """How many records are still to be processed, as far as this consumer holds them."""
        return sum(self._consumer.lag().values())

    def position(self) -> dict[Partition, int]:
        """For each partition held, the offset that comes next."""
        return self._consumer.position()

    def close(self) -> None:
        """Leaves the group."""
        self._consumer.close()

    def _process(self, record: Record) -> Sequence[Message]:
        try:
            event = decode(record.value)
            if not isinstance(event, self._takes):
                raise DecodeError(f"{self._group} takes no {type(event).__name__}")
            following = [as_message(each) for each in self._handle(event)]
        except self._stops_on:
            raise
        except Exception as error:
            self._dead_in_a_row += 1
            # Other errors than these are defects, and where they arose is worth knowing.
            caused = isinstance(error, BenanzaError | ValueError)
            level = logging.WARNING if caused else logging.ERROR
            trace = None if caused else error
            log.log(level, "%s could not process an event: %s", self._group, error, exc_info=trace)
            return [as_message(self._dead_letter(record, error))]
        self._dead_in_a_row = 0
        return following

    def _dead_letter(self, record: Record, error: Exception) -> DeadLetter:
        topic, partition = record.partition.topic, record.partition.number
        return DeadLetter(
            event_id=event_id("DeadLetter", self._group, topic, f"{partition}", f"{record.offset}"),
            topic=topic,
            partition=partition,
            offset=record.offset,
            key=record.key[:MAX_KEPT_KEY_BYTES],
            value=record.value[:MAX_KEPT_BYTES],
            service=self._group,
            reason=(str(error) or type(error).__name__)[:MAX_REASON],
            failed_at=self._clock(),
        )


def as_message(event: AnyEvent) -> Message:
    """The event encoded, with the topic and key where it belongs."""
    topic, key = topic_and_key(event)
    return Message(topic=topic, key=key, value=encode(event))
