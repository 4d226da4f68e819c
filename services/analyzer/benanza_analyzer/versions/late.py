"""Versions of bounds from an analyzer that was taken for dead while it worked, and went on.

Another one has done its last turn again by then, and perhaps more. What it appends all the same is
older, but where its clock is ahead, the later version by time; and it is the last record. As it
gets partitions again, it finds its versions among those of the other one, and appends that one's
last version once more.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from benanza_analyzer.versions.times import RESOLVED
from benanza_backbone.event_log.event_log import Record
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import BoundUpdated
from benanza_schemas.limits import LAST_TIME
from benanza_schemas.topics import topic_and_key


def overtaken(late: Sequence[BoundUpdated], records: Iterable[Record]) -> list[BoundUpdated]:
    """For each bound of which this process wrote `late` versions while another one went further:
    the other one's last version, with a time behind all others, and before what follows.

    `records` are those of the topic `bounds` since this process last got partitions.
    """
    own: dict[bytes, dict[str, BoundUpdated]] = {}
    for version in late:
        own.setdefault(topic_and_key(version)[1], {})[version.event_id] = version
    others: dict[bytes, BoundUpdated] = {}
    latest: dict[bytes, datetime] = {}
    for record in records:
        if record.key not in own or (found := _bound(record)) is None:
            continue
        key, same = record.key, own[record.key].get(found.event_id)
        latest[key] = max(found.computed_at, latest.get(key, found.computed_at))
        if same is None:
            # The other one begins with what this one did last; before, this one wrote everything.
            if key in others:
                others[key] = found
        elif same.computed_at != found.computed_at:
            others[key] = found
    return [
        msgspec.structs.replace(found, computed_at=min(latest[key] + RESOLVED, LAST_TIME))
        for key, found in others.items()
        if _is_further(found, list(own[key].values()))
    ]


def _is_further(other: BoundUpdated, own: Sequence[BoundUpdated]) -> bool:
    """Whether another process's last version follows from more than this one's versions."""
    if other.event_id not in {version.event_id for version in own}:
        return True
    # The same event may have been handled later, with more measured: a graph, for instance.
    return len(other.measured) > len(own[-1].measured)


def _bound(record: Record) -> BoundUpdated | None:
    try:
        event = decode(record.value)
    except DecodeError:
        return None  # The sink sends it to the dead letters.
    return event if isinstance(event, BoundUpdated) else None
