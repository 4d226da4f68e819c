"""Events as bytes: those that are stored of each version, and those of samples with changes."""

from pathlib import Path
from typing import Any

import msgpack

from benanza_schemas.codec import DecodeError, decode, encode
from benanza_schemas.events import SCHEMA_VERSION, AnyEvent
from tests.schemas import samples

GOLDEN = Path(__file__).parent / "golden"
"""Bytes as each version of the schema wrote them. Never changed: topics hold them for ever. A
new version adds its own beside them."""

BY_NAME = {type(event).__name__: event for event in samples.EVENTS}


def golden(name: str, version: int = SCHEMA_VERSION) -> bytes:
    return (GOLDEN / f"{name}.v{version}.msgpack").read_bytes()


def fields_of(event: AnyEvent) -> dict[str, Any]:
    """An event's encoded form as Python objects."""
    fields: dict[str, Any] = msgpack.unpackb(encode(event))
    return fields


def changed(event: AnyEvent, **changes: object) -> bytes:
    encoded: bytes = msgpack.packb(fields_of(event) | changes)
    return encoded


def decoded_or_refused(encoded: bytes) -> AnyEvent | DecodeError:
    """What becomes of these bytes; any other error fails the test."""
    try:
        return decode(encoded)
    except DecodeError as error:
        return error
