"""What systems are, and how fast they can be."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from benanza.from_log.facts import Facts, Row
from benanza_backbone.clickhouse.rows import utc
from benanza_schemas.events import Ceiling, SystemMeasured, device

_NOTHING = {"system": "", "runtime": "", "device": ""}


def described(facts: Facts, system_id: str) -> Row:
    """How a system is called: its name, its runtime, and its device. Empty texts for one that
    nothing describes.
    """
    if not (events := facts.systems.get(system_id)):
        return _NOTHING
    system = _describing(events).system
    named = system.accelerator or system.cpu
    return {"system": named, "runtime": system.runtime, "device": device(system)}


def described_systems(facts: Facts, asked: Mapping[str, Any]) -> list[Row]:
    """`queries.DESCRIBED_SYSTEMS`."""
    return [{"system_id": system_id} for system_id in sorted(facts.systems)]


def by_age(facts: Facts, asked: Mapping[str, Any]) -> list[Row]:
    """`trace_queries.SYSTEMS_BY_AGE`."""
    events = [_describing(events) for events in facts.systems.values()]
    events.sort(key=lambda event: (-event.measured_at.timestamp(), event.system.system_id))
    return [
        {
            "system_id": event.system.system_id,
            "accelerator": event.system.accelerator,
            "name": event.system.accelerator or event.system.cpu,
        }
        for event in events
    ]


def system_row(facts: Facts, asked: Mapping[str, Any]) -> list[Row]:
    """`stored_events.SYSTEM`, a row of the view `systems`: the highest of each ceiling that was
    measured here, or else the highest imported one.
    """
    if not (events := facts.systems.get(asked["system"])):
        return []
    event = _describing(events)
    highest: dict[tuple[str, str], tuple[tuple[Any, ...], tuple[Any, ...], Ceiling]] = {}
    for source in events:
        imported, taken = source.imported_from != "", source.measured_at.timestamp()
        for position, ceiling in enumerate(source.ceilings):
            counts = not imported, ceiling.value, taken, source.event_id
            place = imported, -taken, position, ceiling.name, ceiling.precision
            key = ceiling.name, ceiling.precision
            if key not in highest or counts > highest[key][0]:
                highest[key] = counts, place, ceiling
    ceilings = [of[2] for of in sorted(highest.values(), key=lambda of: of[1])]
    return [
        {
            **asdict(event.system),
            **{
                f"ceilings.{field}": [getattr(ceiling, field) for ceiling in ceilings]
                for field in Ceiling.__struct_fields__
            },
            "cache_bytes": event.cache_bytes,
            "measured_at": utc(event.measured_at),
            "event_id": event.event_id,
        }
    ]


def _describing(events: list[SystemMeasured]) -> SystemMeasured:
    """The one that counts: with ceilings, measured here, the newest."""
    return max(
        events,
        key=lambda of: (bool(of.ceilings), of.imported_from == "", of.measured_at, of.event_id),
    )
