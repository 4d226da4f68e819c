"""How events become rows of the store, and how former ones make room for them."""

import re
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from benanza_backbone.clickhouse.connection import Address, errors_mended
from benanza_backbone.clickhouse.queries import (
    FORGET,
    LEAST_KNOWN,
    MODELS_INGESTED,
    WITHDRAW_MEASUREMENTS,
    WITHDRAW_RUNS,
)
from benanza_backbone.clickhouse.refused_data import unfit_refused
from benanza_backbone.clickhouse.rows import (
    PARTS_OF_ARCHITECTURES,
    TABLES,
    Row,
    has_its_own,
    rows,
)
from benanza_backbone.telemetry import STORE_INSERT_DURATION
from benanza_schemas.events import (
    MOST_LEAST_KNOWN,
    AnyEvent,
    CheckpointIngested,
    ModelForgotten,
    ModelIngested,
    RecordingWithdrawn,
)

if TYPE_CHECKING:
    from clickhouse_connect.datatypes.base import ClickHouseType
    from clickhouse_connect.driver.client import Client


class EventWriter:
    """Writes into the tables by a client, which stays its owner's."""

    def __init__(self, address: Address, client: "Client") -> None:
        self._address = address
        self._client = client
        self._column_types: dict[str, Sequence[ClickHouseType]] = {}

    def insert(self, events: Sequence[AnyEvent]) -> None:
        """Stores events, as `Store.insert` says."""
        takes_back = (RecordingWithdrawn, ModelForgotten)
        for _, group in groupby(events, lambda event: isinstance(event, takes_back)):
            part = list(group)
            for event in part:
                if isinstance(event, RecordingWithdrawn | ModelForgotten):
                    self._take_back(event)
            for at_once in _apart(part):
                self._insert_events(at_once)

    def insert_columns(
        self, table: str, names: Sequence[str], columns: Sequence[Sequence[object]]
    ) -> None:
        """Inserts columns of equal length. Given rows, the client would transpose them itself."""
        if table not in self._column_types:
            types = self._client.create_insert_context(table, names).column_types
            self._column_types[table] = list(map(_sent_as, types))
        context = self._client.create_insert_context(
            table,
            names,
            # Otherwise the client queries them each time, which takes as long as the insert.
            column_types=self._column_types[table],
            # Servers of 2026 collect inserts by default: a delay without gain here.
            settings={"async_insert": 0},
            column_oriented=True,
            data=columns,
        )
        self._client.insert(context=context)

    def _insert_events(self, events: Sequence[AnyEvent]) -> None:
        own = [event for event in events if isinstance(event, ModelIngested) and has_its_own(event)]
        last = {event.model_id: event for event in own}
        least_known = self._least_known(events)
        batches: dict[str, list[Row]] = {table: [] for table in TABLES}
        with unfit_refused():
            for event in events:
                replaced = isinstance(event, ModelIngested) and (
                    last.get(event.model_id, event) != event
                    or event.least_known() < least_known.get(event.architecture_id, 0)
                )
                for table, new in rows(event).items():
                    if table not in PARTS_OF_ARCHITECTURES or not replaced:
                        batches[table] += new
        filled = {table: batch for table, batch in batches.items() if batch}
        if not filled:
            return
        began = time.perf_counter()
        # Before new parts are written: after a crash in between, the former ones are found again.
        self._drop_former_parts(own)
        with errors_mended(self._address), unfit_refused():
            for table, batch in filled.items():
                columns = list(zip(*(row.values() for row in batch), strict=True))
                self.insert_columns(table, list(batch[0]), columns)
        # Only successful inserts count: an alert watches that there are some.
        STORE_INSERT_DURATION.observe(time.perf_counter() - began)

    def _least_known(self, events: Sequence[AnyEvent]) -> dict[str, int]:
        """How much the store or any of the events says of the least work of architectures: what an
        older version of ingest says of them takes nothing of that away.
        """
        known: dict[str, int] = {}
        for event in events:
            if isinstance(event, ModelIngested) and not has_its_own(event):
                former = known.get(event.architecture_id, 0)
                known[event.architecture_id] = max(former, event.least_known())
        asked = sorted(of for of, least in known.items() if least < MOST_LEAST_KNOWN)
        if asked:
            for row in self._query(LEAST_KNOWN, {"architectures": asked}):
                of = row["architecture_id"]
                known[of] = max(known[of], row["least_known"])
        return known

    def _drop_former_parts(self, models: Sequence[ModelIngested]) -> None:
        """Deletes the layers, edges and groups of those of these models with architectures of their
        own that the store has from other events.

        Each name of a model has an event of its own, and the event of another name may be from
        another version of ingest. So the first event of a further name deletes them as well.
        """
        if not models:
            return
        parameters = {"models": sorted({model.model_id for model in models})}
        known: dict[str, dict[str, str]] = {}
        for row in self._query(MODELS_INGESTED, parameters):
            known.setdefault(row["model_id"], {})[row["name"]] = row["event_id"]
        before = sorted(
            {
                model.model_id
                for model in models
                if model.model_id in known
                and known[model.model_id].get(model.name) != model.event_id
            }
        )
        if not before:
            return
        with errors_mended(self._address):
            for table in PARTS_OF_ARCHITECTURES:
                statement = f"DELETE FROM {table} WHERE architecture_id IN {{models:Array(String)}}"
                self._client.command(statement, parameters={"models": before})

    def _take_back(self, event: RecordingWithdrawn | ModelForgotten) -> None:
        """Deletes what was imported from the file, or the model's names."""
        parameters = {"model": event.model_id}
        statements = FORGET
        if isinstance(event, RecordingWithdrawn):
            parameters["digest"] = event.digest
            statements = WITHDRAW_RUNS if event.model_id else WITHDRAW_MEASUREMENTS
        with errors_mended(self._address):
            for statement in statements:
                self._client.command(statement, parameters=parameters)

    def _query(self, sql: str, parameters: dict[str, list[str]]) -> list[dict[str, Any]]:
        with errors_mended(self._address):
            return list(self._client.query(sql, parameters=parameters).named_results())


def _apart(events: Sequence[AnyEvent]) -> Iterator[Sequence[AnyEvent]]:
    """The events, cut before each that gives a model another architecture than one before it, or
    other names of layers: rows that are written at once have the same time, which says what a model
    has now.
    """
    begin = 0
    known: dict[str, tuple[str, Sequence[str]]] = {}
    for place, event in enumerate(events):
        if not isinstance(event, CheckpointIngested):
            continue
        has = event.architecture_id, event.layer_names
        if known.setdefault(event.model_id, has) != has:
            yield events[begin:place]
            begin, known = place, {event.model_id: has}
    yield events[begin:]


def _sent_as(column: "ClickHouseType") -> "ClickHouseType":
    """The type as which a column's values are sent: the client would make dictionaries of those of
    low cardinality one by one, and ClickHouse makes them itself.
    """
    from clickhouse_connect.datatypes.registry import get_from_name

    return get_from_name(re.sub(r"LowCardinality\((\w+)\)", r"\1", column.name))
