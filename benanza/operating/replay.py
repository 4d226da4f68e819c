"""`replay`: a service goes back and reads again what it has read before."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from benanza.installation.configured import configured_log
from benanza.results.operating import MovedOffset, Replay
from benanza.services import SERVICES
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Consumer, EventLog, Partition
from benanza_backbone.event_log.readable import events_of
from benanza_backbone.settings import Settings
from benanza_schemas.consumer_groups import (
    AGENT,
    RUNNER,
    SINK,
    runner_group,
)
from benanza_schemas.events import LayerMeasured
from benanza_schemas.topics import RESULTS


class Place(NamedTuple):
    """An offset of a partition."""

    partition: Partition
    offset: int


Origin = Place | datetime | None
"""From where to read again: a place, a time, or (None) the first record."""


def replay(settings: Settings, service: str, origin: Origin, group: str | None = None) -> Replay:
    """Moves the committed offsets of a service's consumer group; the service must be stopped.

    A time, or the first record, moves every partition that the service reads, and only back:
    what still waits is not skipped. A place moves its partition to there, also forward. A
    runner's `group` has to be named; agents have nothing to read again. Raises `BenanzaError` if
    the group is at work, if there is no such group or place, or if the log can't be reached; then
    nothing was moved.
    """
    parts = SERVICES[service]
    name, *topics = parts.group
    read = [topic for names in topics for topic in names]
    if isinstance(origin, Place) and origin.partition.topic not in read:
        raise BenanzaError(
            f"{service} doesn't read {origin.partition.topic}; it reads {', '.join(read)}"
        )
    if service == AGENT:
        raise BenanzaError(
            "an agent doesn't do again what has a result; ask anew: benanza evaluations request"
        )
    if group is not None and service != RUNNER:
        raise BenanzaError(f"--group is for runners alone; {service} has one group")
    with configured_log(settings) as log:
        group = _runners_group(log, group) if service == RUNNER else name
        with log.consumer(group, *topics) as consumer:
            before = consumer.position()
            if before.keys() != {p for topic in read for p in log.end_offsets(topic)}:
                raise BenanzaError(
                    f"the group {group} has members at work: stop `benanza serve {parts.process}` "
                    "first; if it was killed, wait a minute until its session has run out"
                )
            if isinstance(origin, Place):
                _check_place(service, origin, before)
            _seek(consumer, origin)
            consumer.commit()
            asked = consumer.position()
        with log.consumer(group, *topics) as consumer:
            after = consumer.position()
        if after != asked:
            raise BenanzaError(
                f"the group {group} was given a new member meanwhile, and stays where it was: stop "
                "its services, and say it again"
            )
    return Replay(
        service=service,
        group=group,
        partitions=tuple(
            MovedOffset(topic=p.topic, partition=p.number, before=before[p], after=after[p])
            for p in sorted(before)
        ),
    )


def _check_place(service: str, place: Place, before: Mapping[Partition, int]) -> None:
    topic, number = place.partition.topic, place.partition.number
    if place.partition not in before:
        last = max(partition.number for partition in before if partition.topic == topic)
        raise BenanzaError(f"{topic} has no partition {number}; the last is {last}")
    if service == SINK and place.offset > before[place.partition]:
        # The store remembers how far it is, and the sink goes on from the lower of the two.
        raise BenanzaError(
            f"the sink can't skip: what it leaves out would be missing in the store; name an "
            f"offset up to {before[place.partition]}"
        )


def _seek(consumer: Consumer, origin: Origin) -> None:
    match origin:
        case None:
            for partition in consumer.position():
                consumer.seek(partition, 0)
        case Place():
            consumer.seek(origin.partition, origin.offset)
        case datetime():
            before = consumer.position()
            consumer.seek_to_time(origin)
            for partition, offset in consumer.position().items():
                if offset > before[partition]:
                    consumer.seek(partition, before[partition])


def _runners_group(log: EventLog, group: str | None) -> str:
    """The group named, if a runner under that name has published a result."""
    known = {
        runner_group(event.system.system_id, event.precision).name
        for event in events_of(log, RESULTS, LayerMeasured)
    }
    if group in known:
        return str(group)
    named = f"no runner of group {group} has published a result" if group else "name the group"
    if not known:
        raise BenanzaError(f"{named}: there are no results at all, so runners begin at the start")
    raise BenanzaError(f"{named}: --group is one of {', '.join(sorted(known))}")
