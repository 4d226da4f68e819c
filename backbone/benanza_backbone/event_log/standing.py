"""The measurements of layers in a log, without those of recordings that were withdrawn."""

from collections.abc import Collection, Iterator

from benanza_backbone.event_log.event_log import EventLog, Record
from benanza_backbone.event_log.readable import readable
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import LayerMeasured, RecordingWithdrawn, recording_of
from benanza_schemas.topics import RESULTS

_DIGEST_LENGTH = 64
"""Of the key of a withdrawal; other keys in the topic are shorter, so that few are decoded."""


def standing_measurements(
    log: EventLog, keys: Collection[bytes] | None = None
) -> Iterator[tuple[Record, LayerMeasured]]:
    """The measurements in the topic `results`, in its order; only those with one of these keys, if
    some are given. Those that were imported from a file are left out where a withdrawal of it comes
    later. Raises `BenanzaError` as `EventLog.records` does.
    """
    withdrawn = {
        taken_back.digest: record.offset
        for record in log.records(RESULTS)
        if len(record.key) == _DIGEST_LENGTH and (taken_back := _withdrawal(record))
    }
    for record, event in readable(log, RESULTS, keys):
        # The topic has one partition, so offsets say what came first.
        standing = record.offset > withdrawn.get(recording_of(event), -1)
        if standing and isinstance(event, LayerMeasured):
            yield record, event


def _withdrawal(record: Record) -> RecordingWithdrawn | None:
    try:
        event = decode(record.value)
    except DecodeError:
        return None
    return event if isinstance(event, RecordingWithdrawn) else None
