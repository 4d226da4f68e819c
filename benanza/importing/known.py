"""What a log has already of what is to be imported, and what of it was measured here."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b

import msgspec

from benanza.importing.recording import Recorded
from benanza_schemas.events import LayerMeasured, ModelProfiled, SystemMeasured

MARK = "imported_from"
"""What an imported event's environment has the SHA-256 of its file under."""


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


class _Profiled(msgspec.Struct, tag_field="type", tag="ModelProfiled"):
    event_id: str
    profiled_at: datetime


_DECODER = msgspec.msgpack.Decoder(_Measured | _Ceilings | _Profiled)


class Known:
    """What records of the log's topics say. `keys` are those of `key_of`.

    A measurement without a mark was measured here.
    """

    def __init__(self, records: Iterable[bytes]) -> None:
        self.keys: set[bytes] = set()
        self._layers: set[tuple[str, str, str]] = set()
        self._systems: set[str] = set()
        for record in records:
            # Of other kinds, such as ModelWitnessed, nothing is imported.
            with suppress(msgspec.DecodeError):
                self._add(_DECODER.decode(record))

    def _add(self, found: _Measured | _Ceilings | _Profiled) -> None:
        at = found.profiled_at if isinstance(found, _Profiled) else found.measured_at
        self.keys.add(_key(found.event_id, at))
        if isinstance(found, _Measured) and MARK not in found.environment:
            self._layers.add((found.fingerprint, found.system.system_id, found.precision))
            self._systems.add(found.system.system_id)

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
    at = event.profiled_at if isinstance(event, ModelProfiled) else event.measured_at
    return _key(event.event_id, at)


def _key(event_id: str, at: datetime) -> bytes:
    text = f"{event_id} {at.astimezone(UTC).isoformat()}"
    return blake2b(text.encode(), digest_size=16).digest()
