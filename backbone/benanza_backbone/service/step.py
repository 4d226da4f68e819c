"""The shell of a service: reads events, calls the core, writes what it returns, commits.

In that order, so that a crash loses nothing: what was written and not committed is read and
written again, under the same event ids.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import prometheus_client

from benanza_backbone.closing import Closing
from benanza_backbone.event_log.event_log import Consumer, EventLog, Message, Partition, Record
from benanza_backbone.service.lag_report import LagReport
from benanza_backbone.service.processor import Processor, Refused
from benanza_backbone.telemetry import (
    REBALANCES,
    RECORD_AGE,
    RECORDS_CONSUMED,
    RECORDS_PRODUCED,
)
from benanza_schemas.consumer_groups import ConsumerGroup, service_of
from benanza_schemas.events import AnyEvent, Event
from benanza_schemas.topics import LAYERS

Offsets = Mapping[Partition, int]
"""For each partition held, the offset from which processing goes on."""


class Step(Closing):
    """One service's way through its topics.

    `takes`, `handle`, `clock` and `stops_on` are those of `Processor`: what can't be processed
    goes to the dead letters, and the stream goes on.

    `ahead`, if given, is called with the records of a turn before any of them is processed.

    `recover`, if given, is called whenever partitions were given to this step or taken from it,
    before anything more is processed, with the offsets from which processing would go on, and
    with the consumer: so that what `handle` remembers can be brought in line with them. It returns
    the offsets from which to go on instead, for those partitions where that is to be elsewhere; or
    None if others may hold the partitions by now, and then it is called again. `flush`, if
    given, is called before each commit, with the offsets that are to be committed: what
    `handle` has only taken in has to be durable when it returns. It returns which of the events
    that `handle` has taken in since the last flush can't be made so, whatever is done: they become
    dead letters. `probe`, if given, is called by `check`. Errors of these three stop the step.
    """

    def __init__(
        self,
        event_log: EventLog,
        group: ConsumerGroup,
        takes: type[Event] | tuple[type[Event], ...],
        handle: Callable[[Any], Sequence[AnyEvent]],
        clock: Callable[[], datetime],
        *,
        ahead: Callable[[Sequence[Record]], None] | None = None,
        recover: Callable[[Offsets, Consumer], Offsets | None] | None = None,
        flush: Callable[[Offsets], Refused] | None = None,
        probe: Callable[[], None] | None = None,
        stops_on: tuple[type[Exception], ...] = (),
    ) -> None:
        self._log = event_log
        self._processor = Processor(group.name, takes, handle, clock, stops_on)
        # All of them are 0 from the beginning: what a counter begins with counts in no rate.
        self._ages = {
            topic: RECORD_AGE.labels(service_of(group.name), topic)
            for topic in (*group.topics, *group.whole)
        }
        self._clock = clock
        self._ahead = ahead
        self._recover = recover
        self._flush = flush
        self._probe = probe
        self._lag = LagReport(group.name)
        self._rebalances = 0
        self._consumer = event_log.consumer(*group)

    def turn(self, limit: int, timeout: float = 0.0) -> int:
        """Processes up to `limit` records and commits them; returns how many there were.

        Waits up to `timeout` seconds for the first. Raises `BenanzaError` if the log can't be
        reached, or as `recover` and `flush` do; and `CircuitOpenError` if so many events could not
        be processed that the fault is hardly theirs. Where it raises, the step can only be
        closed; another one goes on from the last commit.
        """
        records = self._consumer.poll(limit, timeout)
        if self._consumer.rebalances() != self._rebalances:
            records = self._recovered(records)
        if not records:
            return 0
        self._lag.began(records)
        if self._ahead:
            self._ahead(records)
        following: list[Message] = []
        handled: list[tuple[Record, AnyEvent]] = []
        for number, record in enumerate(records, 1):
            following += self._processor.process(record, handled)
            if self._processor.is_open():
                self._leave(records[number:])
                records = records[:number]
                break
        self._append(following)
        if self._flush:
            refused = self._flush(self._consumer.position())
            if letters := self._processor.flushed(handled, refused):
                self._append(letters)
                following += letters
        self._consumer.commit()
        self._observe_ages(records)
        _count(RECORDS_CONSUMED, (record.partition.topic for record in records))
        _count(RECORDS_PRODUCED, (message.topic for message in following))
        self._processor.check()
        return len(records)

    def process(self, record: Record) -> None:
        """Processes a record of the log that was chosen, whatever was committed; commits nothing.

        For steps without `flush`. `ahead` isn't called. Raises as `turn` does.
        """
        self._append(self._processor.process(record))
        self._processor.check()

    def waiting(self) -> int:
        """How many records are still to be processed, as far as this consumer holds them."""
        return sum(self._consumer.lag().values())

    def held(self) -> int | None:
        """How many partitions this step holds; None while its group has not said yet."""
        return len(self._consumer.position()) if self._consumer.rebalances() else None

    def check(self) -> int:
        """How many records wait. Brings the metrics of them up to date, and sees whether all that
        the step stands on answers. Raises `BenanzaError` if something doesn't.
        """
        lag = self._consumer.lag()
        self._lag.refresh(lag)
        if self._probe:
            self._probe()
        return sum(lag.values())

    def close(self) -> None:
        """Leaves the group."""
        self._lag.close()
        self._consumer.close()

    def _observe_ages(self, records: Sequence[Record]) -> None:
        """Updates the metric. Whoever stamped a record may have a clock that is ahead."""
        now = self._clock()
        for record in records:
            age = (now - record.timestamp).total_seconds()
            self._ages[record.partition.topic].observe(max(0.0, age))

    def _append(self, messages: Sequence[Message]) -> None:
        """Appends layers first, and what else there is once they are durable.

        Where a graph is in the log, other models of its architecture bring no layers any more.
        """
        layers = [message for message in messages if message.topic == LAYERS]
        others = [message for message in messages if message.topic != LAYERS]
        for together in (layers, others):
            if together:
                self._log.append(together)

    def _leave(self, records: Sequence[Record]) -> None:
        """Goes on with these the next time, as if they hadn't been read."""
        first = {record.partition: record.offset for record in reversed(records)}
        for partition, offset in first.items():
            self._consumer.seek(partition, offset)

    def _recovered(self, records: list[Record]) -> list[Record]:
        """Those of the records with which processing goes on, with other partitions than before.

        A partition that goes on elsewhere is sought there, and read again with the next poll.
        """
        now = self._consumer.rebalances()
        offsets = self._consumer.position()
        offsets |= {record.partition: record.offset for record in reversed(records)}
        asked = self._recover(offsets, self._consumer) if self._recover else {}
        if asked is None:
            self._leave(records)
            return []
        REBALANCES.inc(now - self._rebalances)
        self._rebalances = now
        elsewhere = {p: offset for p, offset in asked.items() if offset != offsets[p]}
        for partition, offset in elsewhere.items():
            self._consumer.seek(partition, offset)
        return [record for record in records if record.partition not in elsewhere]


def _count(counter: prometheus_client.Counter, topics: Iterable[str]) -> None:
    for topic, records in Counter(topics).items():
        counter.labels(topic).inc(records)
