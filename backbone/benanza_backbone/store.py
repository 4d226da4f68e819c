"""The store: events become rows of ClickHouse tables, and rows come back typed.

`benanza_schemas/clickhouse/*.sql` defines the tables; docs/clickhouse.md shows what to ask.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

import msgspec

from benanza_backbone.bounds import BoundVersion, ModelBound
from benanza_backbone.clickhouse import Address, connected, errors_mended, parse_address
from benanza_backbone.closing import Closing
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log import Partition
from benanza_backbone.migration_lock import migration_lock
from benanza_backbone.migrations import lacking, migrate, shipped
from benanza_backbone.queries import (
    BOUND_VERSIONS,
    BOUNDS,
    FAILED_LAYERS,
    LAYERS_WITH_JOBS,
    MEASURING_SYSTEMS,
    MODELS_INGESTED,
    OFFSETS,
    OPEN_DEAD_LETTERS,
)
from benanza_backbone.rows import PARTS_OF_MODELS, TABLES, Row, rows, utc
from benanza_backbone.telemetry import STORE_INSERT_DURATION
from benanza_schemas.events import AnyEvent, ModelIngested

if TYPE_CHECKING:
    from clickhouse_connect.datatypes.base import ClickHouseType
    from clickhouse_connect.driver.client import Client

_END_OF_TIME = datetime(2299, 12, 31, tzinfo=UTC)


class Store(Closing):
    """A connection to the store, made by `Store.open`.

    Belongs to one thread; a process must not fork while it is open. Embedded, a folder belongs
    to one process at a time, and a process has one folder open at a time. Every method blocks
    on the disk or the network, and raises `BenanzaError` if ClickHouse can't do what it is
    asked.
    """

    def __init__(self, address: Address, client: "Client", resources: ExitStack) -> None:
        self._address = address
        self._client = client
        self._resources = resources
        self._column_types: dict[str, Sequence[ClickHouseType]] = {}

    @classmethod
    def open(cls, dsn: str, *, migrates: bool = True) -> Self:
        """The store at a DSN, with its tables brought up to date.

        Who only looks at a store that services keep leaves that to them, with `migrates` off: then
        a store that lacks something is an error.

        `chdb:///folder` is the engine in this process over a folder, which is created;
        `clickhouse://user:password@host:8123/database` (or `http`, `https`) is a server.
        Raises `BenanzaError` if that isn't a DSN, if another process has the folder, if the
        server doesn't answer or refuses the user, or as `migrations.migrate` does.
        """
        address = parse_address(dsn)
        with ExitStack() as resources:
            client = resources.enter_context(connected(address))
            if migrates:
                # The folder's lock keeps other processes away; a server needs one of its own.
                lock = nullcontext() if address.folder else migration_lock(client)
                migrate(client, shipped(), lock)
            elif behind := lacking(client, shipped()):
                raise BenanzaError(
                    f"the store is older than this version of benanza (it lacks {behind[0].name}); "
                    "start the analyzer of this version first, or look with the version that it is"
                )
            return cls(address, client, resources.pop_all())

    def close(self) -> None:
        """Gives the folder back, or closes the connection. May be called again."""
        self._resources.close()

    def insert(self, events: Sequence[AnyEvent]) -> None:
        """Stores events; on return they survive the death of the process.

        Repeats do no harm: an event that is there already counts once. A model that is ingested
        again takes the place of the former one. So if this raises, part of the events may be
        stored, and all are to be inserted again.
        """
        last = {event.model_id: event for event in events if isinstance(event, ModelIngested)}
        batches: dict[str, list[Row]] = {table: [] for table in TABLES}
        for event in events:
            former = isinstance(event, ModelIngested) and last[event.model_id] is not event
            for table, new in rows(event).items():
                if not (former and table in PARTS_OF_MODELS):
                    batches[table] += new
        filled = {table: batch for table, batch in batches.items() if batch}
        if not filled:
            return
        began = time.perf_counter()
        # Before anything of them is written: after a crash in between they are found again.
        self._drop_former_parts([event for event in events if isinstance(event, ModelIngested)])
        with errors_mended(self._address):
            for table, batch in filled.items():
                columns = list(zip(*(row.values() for row in batch), strict=True))
                self._insert(table, list(batch[0]), columns)
        # Only what got there counts: by that, an alert knows that nothing does.
        STORE_INSERT_DURATION.observe(time.perf_counter() - began)

    def _drop_former_parts(self, models: Sequence[ModelIngested]) -> None:
        """Takes away the parts of models that the store has, and not by these very events.

        A model's names have an event each, and what another name's says of it may be of another
        version of ingest: so a name that is new to a model takes them away as well, once.
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
            for table in PARTS_OF_MODELS:
                statement = f"DELETE FROM {table} WHERE model_id IN {{models:Array(String)}}"
                self._client.command(statement, parameters={"models": before})

    def open_dead_letters(self) -> dict[tuple[str, str], int]:
        """How many dead letters are open, by consumer group and topic."""
        found = self.query(OPEN_DEAD_LETTERS)
        return {(row["service"], row["topic"]): row["letters"] for row in found}

    def offsets(self, group: str) -> dict[Partition, int]:
        """What `set_offsets` has stored last of each partition for a consumer group."""
        found = self.query(OFFSETS, {"consumer_group": group})
        return {Partition(row["topic"], row["partition"]): row["next_offset"] for row in found}

    def set_offsets(self, group: str, offsets: Mapping[Partition, int]) -> None:
        """Stores that the events before these offsets have been inserted."""
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
        """The rows that a statement gives, each as a map of columns to values.

        Write a parameter as `{name:Type}` in the SQL. Times come back in UTC.
        """
        with errors_mended(self._address):
            result = self._client.query(sql, parameters=dict(parameters or {}))
            return list(result.named_results())

    def bounds(self, models: Sequence[str] = (), at: datetime | None = None) -> list[ModelBound]:
        """The newest version of each bound, or the one that was newest at a time.

        `models` are names or model ids; none means all.
        """
        parameters = {"models": list(models), "at": utc(at) if at else _END_OF_TIME}
        return msgspec.convert(self.query(BOUNDS, parameters), list[ModelBound])

    def history(self, model: str) -> list[BoundVersion]:
        """All versions of the bounds of a model, by name or id, each with what moved it.

        Sorted by bound, then by time. What a replay computed again to the same figures is left
        out.
        """
        return msgspec.convert(self.query(BOUND_VERSIONS, {"model": model}), list[BoundVersion])

    def failed_layers(self, system_id: str = "", reason: str = "") -> dict[str, list[str]]:
        """Fingerprints of layers that have no time on a system at some precision, with the sorted
        ids of the results that say so.

        Of one system, or of all; where the last failure has this text in it, in any case of
        letters.
        """
        found = self.query(FAILED_LAYERS, {"system": system_id, "reason": reason})
        return {row["fingerprint"]: row["results"] for row in found}

    def measuring_systems(self) -> list[str]:
        """Ids of all systems that have measured anything, sorted."""
        return [row["system_id"] for row in self.query(MEASURING_SYSTEMS)]

    def layers_with_jobs(self) -> list[str]:
        """Fingerprints of all layers of which a job is known, sorted."""
        return [row["fingerprint"] for row in self.query(LAYERS_WITH_JOBS)]

    def _insert(
        self, table: str, names: Sequence[str], columns: Sequence[Sequence[object]]
    ) -> None:
        """Inserts columns of equal length; the client would make columns of rows itself."""
        context = self._client.create_insert_context(
            table,
            names,
            # Else the client asks for them each time, which takes as long as the insert.
            column_types=self._column_types.get(table),
            # Servers of 2026 gather inserts by default: one more delay, no gain here.
            settings={"async_insert": 0},
            column_oriented=True,
            data=columns,
        )
        self._column_types[table] = context.column_types
        self._client.insert(context=context)
