"""Which files were imported into the embedded log, so that they needn't be read again.

What was counted of each lies in the data folder, by the file's digest, with how far the log went
then. It holds until something is taken back or forgotten: also what another file brought may have
been in this one. It doesn't hold of another log that came into the folder since. It may be deleted
at any time, and what can't be read is not there.
"""

from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

from benanza_backbone.event_log.event_log import READ_AT_ONCE, EventLog, Partition
from benanza_backbone.settings import Settings
from benanza_schemas.events import ModelForgotten, RecordingWithdrawn
from benanza_schemas.topics import CHECKPOINTS, COMPACTED, PROFILES, RESULTS

FILE = "imported.json"

_TAKING_BACK = tuple(of.__name__.encode() for of in (ModelForgotten, RecordingWithdrawn))
"""What stands in every event that takes something back."""


class FileCounts(msgspec.Struct, frozen=True):
    """What is in a file. `systems` are their ids."""

    systems: frozenset[str]
    measurements: int
    profiles: int
    witnesses: int


class _End(msgspec.Struct, frozen=True):
    """How far a topic went, and the digest of its last event."""

    offset: int
    last: str


class _Imported(msgspec.Struct, frozen=True):
    counted: FileCounts
    ends: dict[str, _End]


_DECODER = msgspec.json.Decoder(dict[str, _Imported])


class Remembered:
    """The files of an installation; none where the log is Kafka's, which others write, too."""

    def __init__(self, settings: Settings, log: EventLog) -> None:
        self._path: Path | None = None if settings.kafka else settings.data / FILE
        self._log = log
        self._files: dict[str, _Imported] = {}
        if self._path is not None:
            with suppress(OSError, msgspec.MsgspecError, ValueError):
                self._files = _DECODER.decode(self._path.read_bytes())

    def counted(self, digest: str) -> FileCounts | None:
        """What is in the file with this digest, if it was imported and all of it is still known.

        Raises `BenanzaError` if the log can't be read.
        """
        known = self._files.get(digest)
        if known is None:
            return None
        holds = all(_still_holds(self._log, topic, end) for topic, end in known.ends.items())
        return known.counted if holds else None

    def remember(self, files: Mapping[str, FileCounts]) -> None:
        """Keeps what is in the files with these digests, of which the log has all, unless the disk
        refuses.
        """
        if self._path is None:
            return
        ends = {topic: _end_of(self._log, topic) for topic in (RESULTS, PROFILES, CHECKPOINTS)}
        self._files |= {digest: _Imported(counted, ends) for digest, counted in files.items()}
        new = self._path.with_name(f"{FILE}.new")
        with suppress(OSError):
            new.write_bytes(msgspec.json.encode(self._files))
            new.replace(self._path)


def _end_of(log: EventLog, topic: str) -> _End:
    ((partition, offset),) = log.end_offsets(topic).items()
    return _End(offset, _last(log, partition, offset))


def _last(log: EventLog, partition: Partition, end: int) -> str:
    """The digest of the record before this end of a partition; empty if there is none."""
    records = log.read(partition, end - 1, 1) if end else []
    return blake2b(records[0].value, digest_size=16).hexdigest() if records else ""


def _still_holds(log: EventLog, topic: str, since: _End) -> bool:
    """Whether the log is the same as when a topic ended there, and nothing was taken back since."""
    ((partition, end),) = log.end_offsets(topic).items()
    # Pruning takes events out of compacted topics.
    is_same = topic in COMPACTED or _last(log, partition, since.offset) == since.last
    return end >= since.offset and is_same and not _takes_back(log, partition, since.offset, end)


def _takes_back(log: EventLog, partition: Partition, since: int, end: int) -> bool:
    while since < end and (records := log.read(partition, since, READ_AT_ONCE)):
        if any(name in record.value for record in records for name in _TAKING_BACK):
            return True
        since = records[-1].offset + 1
    return False
