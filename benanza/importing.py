"""`benanza import`: recorded measurements into the event log."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from benanza.event_logs import configured_log
from benanza.operator_results import Imported
from benanza.recording import Recorded, read_recording
from benanza.steps import records
from benanza_backbone.event_log import EventLog, Message
from benanza_backbone.processor import as_message
from benanza_backbone.settings import Settings
from benanza_schemas.events import LayerMeasured
from benanza_schemas.topics import RESULTS

AT_ONCE = 1000


def import_recordings(files: Sequence[Path], settings: Settings) -> Imported:
    """Appends to the topic `results` what these files hold and it doesn't; the bounds of all
    models that are known follow from it.

    Reads every file to its end before it appends anything. Raises `BenanzaError` as
    `read_recording` does, or if the log can't be reached.
    """
    for file in files:
        for _ in read_recording(file):
            pass
    systems, layers, new = set(), 0, 0
    with configured_log(settings) as log:
        known = {_digest(record.value) for record in records(log, RESULTS)}
        for file in files:
            for events in _batched(read_recording(file)):
                systems |= {event.system.system_id for event in events}
                layers += sum(isinstance(event, LayerMeasured) for event in events)
                new += _append(log, events, known)
    return Imported(systems=len(systems), measurements=layers, new=new)


def _append(log: EventLog, events: Iterable[Recorded], known: set[bytes]) -> int:
    """Appends those that aren't known; how many measurements of layers were among them."""
    new: list[Message] = []
    measurements = 0
    for event in events:
        message = as_message(event)
        digest = _digest(message.value)
        if digest not in known:
            known.add(digest)
            new.append(message)
            measurements += isinstance(event, LayerMeasured)
    if new:
        log.append(new)
    return measurements


def _digest(value: bytes) -> bytes:
    return blake2b(value, digest_size=16).digest()


def _batched(events: Iterator[Recorded]) -> Iterator[list[Recorded]]:
    batch: list[Recorded] = []
    for event in events:
        batch.append(event)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch
