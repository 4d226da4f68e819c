"""What all events have in common: their version, their ids, and the types of their fields."""

from datetime import datetime
from typing import Annotated

import msgspec

from benanza_schemas.identity import digest

SCHEMA_VERSION = 12
"""Version 11 had no compressed content. Version 10 had no networks. Version 9 had no architectures:
bounds were those of models. Version 8 had no runs of what-ifs, and no kernels of calls. Version 7
had no ModelProfiled. Version 6 didn't say whether a witness is right. Version 5 had no layout
NCHWc. Version 4 had zero where a bound has no figure. Version 3 had no `after` either; version 2
had no `write_change_us`, `chosen_by_heuristic` and `read_ahead`; version 1 had no
`layout_change_us`, `cache_bytes` and `layout`, and no ModelWitnessed.
"""

# In Python's patterns `$` also matches before a newline at the end; the length rules that out.
Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$", max_length=32)]
"""A 128-bit hash in hexadecimal: fingerprints, event ids, model ids, system ids."""

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Count = Annotated[int, msgspec.Meta(ge=0)]
MAX_NAME_LENGTH = 4096
MAX_REASON_LENGTH = 8192
Name = Annotated[str, msgspec.Meta(max_length=MAX_NAME_LENGTH)]
Reason = Annotated[str, msgspec.Meta(max_length=MAX_REASON_LENGTH)]
Microseconds = Annotated[float, msgspec.Meta(ge=0, le=2**53)]
"""A time in microseconds, always finite."""

Ratio = Annotated[float, msgspec.Meta(ge=0, le=2**53)]
"""A number without a unit, always finite."""

Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time stamp with its zone, in the form of RFC 3339."""


def event_id(kind: str, *causes: str) -> Hash:
    """The id of an event of this kind with these causes: 32 hexadecimal digits."""
    return digest("\0".join((kind, *causes)).encode())


class Event(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag=True):
    """The fields of all events. In the encoded form, `type` is the class's name."""

    event_id: Hash
    schema_version: Annotated[int, msgspec.Meta(ge=1)] = SCHEMA_VERSION
