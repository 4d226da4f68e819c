"""What a log has of recordings, and what of it was measured here."""

from collections import defaultdict
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from benanza.importing.recording import Recorded
from benanza_backbone.event_log.event_log import EventLog
from benanza_schemas.events import (
    MARK,
    LayerMeasured,
    ModelProfiled,
    ModelWitnessed,
    SystemMeasured,
)
from benanza_schemas.topics import PROFILES, RESULTS


class _System(msgspec.Struct):
    system_id: str


class _Measured(msgspec.Struct, tag_field="type", tag="LayerMeasured"):
    """What is read of a LayerMeasured: the rest would take most of the time."""

    event_id: str
    fingerprint: str
    system: _System
    precision: str
    measured_at: datetime
    environment: dict[str, str] = {}


class _Ceilings(msgspec.Struct, tag_field="type", tag="SystemMeasured"):
    event_id: str
    measured_at: datetime
    imported_from: str = ""


class _Profiled(msgspec.Struct, tag_field="type", tag="ModelProfiled"):
    event_id: str
    model_id: str
    profiled_at: datetime
    environment: dict[str, str] = {}


class _Witnessed(msgspec.Struct, tag_field="type", tag="ModelWitnessed"):
    event_id: str
    model_id: str
    witnessed_at: datetime
    imported_from: str = ""


class _Withdrawn(msgspec.Struct, tag_field="type", tag="RecordingWithdrawn"):
    digest: str
    model_id: str = ""


_Kept = _Measured | _Ceilings | _Profiled | _Witnessed

_DECODER = msgspec.msgpack.Decoder(_Kept | _Withdrawn)


class Taken(NamedTuple):
    """What stands of a file in one place of the log: `measurements` are those of layers,
    `profiles` runs by a framework. The other keys are of ceilings, or of witnesses.
    """

    keys: set[bytes]
    measurements: set[bytes]
    profiles: set[bytes]


class Known:
    """What a log has. `keys` are those of `key_of`, without those of withdrawn recordings.

    A measurement without a mark was measured here. `of_recordings` is by digest and then by model
    for runs, under an empty text for measurements: as `RecordingWithdrawn` names them. Raises
    `BenanzaError` if the log can't be reached.
    """

    def __init__(self, log: EventLog) -> None:
        self.keys: set[bytes] = set()
        self.of_recordings: dict[str, dict[str, Taken]] = defaultdict(dict)
        self._layers: set[tuple[str, str, str]] = set()
        self._systems: set[str] = set()
        for topic in (RESULTS, PROFILES):
            for record in log.records(topic):
                # Of other kinds nothing is imported.
                with suppress(msgspec.DecodeError):
                    self._add(_DECODER.decode(record.value))

    def _add(self, event: _Kept | _Withdrawn) -> None:
        if isinstance(event, _Withdrawn):
            if taken := self.of_recordings[event.digest].pop(event.model_id, None):
                self.keys -= taken.keys
            return
        match event:
            case _Ceilings():
                time, mark, place = event.measured_at, event.imported_from, ""
            case _Measured():
                time, mark, place = event.measured_at, event.environment.get(MARK, ""), ""
            case _Profiled():
                time, mark, place = (
                    event.profiled_at,
                    event.environment.get(MARK, ""),
                    event.model_id,
                )
            case _Witnessed():
                time, mark, place = event.witnessed_at, event.imported_from, event.model_id
        key = _key(event.event_id, time)
        self.keys.add(key)
        if mark:
            taken = self.of_recordings[mark].setdefault(place, Taken(set(), set(), set()))
            taken.keys.add(key)
            if isinstance(event, _Measured):
                taken.measurements.add(key)
            if isinstance(event, _Profiled):
                taken.profiles.add(key)
        elif isinstance(event, _Measured):
            self._layers.add((event.fingerprint, event.system.system_id, event.precision))
            self._systems.add(event.system.system_id)

    def measured_here(self, event: Recorded) -> bool:
        """Whether the same layer was measured here on the same system in the same precision, or
        layers were on the system whose ceilings these are.
        """
        if isinstance(event, LayerMeasured):
            layer = (event.fingerprint, event.system.system_id, event.precision)
            return layer in self._layers
        return isinstance(event, SystemMeasured) and event.system.system_id in self._systems


def key_of(event: Recorded) -> bytes:
    """The same for the same event, marked or not."""
    return _key(event.event_id, made_at(event))


def made_at(event: Recorded) -> datetime:
    """When what the event tells of was measured or run."""
    match event:
        case ModelProfiled():
            return event.profiled_at
        case ModelWitnessed():
            return event.witnessed_at
        case _:
            return event.measured_at


def _key(event_id: str, time: datetime) -> bytes:
    text = f"{event_id} {time.astimezone(UTC).isoformat()}"
    return blake2b(text.encode(), digest_size=16).digest()
