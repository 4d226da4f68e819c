"""`benanza import`: recorded measurements into the event log."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace

from benanza.importing.known import Known, key_of, made_at
from benanza.importing.recording import Recorded, digest_of, read_recording
from benanza.importing.remembered import FileCounts, Remembered
from benanza.installation.configured import configured_log
from benanza.results.import_recordings import Imported
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Message
from benanza_backbone.settings import Settings
from benanza_schemas.codec import encode
from benanza_schemas.events import (
    MARK,
    SCHEMA_VERSION,
    LayerMeasured,
    ModelProfiled,
    ModelWitnessed,
    SystemMeasured,
)
from benanza_schemas.topics import topic_and_key

AT_ONCE = 1000
MOST_AHEAD = timedelta(days=1)
"""How far clocks may differ. The newest ceilings and failures count, so that those of a later year
would stand for ever."""


def import_recordings(files: Sequence[Path], settings: Settings) -> Imported:
    """Appends to the topics `results` and `profiles` what they lack of these files. The bounds of
    all known models follow from the measurements.

    Each event says which file it came in, so that `withdraw_recordings` can take it back. What was
    measured here counts instead, so nothing is taken in of layers that were measured here on the
    same system. Reads every file to its end before it appends anything, but none of which the
    embedded log has all. Raises `BenanzaError` as `read_recording` does, if a time lies ahead, or
    if the log can't be reached.
    """
    digests = {file: digest_of(file) for file in files}
    new = left_out = 0
    with configured_log(settings) as log:
        remembered = Remembered(settings, log)
        known_before = {
            file: counted
            for file, digest in digests.items()
            if (counted := remembered.counted(digest)) is not None
        }
        unread = [file for file in digests if file not in known_before]
        read: dict[Path, FileCounts] = {}
        if unread:
            known = Known(log)
            lacking: set[bytes] = set()
            for file in unread:
                read[file], new_here, left_out_here = _read(file, known, lacking)
                new += new_here
                left_out += left_out_here
            for file in unread if lacking else ():
                for messages in _batched(_messages(file, digests[file], lacking)):
                    log.append(messages)
            remembered.remember({digests[file]: counted for file, counted in read.items()})
    counts = [(known_before | read)[file] for file in files]
    return Imported(
        systems=len(frozenset().union(*(counted.systems for counted in counts))),
        measurements=sum(counted.measurements for counted in counts),
        new=new,
        left_out=left_out,
        profiles=sum(counted.profiles for counted in counts),
        witnesses=sum(counted.witnesses for counted in counts),
        unread=len(digests) - len(unread),
    )


def _read(file: Path, known: Known, lacking: set[bytes]) -> tuple[FileCounts, int, int]:
    """What is in a file, and how many measurements in it are new or left out. Adds to `lacking`
    what the log lacks of it.
    """
    systems: set[str] = set()
    layers = profiles = witnesses = new = left_out = 0
    for _, event in read_recording(file):
        _check_time(file, event)
        measured = isinstance(event, LayerMeasured)
        layers += measured
        match event:
            case ModelProfiled():
                profiles += 1
            case ModelWitnessed():
                witnesses += 1
            case _:
                systems.add(event.system.system_id)
        key = key_of(event)
        if key in known.keys or key in lacking:
            continue
        if known.measured_here(event):
            left_out += measured
        else:
            lacking.add(key)
            new += measured
    return FileCounts(frozenset(systems), layers, profiles, witnesses), new, left_out


def _check_time(file: Path, event: Recorded) -> None:
    if (measured_at := made_at(event)) > now() + MOST_AHEAD:
        raise BenanzaError(
            f"{file} has a measurement of {measured_at:%Y-%m-%d %H:%M}, which is yet to come; set "
            "this machine's clock, or record it again where the clock is right"
        )


def _messages(file: Path, digest: str, lacking: set[bytes]) -> Iterator[Message]:
    """The events that the log lacks, each once; takes them out of `lacking`."""
    for _, event in read_recording(file):
        if (key := key_of(event)) in lacking:
            lacking.remove(key)
            yield Message(*topic_and_key(event), encode(_marked(event, digest)))


def _marked(event: Recorded, digest: str) -> Recorded:
    event = replace(event, schema_version=SCHEMA_VERSION)
    if isinstance(event, SystemMeasured | ModelWitnessed):
        return replace(event, imported_from=digest)
    return replace(event, environment={**event.environment, MARK: digest})


def _batched(messages: Iterator[Message]) -> Iterator[list[Message]]:
    batch: list[Message] = []
    for message in messages:
        batch.append(message)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch
