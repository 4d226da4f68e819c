"""Encodes events as MessagePack and decodes them: strict, typed, and limited in size.

`msgpack` writes the bytes. `msgspec` decodes them directly into the event's structure, in a third
of the time that decoding into Python's objects first would take. It refuses a wrong value as soon
as it reads it, so that a false length costs no memory.
"""

import msgpack
import msgspec

from benanza_schemas.events import SCHEMA_VERSION, AnyEvent, Event
from benanza_schemas.one_line import one_line
from benanza_schemas.upcasting import decode_older

MAX_EVENT_BYTES = 16_000_000


class _Version(msgspec.Struct):
    """The one field that is read of an event that can't be decoded."""

    schema_version: int


_EVENTS = msgspec.msgpack.Decoder(AnyEvent)
_VERSIONS = msgspec.msgpack.Decoder(_Version)


class DecodeError(ValueError):
    """The bytes are no event of this contract; the text says why, in one line."""

    def __init__(self, text: str) -> None:
        super().__init__(one_line(text))


class NewerVersionError(DecodeError):
    """The event is of a newer version of the contract; the text says so."""


def encode(event: Event) -> bytes:
    """The event as MessagePack: a map of its fields, with its class's name under `type`.

    Raises `ValueError` if it is larger than `MAX_EVENT_BYTES`: nobody could read it.
    """
    encoded: bytes = msgpack.packb(msgspec.to_builtins(event, builtin_types=(bytes,)))
    if len(encoded) > MAX_EVENT_BYTES:
        raise ValueError(
            f"{type(event).__name__} takes {len(encoded):,} bytes; "
            f"events of over {MAX_EVENT_BYTES:,} can't be published"
        )
    return encoded


def decode(encoded: bytes) -> AnyEvent:
    """The event in these bytes. Raises `DecodeError`, of the type `NewerVersionError` if a newer
    Benanza may read them.
    """
    if len(encoded) > MAX_EVENT_BYTES:
        raise DecodeError(f"{len(encoded):,} bytes are more than an event's {MAX_EVENT_BYTES:,}")
    try:
        event: AnyEvent = _EVENTS.decode(encoded)
    except (ValueError, RecursionError) as error:
        if isinstance(error, msgspec.ValidationError):
            # The event may be of a newer version; then that is the better reason.
            version = _version_in(encoded)
            _refuse_newer(version)
            if older := decode_older(encoded, version):
                return older
            raise DecodeError(str(error)) from error
        raise DecodeError(f"not MessagePack: {error}") from error
    _refuse_newer(event.schema_version)
    return event


def _version_in(encoded: bytes) -> int:
    try:
        version: int = _VERSIONS.decode(encoded).schema_version
    except (ValueError, RecursionError):
        return SCHEMA_VERSION
    return version


def _refuse_newer(version: int) -> None:
    if version > SCHEMA_VERSION:
        raise NewerVersionError(
            f"schema version {version} is newer than {SCHEMA_VERSION}, the newest that this "
            "version of benanza reads; upgrade it"
        )
