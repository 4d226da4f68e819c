"""The store: writes events as rows of ClickHouse tables, and returns rows as typed objects.

`benanza_schemas/clickhouse/*.sql` defines the tables; docs/clickhouse.md has example queries.
"""

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from datetime import UTC, datetime
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any, Self

import msgspec

from benanza_backbone.clickhouse.bound_queries import (
    ANY_RUNS,
    ANY_SLOWED_CALLS,
    BEATEN_BY,
    BOUNDS,
    SLOWED_CALLS,
)
from benanza_backbone.clickhouse.bounds import BoundVersion, ModelBound
from benanza_backbone.clickhouse.connection import (
    Address,
    connected,
    errors_mended,
    parse_address,
    seal_of,
)
from benanza_backbone.clickhouse.migration_lock import migration_lock
from benanza_backbone.clickhouse.migrations import lacking, migrate, shipped
from benanza_backbone.clickhouse.queries import (
    BEATEN_BOUNDS,
    BOUND_VERSIONS,
    FAILED_LAYERS,
    FORGET,
    LAYERS_WITH_JOBS,
    LEAST_KNOWN,
    MEASURING_SYSTEMS,
    MODELS_INGESTED,
    OFFSETS,
    OPEN_DEAD_LETTERS,
    WITHDRAW_MEASUREMENTS,
    WITHDRAW_RUNS,
)
from benanza_backbone.clickhouse.reading import answer
from benanza_backbone.clickhouse.refused_data import unfit_refused
from benanza_backbone.clickhouse.rows import (
    PARTS_OF_ARCHITECTURES,
    TABLES,
    Row,
    has_its_own,
    rows,
    utc,
)
from benanza_backbone.closing import Closing
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Partition
from benanza_backbone.telemetry import STORE_INSERT_DURATION
from benanza_schemas.events import (
    MOST_LEAST_KNOWN,
    AnyEvent,
    ModelForgotten,
    ModelIngested,
    RecordingWithdrawn,
)
from benanza_schemas.layer import Accounting

if TYPE_CHECKING:
    from clickhouse_connect.datatypes.base import ClickHouseType
    from clickhouse_connect.driver.client import Client

_END_OF_TIME = datetime(2299, 12, 31, tzinfo=UTC)
_NOT_SLOWED = {"calls": 0, "by": (), "layers": ()}


class Store(Closing):
    """A connection to the store, made by `Store.open`.

    Use it in one thread only, and don't fork while it is open. Embedded, one process at a time uses
    a folder, and a process opens one folder at a time. Every method blocks on the disk or the
    network, and raises `BenanzaError` if ClickHouse reports an error. `seal` is that of the folder.
    """

    def __init__(self, address: Address, client: "Client", resources: ExitStack) -> None:
        self._address = address
        self._client = client
        self._resources = resources
        self._column_types: dict[str, Sequence[ClickHouseType]] = {}
        self.seal = seal_of(address)

    @classmethod
    def open(cls, dsn: str, *, migrates: bool = True) -> Self:
        """Opens the store at a DSN, and brings its tables up to date.

        Commands that only read a store which services maintain set `migrates` to False: then a
        store that lacks a migration is an error.

        `chdb:///folder` is the engine in this process over a folder, which is created if needed;
        `clickhouse://user:password@host:8123/database` (or `http`, `https`) is a server. Raises
        `BenanzaError` if the DSN isn't valid, if another process uses the folder, if the server
        doesn't answer or refuses the user, or as `migrations.migrate` does.
        """
        address = parse_address(dsn)
        with ExitStack() as resources:
            client = resources.enter_context(connected(address))
            if migrates:
                # The folder's lock excludes other processes; a server needs a lock of its own.
                lock = nullcontext() if address.folder else migration_lock(client, address)
                migrate(client, shipped(), lock)
            elif behind := lacking(client, shipped()):
                raise BenanzaError(
                    f"the store is older than this version of benanza (it lacks {behind[0].name}); "
                    "start the analyzer of this version first, or look with the version that it is"
                )
            return cls(address, client, resources.pop_all())

    def close(self) -> None:
        """Unlocks the folder, or closes the connection. May be called several times."""
        self._resources.close()

    def insert(self, events: Sequence[AnyEvent]) -> None:
        """Stores events. After the return they survive the death of the process.

        Repeated events do no harm: each counts once. A model that is ingested again replaces the
        former one. A withdrawal takes back what stands before it, not what comes after it, and so
        does that a model is forgotten. If this raises, some of the events may be stored: insert all
        of them again.
        Raises `RefusedDataError` if there is one among them that can't be stored: then the others
        can be, without it.
        """
        takes_back = (RecordingWithdrawn, ModelForgotten)
        for _, group in groupby(events, lambda event: isinstance(event, takes_back)):
            part = list(group)
            for event in part:
                if isinstance(event, RecordingWithdrawn | ModelForgotten):
                    self._take_back(event)
            self._insert_events(part)

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
                self._insert(table, list(batch[0]), columns)
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
            for row in self.query(LEAST_KNOWN, {"architectures": asked}):
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
        for row in self.query(MODELS_INGESTED, parameters):
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

    def open_dead_letters(self) -> dict[tuple[str, str], int]:
        """The number of open dead letters, by consumer group and topic."""
        counts = self.query(OPEN_DEAD_LETTERS)
        return {(row["service"], row["topic"]): row["letters"] for row in counts}

    def beaten_bounds(self) -> dict[str, int]:
        """The number of bounds that a run of their model is below, by precision."""
        beaten = self.query(BEATEN_BOUNDS) if self.query(ANY_RUNS) else []
        return {row["precision"]: row["bounds"] for row in beaten}

    def offsets(self, group: str) -> dict[Partition, int]:
        """The offsets that `set_offsets` stored last for a consumer group, by partition."""
        stored = self.query(OFFSETS, {"consumer_group": group})
        return {Partition(row["topic"], row["partition"]): row["next_offset"] for row in stored}

    def set_offsets(self, group: str, offsets: Mapping[Partition, int]) -> None:
        """Stores that all events before these offsets were inserted."""
        if not offsets:
            return
        places = [(p.topic, p.number, offset) for p, offset in offsets.items()]
        with errors_mended(self._address):
            self._insert(
                "sink_offsets",
                ["consumer_group", "topic", "partition", "next_offset"],
                list(zip(*((group, *of) for of in places), strict=True)),
            )

    def query(
        self, sql: str, parameters: Mapping[str, object] | None = None
    ) -> list[dict[str, Any]]:
        """The rows that a statement returns, each as a map from column to value.

        A parameter is `{name:Type}` in the SQL. Time stamps are returned in UTC.
        """
        with errors_mended(self._address):
            result = self._client.query(sql, parameters=dict(parameters or {}))
            return list(result.named_results())

    def answer(
        self, sql: str, form: str, most_rows: int | None = None
    ) -> AbstractContextManager[IO[bytes]]:
        """What a user's statement returns in one of ClickHouse's formats, as `reading.answer`."""
        return answer(self._address, sql, form, most_rows)

    def bounds(
        self,
        models: Sequence[str] = (),
        at: datetime | None = None,
        accounting: Accounting | None = None,
    ) -> list[ModelBound]:
        """The newest version of each bound, or the one that was the newest at the time `at`; under
        one accounting, if it is given.

        `models` are names or model ids; an empty sequence means all models. A version was known
        when it was computed. `slowed` and `beaten_by` are of what was measured until `at`, also
        where it was imported later: when an event arrived, the log says, and not the store.
        """
        parameters = {
            "models": list(models),
            "at": utc(at) if at else _END_OF_TIME,
            "accounting": accounting or "",
        }
        versions = self.query(BOUNDS, parameters)
        slowed = self.query(SLOWED_CALLS, parameters) if self.query(ANY_SLOWED_CALLS) else []
        beaten = self.query(BEATEN_BY, parameters) if self.query(ANY_RUNS) else []
        slowed_of = {row["event_id"]: row["slowed"] for row in slowed}
        runs_of = {row["bound_id"]: row["runs"] for row in beaten}
        for row in versions:
            row["slowed"] = slowed_of.get(row["event_id"], _NOT_SLOWED)
            row["beaten_by"] = runs_of.get(row["event_id"], ())
        return msgspec.convert(versions, list[ModelBound])

    def history(self, model: str) -> list[BoundVersion]:
        """All versions of the bounds of a model, by name or id, each with what moved it.

        They are sorted by bound, then by time. Versions that a replay computed again with the same
        figures are left out.
        """
        return msgspec.convert(self.query(BOUND_VERSIONS, {"model": model}), list[BoundVersion])

    def failed_layers(self, system_id: str = "", reason: str = "") -> dict[str, list[str]]:
        """The fingerprints of layers that have no time on a system at some precision, each with
        the sorted ids of the measurements that failed.

        Only those on the system `system_id`, if it is given; and only those whose last failure
        contains the text `reason`, in upper or lower case.
        """
        failures = self.query(FAILED_LAYERS, {"system": system_id, "reason": reason})
        return {row["fingerprint"]: row["results"] for row in failures}

    def measuring_systems(self) -> list[str]:
        """The sorted ids of all systems with measurements."""
        return [row["system_id"] for row in self.query(MEASURING_SYSTEMS)]

    def layers_with_jobs(self) -> list[str]:
        """The sorted fingerprints of all layers that have a job."""
        return [row["fingerprint"] for row in self.query(LAYERS_WITH_JOBS)]

    def _insert(
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


def _sent_as(column: "ClickHouseType") -> "ClickHouseType":
    """The type as which a column's values are sent: the client would make dictionaries of those of
    low cardinality one by one, and ClickHouse makes them itself.
    """
    from clickhouse_connect.datatypes.registry import get_from_name

    return get_from_name(re.sub(r"LowCardinality\((\w+)\)", r"\1", column.name))
