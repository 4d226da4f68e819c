"""From a record to the messages that follow from it: the part of a shell that every service has."""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Message, Record, Unread
from benanza_backbone.service.circuit_breaker import CircuitBreaker
from benanza_backbone.service.dead_letter import dead_letter
from benanza_backbone.service.recent import RECENT, Processed
from benanza_backbone.telemetry import DEAD_LETTERS, PROCESS_DURATION
from benanza_schemas.codec import DecodeError, NewerVersionError, decode, encode
from benanza_schemas.consumer_groups import service_of
from benanza_schemas.events import AnyEvent, Event
from benanza_schemas.one_line import one_line
from benanza_schemas.topics import EVENTS, topic_and_key

log = logging.getLogger(__name__)

Refused = Mapping[int, Exception]
"""Why events could not be made durable, by their places among those that were handled."""

NOT_UNPACKED = "isn't unpacked"
"""Says of a dead letter that it holds a batch as the log has it, and no event."""


class Processor:
    """Decodes records, calls a core, and encodes what it returns.

    `handle` takes an event of one of the types in `takes` and returns the events that follow.
    A record that cannot be decoded, is of another type, or makes `handle` raise, becomes a dead
    letter with its reason. Errors in `stops_on` are no fault of the record, and go through.
    `clock` gives the time, in UTC. `group` is the name of the service's consumer group.
    """

    def __init__(
        self,
        group: str,
        takes: type[Event] | tuple[type[Event], ...],
        handle: Callable[[Any], Sequence[AnyEvent]],
        clock: Callable[[], datetime],
        stops_on: tuple[type[Exception], ...] = (),
    ) -> None:
        self._group = group
        self._takes = takes
        self._handle = handle
        self._clock = clock
        self._stops_on = stops_on
        self._breaker = CircuitBreaker(group)
        self._flushed = CircuitBreaker(group)
        self._duration = PROCESS_DURATION.labels(service_of(group))

    def process(
        self, record: Record, handled: list[tuple[Record, AnyEvent]] | None = None
    ) -> list[Message]:
        """What is to be appended before the record counts as processed.

        Is put into `handled`, with its event, where that could be processed.
        """
        event: AnyEvent | None = None
        try:
            with self._duration.time():
                event = _decoded(record)
                if not isinstance(event, self._takes):
                    raise _misplaced(record, f"{self._group} takes no {type(event).__name__}")
                following = [as_message(output) for output in self._handle(event)]
        except self._stops_on:
            raise
        except Exception as error:  # noqa: BLE001  # whatever it is, the stream goes on
            self._breaker.count(failed=True)
            return [self._failed(record, event, error)]
        self._breaker.count(failed=False)
        self._remember(record, event)
        if handled is not None:
            handled.append((record, event))
        return following

    def flushed(
        self, handled: Sequence[tuple[Record, AnyEvent]], refused: Refused
    ) -> list[Message]:
        """The dead letters of those records that were handled and then refused when that was to be
        made durable; to be appended before any of them counts as processed.
        """
        letters = []
        for place, (record, event) in enumerate(handled):
            error = refused.get(place)
            self._flushed.count(failed=error is not None)
            if error is not None:
                letters.append(self._failed(record, event, error))
        return letters

    def is_open(self) -> bool:
        """Whether so many records failed that no more should be processed."""
        return self._breaker.reached() or self._flushed.reached()

    def check(self) -> None:
        """Raises `CircuitOpenError` if so many records failed that the fault is hardly theirs.

        To be called once their dead letters are appended.
        """
        self._breaker.check()
        self._flushed.check()

    def _failed(self, record: Record, event: AnyEvent | None, error: Exception) -> Message:
        """The record's dead letter."""
        self._log_failure(record, event, error)
        DEAD_LETTERS.labels(record.partition.topic, type(error).__name__).inc()
        letter = dead_letter(record, self._group, error, self._clock())
        self._remember(record, event, letter.event_id, letter.reason)
        return as_message(letter)

    def _remember(
        self, record: Record, event: AnyEvent | None, letter_id: str = "", failure: str = ""
    ) -> None:
        kind = type(event).__name__ if event else ""
        model = RECENT.model_of(event)
        RECENT.add(Processed(now(), self._group, record, kind, letter_id, failure, model))

    def _log_failure(self, record: Record, event: AnyEvent | None, error: Exception) -> None:
        # Other errors than these are defects, and where they arose is worth knowing.
        caused = isinstance(error, BenanzaError | ValueError)
        log.log(
            logging.WARNING if caused else logging.ERROR,
            "%s could not process an event: %s",
            self._group,
            one_line(str(error)),
            exc_info=None if caused else error,
            extra={
                "event_id": event.event_id if event else None,
                "topic": record.partition.topic,
                "partition": record.partition.number,
                "offset": record.offset,
            },
        )


def as_message(event: AnyEvent) -> Message:
    """The event encoded, with the topic and key where it belongs."""
    topic, key = topic_and_key(event)
    return Message(topic=topic, key=key, value=encode(event))


def _decoded(record: Record) -> AnyEvent:
    """The record's event. Raises `DecodeError` that says which it should have been."""
    if isinstance(record.value, Unread):
        partition = record.partition
        raise DecodeError(
            f"{record.value.why}: what {partition.topic}, partition {partition.number}, holds up "
            f"to offset {record.offset} {NOT_UNPACKED}; say benanza topics, and publish it again"
        )
    try:
        return decode(record.value)
    except NewerVersionError as error:
        raise NewerVersionError(f"{error}, and then replay this") from error
    except DecodeError as error:
        raise _misplaced(record, str(error)) from error


def _misplaced(record: Record, why: str) -> DecodeError:
    topic = record.partition.topic
    wanted = " or ".join(event_type.__name__ for event_type in EVENTS.get(topic, ())) or "another"
    return DecodeError(
        f"{why}; in {topic} it should be {wanted}: drop this, and mend what wrote it"
    )
