"""The store: writes events as rows of ClickHouse tables, and returns rows as typed objects.

`benanza_schemas/clickhouse/*.sql` defines the tables; docs/clickhouse.md has example queries.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, Self

import msgspec

from benanza_backbone.clickhouse.bound_queries import (
    ANY_RUNS,
    ANY_SLOWED_CALLS,
    BEATEN_BY,
    BOUNDS,
    BOUNDS_STORED,
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
    LAYERS_WITH_JOBS,
    MEASURING_SYSTEMS,
    OFFSETS,
    OPEN_DEAD_LETTERS,
)
from benanza_backbone.clickhouse.reading import answer
from benanza_backbone.clickhouse.rows import utc
from benanza_backbone.clickhouse.writing import EventWriter
from benanza_backbone.closing import Closing
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Partition
from benanza_schemas.events import AnyEvent
from benanza_schemas.layer import Accounting

if TYPE_CHECKING:
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
        self._writer = EventWriter(address, client)
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
        self._writer.insert(events)

    def open_dead_letters(self) -> dict[tuple[str, str], int]:
        """The number of open dead letters, by consumer group and topic."""
        counts = self.query(OPEN_DEAD_LETTERS)
        return {(row["service"], row["topic"]): row["letters"] for row in counts}

    def bounds_stored(self, architectures: Collection[str]) -> dict[str, datetime]:
        """When each version of the bounds of these architectures was stored first, by the id of its
        event. What was stored by a version of Benanza without this has none.
        """
        found = self.query(BOUNDS_STORED, {"architectures": sorted(architectures)})
        return {row["event_id"]: row["at"] for row in found}

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
            self._writer.insert_columns(
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
