"""What an installation has come to: its log and its tables, in a form to be compared."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from benanza_backbone.clickhouse.rows import Row
from benanza_backbone.event_log.event_log import Record
from benanza_schemas.codec import decode
from benanza_schemas.events import BoundUpdated, DeadLetter, LayerMeasured, ModelIngested
from benanza_schemas.topics import (
    BOUNDS,
    CHECKPOINTS,
    DEAD_LETTERS,
    DEDUPE_OWNERS,
    GRAPHS,
    JOBS,
    LAYERS,
    RESULTS,
)
from tests.simulation.inputs import POISONOUS
from tests.simulation.log import Cluster
from tests.simulation.store import Table
from tests.simulation.world import World

LEFT_OUT = frozenset(("measured_at", "computed_at", "claim", "changed_at", "environment"))
"""When, and in which process."""

BY_CHANCE = {
    # Either of two checkpoints may bring the architecture, or both.
    "architectures": {"event_id"},
    # Any of the measurements of a bound may be the last.
    "architecture_bounds": {"event_id", "cause"},
    # What is published again has another offset.
    "dead_letters": {"dead_letter_id", "partition", "offset"},
}

REPEATABLE = (JOBS, CHECKPOINTS, RESULTS)
"""Topics whose events follow from the models alone."""


class _Stored(NamedTuple):
    """Events that are rows of a table, with the columns, and the fields, that say which
    and when."""

    event: type[Any]
    table: str
    columns: tuple[str, str]
    fields: tuple[str, str]


_ID = "event_id"

STORED = {
    RESULTS: _Stored(LayerMeasured, "measurements", (_ID, "measured_at"), (_ID, "measured_at")),
    BOUNDS: _Stored(
        BoundUpdated, "architecture_bounds", (_ID, "computed_at"), (_ID, "computed_at")
    ),
    DEAD_LETTERS: _Stored(
        DeadLetter, "dead_letters", ("dead_letter_id", "changed_at"), (_ID, "failed_at")
    ),
}
"""What the log and the tables must have alike."""

BENCHMARKED = ("compute", "movement")
"""The kinds of layers that ingest brings."""

Facts = frozenset[str]


class Outcome(NamedTuple):
    """`facts` holds the events of each topic and the rows of each table, in a form in which the
    order of events has no part. `loose` says what the log and the tables don't have alike.
    """

    facts: Mapping[str, Facts]
    loose: tuple[str, ...]


def outcome(world: World) -> Outcome:
    """What is in the log and in the store now."""
    cluster, tables = world.cluster, world.journal.tables()
    facts = {
        f"topic {topic}": frozenset(e.event_id for e in _events(cluster.records(topic)))
        for topic in REPEATABLE
    }
    facts[f"topic {GRAPHS}"] = frozenset(r.key.decode() for r in cluster.records(GRAPHS))
    for table, found in tables.items():
        left_out = LEFT_OUT | BY_CHANCE.get(table, set())
        rows = _current(found) if table == "architecture_bounds" else found.values()
        facts[f"table {table}"] = frozenset(
            repr([(column, row[column]) for column in row if column not in left_out])
            for row in rows
        )
    facts["best measurements"] = _best(tables["measurements"])
    loose = [line for topic in STORED for line in _loose(topic, cluster, tables)]
    return Outcome(facts, (*loose, *_double(cluster, tables), *_too_early(cluster)))


def differences(found: Outcome, wanted: Outcome) -> list[str]:
    """A line for each topic and table that isn't as it should be."""
    lines = list(found.loose)
    for what, facts in wanted.facts.items():
        missing, extra = facts - found.facts[what], found.facts[what] - facts
        if missing or extra:
            example = min(missing or extra)[:300]
            lines.append(f"{what}: {len(missing)} missing, {len(extra)} too many, e.g. {example}")
    return lines


def _events(records: Iterable[Record]) -> list[Any]:
    return [decode(record.value) for record in records if record.value != POISONOUS]


def _current(bounds: Table) -> Iterable[Row]:
    """Of each bound the version that the view `current_bounds` shows."""
    # A key ends with the version's time, id and claim.
    ordered = sorted(bounds, key=lambda key: (key[-1], key))
    return {key[:-3]: bounds[key] for key in ordered}.values()


def _best(measurements: Table) -> Facts:
    """As the view `best_measurements`: the fastest variant, or why there is none."""
    best: dict[object, Any] = {}
    for row in measurements.values():
        median = row["median_us"]
        looks = (median is None, median or 0.0, row["iqr_us"] or 0.0, row["failure"])
        best[row["fingerprint"]] = min(best.get(row["fingerprint"], looks), looks)
    return frozenset(map(repr, best.items()))


def _loose(topic: str, cluster: Cluster, tables: Mapping[str, Table]) -> list[str]:
    """What the log has and the table has not, and what the table has and the log never had."""
    of = STORED[topic]

    def facts(records: Iterable[Record]) -> set[tuple[Any, ...]]:
        events = _events(record for record in records if record.partition.topic == topic)
        return {
            tuple(getattr(e, field) for field in of.fields)
            for e in events
            if isinstance(e, of.event)
        }

    stored = {tuple(row[column] for column in of.columns) for row in tables[of.table].values()}
    lacking = facts(cluster.records(topic)) - stored
    invented = stored - facts(cluster.history)
    return [
        f"{topic}: {len(these)} in the {where} alone, e.g. {min(these)}"
        for these, where in ((lacking, "log"), (invented, "store"))
        if these
    ]


def _double(cluster: Cluster, tables: Mapping[str, Table]) -> list[str]:
    """What there may be one of only, however often it was done."""
    columns = ("service", "topic", "partition", "offset")
    letters = Counter(tuple(row[c] for c in columns) for row in _letters(tables))
    owners: dict[bytes, set[bytes]] = {}
    for record in cluster.history:
        if record.partition.topic == DEDUPE_OWNERS:
            owners.setdefault(record.key, set()).add(record.value)
    return [
        *(f"{number} dead letters of {of}" for of, number in letters.items() if number > 1),
        *(f"{len(of)} owners of {key.decode()}" for key, of in owners.items() if len(of) > 1),
    ]


def _letters(tables: Mapping[str, Table]) -> Iterable[Row]:
    """A row for each dead letter, which may have failed at several times."""
    return {key[0]: row for key, row in tables["dead_letters"].items()}.values()


def _too_early(cluster: Cluster) -> list[str]:
    """Graphs that were there before their layers: no other model would have brought those."""
    seen: set[str] = set()
    wrong = []
    for record in cluster.history:
        if record.partition.topic == LAYERS:
            seen.add(record.key.decode())
        elif record.partition.topic == GRAPHS:
            graph = decode(record.value)
            assert isinstance(graph, ModelIngested), "no poison is published there"
            benchmarked = {s.fingerprint for s in graph.summaries if s.kind in BENCHMARKED}
            if lacking := (benchmarked | {group.fingerprint for group in graph.groups}) - seen:
                wrong.append(f"the graph of {graph.name} came before {len(lacking)} of its layers")
    return wrong
