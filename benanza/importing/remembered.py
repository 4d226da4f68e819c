"""Which files were imported into the embedded log, so that they needn't be read again.

What was counted of each lies in the data folder, by the file's digest, with how far the log went
then. It holds until something is taken back or forgotten: also what another file brought may have
been in this one. It may be deleted at any time, and what can't be read is not there.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from benanza_backbone.event_log.event_log import READ_AT_ONCE, EventLog, Partition
from benanza_backbone.settings import Settings
from benanza_schemas.events import ModelForgotten, RecordingWithdrawn
from benanza_schemas.topics import CHECKPOINTS, PROFILES, RESULTS

FILE = "imported.json"

_TAKING_BACK = tuple(of.__name__.encode() for of in (ModelForgotten, RecordingWithdrawn))
"""What stands in every event that takes something back."""


class FileCounts(msgspec.Struct, frozen=True):
    """What is in a file. `systems` are their ids."""

    systems: frozenset[str]
    measurements: int
    profiles: int
    witnesses: int


class _Imported(msgspec.Struct, frozen=True):
    counted: FileCounts
    ends: dict[str, dict[int, int]]


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
        if known is None or any(_takes_back(self._log, topic, known.ends) for topic in known.ends):
            return None
        return known.counted

    def remember(self, files: Mapping[str, FileCounts]) -> None:
        """Keeps what is in the files with these digests, of which the log has all, unless the disk
        refuses.
        """
        if self._path is None:
            return
        ends = {
            topic: {of.number: end for of, end in self._log.end_offsets(topic).items()}
            for topic in (RESULTS, PROFILES, CHECKPOINTS)
        }
        self._files |= {digest: _Imported(counted, ends) for digest, counted in files.items()}
        new = self._path.with_name(f"{FILE}.new")
        with suppress(OSError):
            new.write_bytes(msgspec.json.encode(self._files))
            new.replace(self._path)


def _takes_back(log: EventLog, topic: str, ends: Mapping[str, Mapping[int, int]]) -> bool:
    """Whether something was taken back since a topic ended there, or it ends sooner now."""
    for partition, end in log.end_offsets(topic).items():
        since = ends[topic].get(partition.number, 0)
        if end < since or _has_any(log, partition, since, end):
            return True
    return False


def _has_any(log: EventLog, partition: Partition, since: int, end: int) -> bool:
    while since < end and (records := log.read(partition, since, READ_AT_ONCE)):
        if any(name in record.value for record in records for name in _TAKING_BACK):
            return True
        since = records[-1].offset + 1
    return False
