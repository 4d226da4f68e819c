"""Reads events of older schema versions as events of today's.

A field that may be left out needs nothing here: it has a default. Older shapes are structures too,
so that their bytes are decoded as strictly as today's, and take no more memory.
"""

import msgspec

from benanza_schemas.events import AnyEvent, BoundUpdated, Hash, ModelIngested

ARCHITECTURES = 10
"""The version from which on there are architectures. What is older counts as of an architecture of
its own, whose id is the model's.
"""


class _ModelIngested(ModelIngested, frozen=True, kw_only=True, tag="ModelIngested"):
    architecture_id: Hash = ""


class _BoundUpdated(BoundUpdated, frozen=True, kw_only=True, tag="BoundUpdated"):
    architecture_id: Hash = msgspec.field(name="model_id")


_OLDER = msgspec.msgpack.Decoder(_ModelIngested | _BoundUpdated)


def decode_older(encoded: bytes, version: int) -> AnyEvent | None:
    """The event that was written as this version; `None` if it is no event whose shape has
    changed since.
    """
    if version >= ARCHITECTURES:
        return None
    try:
        event = _OLDER.decode(encoded)
    except (ValueError, RecursionError):
        return None
    fields = {name: getattr(event, name) for name in event.__struct_fields__}
    if isinstance(event, _BoundUpdated):
        return BoundUpdated(**fields)
    return ModelIngested(**fields | {"architecture_id": event.model_id})
