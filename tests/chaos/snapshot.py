"""What an installation has come to: its event log and its tables, in a form to be compared."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from benanza_backbone.clickhouse.store import Store
from benanza_backbone.event_log.event_log import EventLog
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import AnyEvent, BoundUpdated, LayerMeasured, SystemMeasured
from benanza_schemas.topics import BOUNDS, CHECKPOINTS, GRAPHS, JOBS, LAYERS, RESULTS
from tests.benanza.embedded_run import ANY_TIME, comparable

TABLES = {
    "models": "SELECT * EXCEPT stored_at FROM models FINAL",
    "architectures": "SELECT * EXCEPT stored_at FROM architectures FINAL",
    "architecture_layers": "SELECT * FROM architecture_layers FINAL",
    "architecture_edges": "SELECT * FROM architecture_edges FINAL",
    "architecture_groups": "SELECT * FROM architecture_groups FINAL",
    "layers": "SELECT * FROM layers FINAL",
    "systems": "SELECT * EXCEPT measured_at FROM systems FINAL",
    # A layer that was measured again, after a crash, is one more fact under the same id.
    "measurements": "SELECT DISTINCT * EXCEPT (measured_at, environment) FROM measurements FINAL",
    "best_measurements": "SELECT * EXCEPT measured_at FROM best_measurements",
    "layer_reuse": "SELECT * FROM layer_reuse",
}
"""All that is stored, but for when it was stored or measured, and by which process."""

STORED = {
    RESULTS: "SELECT DISTINCT event_id, measured_at AS at FROM measurements FINAL",
    BOUNDS: "SELECT event_id, computed_at AS at FROM architecture_bounds FINAL",
}
"""The facts that have a time, which the log and the tables must have alike."""

REPEATABLE = (GRAPHS, CHECKPOINTS, LAYERS, JOBS, RESULTS)
"""Topics whose events follow from the models alone, whatever the order. The versions that a
bound goes through do depend on the order; its last version doesn't."""

Facts = frozenset[tuple[str, str]]
"""The events of a topic, each once: their ids and what they say."""


class Snapshot(NamedTuple):
    """`tables` holds rows, each with how often it is there. `repeats` says how many events of a
    topic came again, `benchmarks` how often each layer was measured, `loose` what the log and
    the tables don't have alike.
    """

    events: Mapping[str, Facts]
    tables: Mapping[str, Counter[str]]
    repeats: Mapping[str, int]
    benchmarks: Counter[str]
    loose: tuple[str, ...]


def snapshot(log: EventLog, store: Store) -> Snapshot:
    """What is in the log and in the store now."""
    events = {topic: _events(log, topic) for topic in (*REPEATABLE, BOUNDS)}
    tables = {table: _rows(store.query(sql)) for table, sql in TABLES.items()}
    bounds, stored = comparable(store)
    tables["bounds"] = Counter(map(repr, bounds))
    tables["current_bounds"] = Counter(stored)
    return Snapshot(
        events={topic: frozenset(map(_timeless, events[topic])) for topic in REPEATABLE},
        tables=tables,
        repeats={
            topic: len(found) - len({event.event_id for event in found})
            for topic, found in events.items()
        },
        benchmarks=Counter(
            event.fingerprint for event in events[RESULTS] if isinstance(event, LayerMeasured)
        ),
        loose=tuple(
            line
            for topic, sql in STORED.items()
            for line in _loose(topic, events[topic], store.query(sql))
        ),
    )


def differences(found: Snapshot, wanted: Snapshot) -> list[str]:
    """What is missing or too much, a line a topic and table; none where all is right."""
    lines = list(found.loose)
    for topic, facts in wanted.events.items():
        there = found.events[topic]
        lines += _difference(f"topic {topic}", Counter(there), Counter(facts))
    for table, rows in wanted.tables.items():
        lines += _difference(f"table {table}", found.tables[table], rows)
    return lines


def _difference(where: str, found: Counter[Any], wanted: Counter[Any]) -> list[str]:
    missing, extra = wanted - found, found - wanted
    if not missing and not extra:
        return []
    example = next(iter(missing or extra))
    return [
        f"{where}: {wanted.total():,} wanted, {found.total():,} found; {missing.total():,} "
        f"missing, {extra.total():,} too many, such as {str(example)[:300]}"
    ]


def _loose(topic: str, events: Sequence[AnyEvent], stored: Sequence[dict[str, Any]]) -> list[str]:
    """Where the store hasn't exactly what the log has."""
    wanted = {(e.event_id, e.measured_at) for e in events if isinstance(e, LayerMeasured)}
    wanted |= {(e.event_id, e.computed_at) for e in events if isinstance(e, BoundUpdated)}
    found = {(row["event_id"], row["at"]) for row in stored}
    return _difference(f"{topic} in the store", Counter(found), Counter(wanted))


def _timeless(event: AnyEvent) -> tuple[str, str]:
    """Its id, and what it says but for when it was measured, and by which process."""
    match event:
        case LayerMeasured():
            event = msgspec.structs.replace(event, measured_at=ANY_TIME, environment={})
        case SystemMeasured():
            event = msgspec.structs.replace(event, measured_at=ANY_TIME)
    return event.event_id, repr(event)


def _events(log: EventLog, topic: str) -> list[AnyEvent]:
    """All there are; what is no event belongs to the dead letters."""
    events = []
    for record in log.records(topic):
        with suppress(DecodeError):
            events.append(decode(record.value))
    return events


def _rows(rows: Sequence[dict[str, Any]]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)
