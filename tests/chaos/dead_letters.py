"""Which dead letters there are, and which there should be."""

from collections.abc import Iterator

from benanza_backbone.event_log.event_log import EventLog
from benanza_schemas.codec import decode
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, is_of
from benanza_schemas.events import DeadLetter
from benanza_schemas.topics import DEAD_LETTERS
from tests.chaos.publisher import POISON

Place = tuple[str, str, int, int]
"""A service, and the topic, partition and offset of a record that it could not process."""


def wrong_dead_letters(log: EventLog) -> list[str]:
    """Where they aren't one for each service that reads a record of poison, and no others."""
    found = dict(_dead_letters(log))
    wanted = set(_poisoned(log))
    wrong = [f"no dead letter of {place}" for place in sorted(wanted - found.keys())]
    wrong += [f"a dead letter of {place}: {found[place]}" for place in found.keys() - wanted]
    return wrong


def _dead_letters(log: EventLog) -> Iterator[tuple[Place, str]]:
    for record in log.records(DEAD_LETTERS):
        letter = decode(record.value)
        assert isinstance(letter, DeadLetter)
        (service,) = [name for name in CONSUMER_GROUPS if is_of(letter.service, name)]
        yield (service, letter.topic, letter.partition, letter.offset), letter.reason


def _poisoned(log: EventLog) -> Iterator[Place]:
    """Where poison is: what was appended twice, when the broker went away, is there twice."""
    values = {message.value for message in POISON}
    for topic in sorted({message.topic for message in POISON}):
        readers = [
            name
            for name, group in CONSUMER_GROUPS.items()
            if topic in (*group.topics, *group.whole)
        ]
        for record in log.records(topic):
            if record.value in values:
                for reader in readers:
                    yield reader, topic, record.partition.number, record.offset
