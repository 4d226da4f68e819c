"""Layer events for dedupe, and what is in a topic afterwards."""

from benanza_backbone.event_log.event_log import EventLog, Message
from benanza_backbone.service.processor import as_message
from tests.dedupe.test_core import chain, seen


def layers(numbers: range, model: str) -> list[Message]:
    """A model that contains these layers."""
    return [as_message(seen(chain(("Relu",), number + 1), model)) for number in numbers]


def written(log: EventLog, topic: str) -> list[bytes]:
    """The values in a topic."""
    values: list[bytes] = []
    for partition, end in log.end_offsets(topic).items():
        offset = 0
        while offset < end and (records := log.read(partition, offset, 5000)):
            values += [record.value for record in records]
            offset = records[-1].offset + 1
    return values
