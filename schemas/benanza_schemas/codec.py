"""Events to MessagePack and back: strict, typed, and limited in size.

`msgpack` reads and writes the bytes, `msgspec` checks them against the event's structure.
"""

import msgpack
import msgspec

from benanza_schemas.events import SCHEMA_VERSION, AnyEvent, Event

MAX_EVENT_BYTES = 16_000_000
MAX_ITEMS = 2_000_000


class DecodeError(ValueError):
    """Bytes that are no event of this contract; the text says what is wrong with them."""


def encode(event: Event) -> bytes:
    """An event as MessagePack: a map of its fields, with its class's name under `type`.

    Raises `ValueError` if it is larger than `MAX_EVENT_BYTES`, since nobody would read it.
    """
    encoded: bytes = msgpack.packb(msgspec.to_builtins(event, builtin_types=(bytes,)))
    if len(encoded) > MAX_EVENT_BYTES:
        raise ValueError(
            f"{type(event).__name__} takes {len(encoded):,} bytes; "
            f"events of over {MAX_EVENT_BYTES:,} can't be published"
        )
    return encoded


def decode(encoded: bytes) -> AnyEvent:
    """The event in these bytes. Raises `DecodeError`."""
    if len(encoded) > MAX_EVENT_BYTES:
        raise DecodeError(f"{len(encoded):,} bytes are more than an event's {MAX_EVENT_BYTES:,}")
    try:
        fields = msgpack.unpackb(
            encoded,
            strict_map_key=True,
            max_array_len=MAX_ITEMS,
            max_map_len=MAX_ITEMS,
        )
    except (ValueError, msgpack.UnpackException, RecursionError) as error:
        raise DecodeError(f"not MessagePack: {str(error) or type(error).__name__}") from error
    if not isinstance(fields, dict):
        raise DecodeError(f"an event is a map, not {type(fields).__name__}")
    version = fields.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise DecodeError(
            f"schema version {version} is newer than {SCHEMA_VERSION}, the newest that this "
            "version of benanza reads; upgrade it"
        )
    try:
        event: AnyEvent = msgspec.convert(fields, AnyEvent, strict=True, builtin_types=(bytes,))
    except (msgspec.ValidationError, RecursionError) as error:
        raise DecodeError(str(error)) from error
    return event
