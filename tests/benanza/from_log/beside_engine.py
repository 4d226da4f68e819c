"""A store that the log is asked beside, and that fails where the two say different things."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benanza.from_log.store import ANSWERS, LogStore
from benanza.looking.calls.forms import FORMS
from benanza.looking.model_ids import FILES, MODEL_IDS
from benanza.tracing.trace_queries import BEST_TIMES
from benanza_backbone.clickhouse.bound_queries import (
    ANY_RUNS,
    ANY_SLOWED_CALLS,
    BEATEN_BY,
    SLOWED_CALLS,
)
from benanza_backbone.clickhouse.queries import LAYER_INPUTS, OF_SAME_FILES
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_events import PROFILED
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from benanza_schemas.events import AnyEvent

PERHAPS = ANY_RUNS, ANY_SLOWED_CALLS
"""Statements that only save the engine another one."""

IN_ANY_ORDER = (
    *(BEATEN_BY, BEST_TIMES, FILES, FORMS, LAYER_INPUTS, MODEL_IDS, OF_SAME_FILES, PROFILED),
    SLOWED_CALLS,
)


class BesideLog(Store):
    """The engine's store, with a log that gets the same events. `asked` are the statements of which
    both said the same.
    """

    log: SqliteEventLog
    asked: set[str]

    @classmethod
    def over(cls, dsn: str, folder: Path) -> "BesideLog":
        """Opens the store, and makes a log in the folder."""
        store = cls.open(dsn)
        store.log = SqliteEventLog(folder / "events.sqlite")
        store.asked = set()
        return store

    def insert(self, events: Sequence[AnyEvent]) -> None:
        super().insert(events)
        self.log.append([as_message(event) for event in events])

    def query(
        self, sql: str, parameters: Mapping[str, object] | None = None
    ) -> list[dict[str, Any]]:
        rows = super().query(sql, parameters)
        if sql in ANSWERS and (sql not in PERHAPS or rows):
            with LogStore(self.log) as from_log:
                found = from_log.query(sql, parameters)
            self.asked.add(sql)
            if sql not in PERHAPS:
                columns = rows[0].keys() & found[0].keys() if rows and found else set()
                assert _said(sql, found, columns) == _said(sql, rows, columns)
        return rows

    def close(self) -> None:
        self.log.close()
        super().close()


def _said(sql: str, rows: Sequence[Mapping[str, Any]], columns: Collection[str]) -> list[bytes]:
    """These columns, of which one of the two has more; lists and tuples say the same."""
    said = [msgspec.json.encode({name: row[name] for name in sorted(columns)}) for row in rows]
    return sorted(said) if sql in IN_ANY_ORDER else said
