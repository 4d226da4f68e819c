"""Whatever is decoded can be stored, and read as it was."""

import os
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest

from benanza_backbone.clickhouse.rows import PARTS_OF_ARCHITECTURES, rows
from benanza_backbone.clickhouse.store import Store
from benanza_schemas.events import AnyEvent, ModelIngested
from tests.extreme_events import KINDS, Extremes

EVENTS_OF_A_KIND = int(os.environ.get("BENANZA_EXTREME_EVENTS", "10"))
"""More of them take longer: this number, for each kind."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(f"chdb://{tmp_path_factory.mktemp('store')}") as store:
        yield store


def test_extreme_events_are_stored_and_read_as_they_were(store: Store) -> None:
    extremes = Extremes(seed=1)
    events: list[AnyEvent] = [extremes.event(k) for k in KINDS for _ in range(EVENTS_OF_A_KIND)]
    store.insert(events)
    wanted: dict[str, Counter[str]] = {}
    columns: dict[str, list[str]] = {}
    most: dict[str, int] = {}
    for event in events:
        if isinstance(event, ModelIngested):
            known = most.get(event.architecture_id, 0)
            most[event.architecture_id] = max(known, event.least_known())
    for event in events:
        # What knows less of an architecture says nothing of its parts.
        less = isinstance(event, ModelIngested) and (
            event.least_known() < most[event.architecture_id]
        )
        for table, of_event in rows(event).items():
            for row in () if less and table in PARTS_OF_ARCHITECTURES else of_event:
                columns[table] = list(row)
                wanted.setdefault(table, Counter())[_comparable(list(row.values()))] += 1
    for table, names in columns.items():
        quoted = ", ".join(f"`{name}`" for name in names)
        found = store.query(f"SELECT {quoted} FROM {table} FINAL")
        stored = Counter(_comparable([row[name] for name in names]) for row in found)
        if table in PARTS_OF_ARCHITECTURES:
            # An edge that stands twice in an event is one.
            wanted[table] = Counter(set(wanted[table]))
        assert stored == wanted[table], table


def _comparable(value: Any) -> str:
    """The same text for what is the same in a row and in the store."""
    return repr(_plain(value))


def _plain(value: Any) -> Any:
    match value:
        case Enum():
            return str(value.value)
        case {"reason": reason, "layers": layers}:  # a tuple with names
            return [_plain(reason), _plain(layers)]
        case dict():
            return sorted((key, _plain(each)) for key, each in value.items())
        case list() | tuple():
            return [_plain(each) for each in value]
        case bool() | int() | float():
            return float(value)
    return str(value)
