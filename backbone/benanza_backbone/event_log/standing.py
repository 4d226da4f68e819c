"""What counts of a log: measurements without those of recordings that were withdrawn, and models
without those that were forgotten.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime

import msgspec

from benanza_backbone.event_log.event_log import EventLog, Record
from benanza_backbone.event_log.readable import readable
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import (
    MARK,
    SCHEMA_VERSION,
    CheckpointIngested,
    LayerMeasured,
    ModelForgotten,
    RecordingWithdrawn,
    recording_of,
)
from benanza_schemas.layer import Precision
from benanza_schemas.topics import CHECKPOINTS, RESULTS

_DIGEST_LENGTH = 64
"""Of the key of a withdrawal; other keys in the topic are shorter, so that few are decoded."""


def standing_checkpoints(log: EventLog) -> Iterator[CheckpointIngested]:
    """The models that are ingested, without those that were forgotten since. Raises `BenanzaError`
    as `EventLog.records` does.
    """
    standing: dict[str, dict[str, CheckpointIngested]] = defaultdict(dict)
    for _, event in readable(log, CHECKPOINTS):
        if isinstance(event, CheckpointIngested):
            standing[event.model_id].pop(event.event_id, None)
            standing[event.model_id][event.event_id] = event
        elif isinstance(event, ModelForgotten):
            standing.pop(event.model_id, None)
    for events in standing.values():
        yield from events.values()


class _Variant(msgspec.Struct):
    failure: str = ""
    stopped_by: str = ""


class TriedSystem(msgspec.Struct):
    """What is read of a `System`."""

    system_id: str
    runtime: str
    accelerator: str
    cpu: str
    method: str


class TriedLayer(msgspec.Struct, tag_field="type", tag="LayerMeasured"):
    """What is read of a `LayerMeasured` where its samples don't matter, which are most of it."""

    schema_version: int
    fingerprint: str
    system: TriedSystem
    precision: Precision
    measured_at: datetime
    variants: list[_Variant]
    environment: dict[str, str] = {}


class _Other(msgspec.Struct, tag_field="type", tag="SystemMeasured"):
    pass


_TRIES = msgspec.msgpack.Decoder(TriedLayer | _Other)


def standing_measurements(
    log: EventLog, keys: Collection[bytes] | None = None
) -> Iterator[tuple[Record, LayerMeasured]]:
    """The measurements in the topic `results`, in its order; only those with one of these keys, if
    some are given. Those that were imported from a file are left out where a withdrawal of it comes
    later. Raises `BenanzaError` as `EventLog.records` does.
    """
    withdrawn = _withdrawn(log)
    for record, event in readable(log, RESULTS, keys):
        # The topic has one partition, so offsets say what came first.
        standing = record.offset > withdrawn.get(recording_of(event), -1)
        if standing and isinstance(event, LayerMeasured):
            yield record, event


def standing_tries(log: EventLog) -> Iterator[TriedLayer]:
    """The same measurements by what says who tried which layer, in a tenth of the time. Records
    that can't be read are left out.
    """
    withdrawn = _withdrawn(log)
    for record in log.records(RESULTS):
        if len(record.key) == _DIGEST_LENGTH:
            continue
        try:
            event = _TRIES.decode(record.value)
        except msgspec.MsgspecError:
            continue
        if (
            isinstance(event, TriedLayer)
            and event.schema_version <= SCHEMA_VERSION
            and record.offset > withdrawn.get(event.environment.get(MARK, ""), -1)
        ):
            yield event


def _withdrawn(log: EventLog) -> dict[str, int]:
    """The offset of the last withdrawal of each file."""
    return {
        taken_back.digest: record.offset
        for record in log.records(RESULTS)
        if len(record.key) == _DIGEST_LENGTH and (taken_back := _withdrawal(record))
    }


def _withdrawal(record: Record) -> RecordingWithdrawn | None:
    try:
        event = decode(record.value)
    except DecodeError:
        return None
    return event if isinstance(event, RecordingWithdrawn) else None
