"""`benanza import`: recorded measurements into the event log."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from benanza.importing.recording import read_recording
from benanza.installation.configured import configured_log
from benanza.results.import_recordings import Imported
from benanza_backbone.event_log.event_log import Message
from benanza_backbone.settings import Settings
from benanza_schemas.events import LayerMeasured, ModelProfiled
from benanza_schemas.topics import PROFILES, RESULTS, topic_and_key

AT_ONCE = 1000


def import_recordings(files: Sequence[Path], settings: Settings) -> Imported:
    """Appends to the topics `results` and `profiles` what they lack of these files. The bounds of
    all known models follow from the measurements.

    Reads every file to its end before it appends anything. Raises `BenanzaError` as
    `read_recording` does, or if the log can't be reached.
    """
    systems: set[str] = set()
    layers = profiles = new = 0
    with configured_log(settings) as log:
        known = {
            _digest(record.value) for topic in (RESULTS, PROFILES) for record in log.records(topic)
        }
        lacking: set[bytes] = set()
        for file in files:
            for encoded, event in read_recording(file):
                measured = isinstance(event, LayerMeasured)
                layers += measured
                if isinstance(event, ModelProfiled):
                    profiles += 1
                else:
                    systems.add(event.system.system_id)
                if (digest := _digest(encoded)) not in known and digest not in lacking:
                    lacking.add(digest)
                    new += measured
        for file in files if lacking else ():
            for messages in _batched(_messages(file, lacking)):
                log.append(messages)
    return Imported(systems=len(systems), measurements=layers, new=new, profiles=profiles)


def _messages(file: Path, lacking: set[bytes]) -> Iterator[Message]:
    """The events that the log lacks, each once; takes them out of `lacking`."""
    for encoded, event in read_recording(file):
        if (digest := _digest(encoded)) in lacking:
            lacking.remove(digest)
            yield Message(*topic_and_key(event), encoded)


def _digest(value: bytes) -> bytes:
    return blake2b(value, digest_size=16).digest()


def _batched(messages: Iterator[Message]) -> Iterator[list[Message]]:
    batch: list[Message] = []
    for message in messages:
        batch.append(message)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch
