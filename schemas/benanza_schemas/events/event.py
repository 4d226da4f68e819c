"""What all events have in common: their version, their ids, and that their times are in UTC."""

from datetime import datetime
from typing import Annotated

import msgspec

from benanza_schemas.identity import digest
from benanza_schemas.limits import MAX_WHOLE, Hash, in_utc

SCHEMA_VERSION = 22
"""Version 21 had no bytes that no precision makes fewer. Version 20 had no ModelForgotten. Version
19 had no evaluations by agents. Version 18 had no least weights, and no errors of attainable
estimates. Version 17 had no fewest operations, no ceilings of memory and launches, and didn't say
what limits a bound. Version 16 had no derived models. Version 15 had no causes of checkpoints.
Version 14 had no claims of bounds, and no `imported_from` of witnesses. Version 13 had no
dimensions of length 0. Version 12 had no RecordingWithdrawn, and no `imported_from` of systems.
Version 11 had no compressed content. Version 10 had no networks. Version 9 had no architectures:
bounds were those of models. Version 8 had no runs of what-ifs, and no kernels of calls. Version 7
had no ModelProfiled. Version 6 didn't say whether a witness is right. Version 5 had no layout
NCHWc. Version 4 had zero where a bound has no figure. Version 3 had no `after` either; version 2
had no `write_change_us`, `chosen_by_heuristic` and `read_ahead`; version 1 had no
`layout_change_us`, `cache_bytes` and `layout`, and no ModelWitnessed.
"""


def event_id(kind: str, *causes: str) -> Hash:
    """The id of an event of this kind with these causes: 32 hexadecimal digits."""
    return digest("\0".join((kind, *causes)).encode())


class Event(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag=True):
    """The fields of all events. In the encoded form, `type` is the class's name."""

    event_id: Hash
    schema_version: Annotated[int, msgspec.Meta(ge=1, le=MAX_WHOLE)] = SCHEMA_VERSION


class TimedEvent(Event, frozen=True, kw_only=True):
    """An event that says when something happened. Its times are in UTC, whatever zone they were
    given in. Raises `ValueError` for one outside of what the store's columns hold (`in_utc`).
    """

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if isinstance(value := getattr(self, name), datetime):
                msgspec.structs.force_setattr(self, name, in_utc(value))
