"""The store in memory, in place of ClickHouse: real rows, in tables that merge as the real ones do.

What was written is a journal, so that a power failure may take its last entries away; the tables
are made of it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from benanza_backbone.clickhouse.rows import TABLES, Row, rows
from benanza_backbone.event_log.event_log import Partition
from benanza_schemas.events import AnyEvent
from tests.simulation.log import Effects

KEYS = {
    "architecture_layers": ("architecture_id", "position"),
    "architecture_edges": ("architecture_id", "source", "target"),
    "architecture_groups": ("architecture_id", "position"),
    "architectures": ("architecture_id", "event_id"),
    "models": ("name", "model_id"),
    "layers": ("fingerprint",),
    "measured_systems": ("system_id", "imported_from"),
    "measurements": (
        *("fingerprint", "system_id", "precision", "measured_at", "event_id", "variant"),
    ),
    "architecture_bounds": (
        *("architecture_id", "system_id", "precision", "accounting", "fusion"),
        *("computed_at", "event_id", "claim"),
    ),
    "dead_letters": ("dead_letter_id", "changed_at", "state"),
}
"""The columns by which each table is sorted: of the rows that have them alike one stays."""

VERSIONS = {"measured_systems": "measured_at"}
"""The row with the highest value here stays; in other tables, the one that was written last."""

Table = Mapping[tuple[Any, ...], Row]


class Journal:
    """All that was written, in order: tables and rows, and the offsets of groups."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, Row]] = []

    def write(self, table: str, new: Sequence[Row]) -> None:
        """Writes rows of a table."""
        self._rows += [(table, row) for row in new]

    def lose(self, count: int) -> None:
        """Forgets so many rows, the last ones."""
        del self._rows[max(0, len(self._rows) - count) :]

    def of(self, table: str) -> list[Row]:
        """The rows of a table as they were written, those that were replaced among them."""
        return [row for of, row in self._rows if of == table]

    def tables(self) -> dict[str, Table]:
        """The tables as `FINAL` gives them."""
        found: dict[str, dict[tuple[Any, ...], Row]] = {table: {} for table in KEYS}
        for table, row in self._rows:
            if table not in KEYS:
                continue
            key = tuple(row[column] for column in KEYS[table])
            former, version = found[table].get(key), VERSIONS.get(table)
            if version is None or former is None or row[version] >= former[version]:  # type: ignore[operator]
                found[table][key] = row
        return dict(found)


class SimulatedStore:
    """The journal as one process has it: what the sink uses of `clickhouse.store.Store`."""

    def __init__(self, journal: Journal, effects: Effects) -> None:
        self._journal = journal
        self._effects = effects

    def insert(self, events: Sequence[AnyEvent]) -> None:
        """As `Store.insert`: one table after the other, so that it may end between two."""
        batches: dict[str, list[Row]] = {table: [] for table in TABLES}
        for event in events:
            for table, new in rows(event).items():
                batches[table] += new
        filled = {table: batch for table, batch in batches.items() if batch}
        if filled:
            parts = [partial(self._journal.write, *each) for each in filled.items()]
            self._effects.effect(f"stores {' '.join(filled)}", parts)

    def offsets(self, group: str) -> dict[Partition, int]:
        """As `Store.offsets`."""
        return {
            row["partition"]: row["offset"]  # type: ignore[misc]
            for row in self._journal.of("sink_offsets")
            if row["group"] == group
        }

    def set_offsets(self, group: str, offsets: Mapping[Partition, int]) -> None:
        """As `Store.set_offsets`."""
        made: list[Row] = [
            {"group": group, "partition": at, "offset": offset} for at, offset in offsets.items()
        ]
        if made:
            write: Callable[[], None] = partial(self._journal.write, "sink_offsets", made)
            self._effects.effect("stores offsets", [write])

    def open_dead_letters(self) -> dict[tuple[str, str], int]:
        """As `Store.open_dead_letters`; only a metric asks."""
        return {}

    def beaten_bounds(self) -> dict[str, int]:
        """As `Store.beaten_bounds`; only a metric asks."""
        return {}
