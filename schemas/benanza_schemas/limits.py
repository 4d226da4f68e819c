"""The types of the values in events, each within what the tables of the store can hold.

What is within them can be stored and shown. `benanza_schemas.codec` refuses everything else when it
decodes an event, so that it becomes a dead letter and not an error of the store.
"""

from datetime import UTC, datetime
from typing import Annotated

import msgspec

# In Python's patterns `$` also matches before a newline at the end; the length rules that out.
Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$", max_length=32)]
"""A 128-bit hash in hexadecimal: fingerprints, event ids, model ids, system ids."""

MaybeHash = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{32})?$", max_length=32)]
"""A hash, or empty where there is none."""

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$", max_length=64)]

MaybeSha256 = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$", max_length=64)]
"""A SHA-256, or empty where there is none."""

MAX_NAME_LENGTH = 4096
Name = Annotated[str, msgspec.Meta(max_length=MAX_NAME_LENGTH)]

MAX_REASON_LENGTH = 8192
Reason = Annotated[str, msgspec.Meta(max_length=MAX_REASON_LENGTH)]

Text = Annotated[str, msgspec.Meta(max_length=1_000_000)]
"""The text of an operator's attribute, such as an equation."""

MAX_WHOLE = 2**32 - 1
Whole = Annotated[int, msgspec.Meta(ge=0, le=MAX_WHOLE)]
"""A version, a position or a count of calls: a `UInt32`."""

Place = Annotated[int, msgspec.Meta(ge=-1, le=2**31 - 1)]
"""The position of a tensor in its layer, or -1 where it is left out."""

Positive = Annotated[int, msgspec.Meta(ge=1, le=2**53)]

Length = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""The number that a named dimension was given. A cache is empty before the first step."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""So many bytes or operations: `msgspec` can limit no integer to all that a `UInt64` holds."""

Size = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""The size of a tensor along an axis, or an integer among the attributes: an `Int64`."""

Microseconds = Annotated[float, msgspec.Meta(ge=0, le=2**53)]
"""A time in microseconds, always finite."""

TotalMicroseconds = Annotated[float, msgspec.Meta(ge=0, le=1e60)]
"""A time that was computed from many: of all layers of a model, or operations by a rate."""

Rate = Annotated[float, msgspec.Meta(ge=1e-3, le=1e30)]
"""So much a second. What is divided by it is no more than `TotalMicroseconds`."""

Ratio = Annotated[float, msgspec.Meta(ge=0, le=2**53)]
"""A number without a unit, always finite."""

FIRST_TIME = datetime(1970, 1, 1, tzinfo=UTC)
LAST_TIME = datetime(2105, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)

Time = Annotated[
    datetime,
    msgspec.Meta(tz=True, description="with its zone; from 1970 to 2105, in UTC"),
]
"""A time stamp with its zone, in the form of RFC 3339. `in_utc` says which are allowed."""


def in_utc(time: datetime) -> datetime:
    """The same time in UTC. Raises `ValueError` unless it is from `FIRST_TIME` to `LAST_TIME`."""
    # Others may be none in UTC, where Python's years end.
    if not FIRST_TIME <= time <= LAST_TIME:
        raise ValueError(f"the time {time.isoformat()} isn't between 1970 and 2105 in UTC")
    return time.astimezone(UTC)


MOST_ITEMS = 2**21
"""Most layers, edges, groups or positions of a model. Of what names them an event holds less."""

MOST_NAMED = 2**16
"""Most entries of a map, such as a model's dimensions."""

MOST_AXES = 4096
"""Most axes of a tensor."""

MAX_KEY_BYTES = 1_000_000
"""Most bytes of a record's key that a dead letter keeps."""

Axes = Annotated[tuple[Size, ...], msgspec.Meta(max_length=MOST_AXES)]
"""The shape of a tensor."""

Places = Annotated[tuple[Place, ...], msgspec.Meta(max_length=MOST_ITEMS)]
Positions = Annotated[tuple[Whole, ...], msgspec.Meta(max_length=MOST_ITEMS)]
"""Of layers in their model."""

Hashes = Annotated[tuple[Hash, ...], msgspec.Meta(max_length=MOST_ITEMS)]
Names = Annotated[tuple[Name, ...], msgspec.Meta(max_length=MOST_ITEMS)]
Samples = Annotated[tuple[Microseconds, ...], msgspec.Meta(max_length=10_000)]
Named = Annotated[dict[Name, Name], msgspec.Meta(max_length=MOST_NAMED)]
"""Texts by name: versions of libraries, options, conditions of a measurement."""

Dims = Annotated[dict[Name, Length], msgspec.Meta(max_length=MOST_NAMED)]
"""Named dimensions and the sizes that they were given, and inputs with their elements
(`given_values`)."""
