"""The events of a trace on disk, so that a trace of any size is sorted and joined in little memory.

They are in a SQLite file of their own, which is gone when the spool is closed.
"""

import itertools
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from benanza.tracing.formats.recorded import (
    GRAPH_LAUNCHES,
    ActivityKind,
    Event,
    HostOperator,
    Launch,
    TracedInputs,
)
from benanza.tracing.results import TracedTotal

_TABLES = """
CREATE TABLE operators
    (identity INTEGER, thread TEXT, start_us REAL, us REAL, name INTEGER, inputs INTEGER);
CREATE TABLE launches (correlation TEXT, start_us REAL, us REAL, name INTEGER);
CREATE TABLE activities
(
    kind TEXT, name INTEGER, device TEXT, start_us REAL, us REAL, correlation TEXT,
    operator INTEGER, in_graph INTEGER
);
CREATE TABLE owners (operator INTEGER PRIMARY KEY, owner INTEGER);
"""

_INDEX = "CREATE INDEX launched ON launches (correlation, start_us)"

_AT_ONCE = 5_000

_CACHE_KIB = 65_536

Item = TypeVar("Item")


class Nested(NamedTuple):
    """An operator in the order of its thread. `name` and `inputs` are numbers of texts."""

    identity: int
    thread: str
    start_us: float
    us: float
    name: int
    inputs: int | None


class Timed(NamedTuple):
    """An activity of a device, when its launch began and ended on the host, if that is known."""

    kind: ActivityKind
    name: str
    device: str
    start_us: float
    us: float
    launched_us: float | None
    launch_ended_us: float | None


class Spool:
    """Takes events in any order, and gives them back sorted and joined."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._numbers: dict[str | TracedInputs | None, int] = {}
        self._texts: list[str | TracedInputs | None] = []

    def add(self, events: Iterable[Event]) -> None:
        """Takes in what a reader found. Only names and inputs that differ stay in memory."""
        for some in _batches(events):
            operators, launches, activities = [], [], []
            for event in some:
                number = self._number(event.name)
                if isinstance(event, HostOperator):
                    inputs = None if event.inputs is None else self._number(event.inputs)
                    operators.append((*event[:4], number, inputs))
                elif isinstance(event, Launch):
                    launches.append((*event[:3], number))
                else:
                    in_graph = event.in_graph or event.kind == "graph"
                    activities.append((event.kind, number, *event[2:-1], in_graph))
            for table, rows in (
                ("operators", operators),
                ("launches", launches),
                ("activities", activities),
            ):
                if rows:
                    places = ", ".join("?" * len(rows[0]))
                    self._connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)

    def index(self) -> None:
        """To be called once, after all events and before anything is asked."""
        self._connection.execute(_INDEX)
        graphs = ", ".join(map(str, self._graph_launches()))
        # Whoever launched a graph didn't compute with its kernels.
        self._connection.execute(
            "UPDATE activities SET operator = NULL, in_graph = TRUE WHERE in_graph OR correlation "
            f"IN (SELECT correlation FROM launches WHERE name IN ({graphs}))"
        )

    def nested(self) -> Iterator[Nested]:
        """The operators of each thread, each before those within it."""
        order = "ORDER BY thread, start_us, us DESC, rowid"
        yield from map(Nested._make, self._connection.execute(f"SELECT * FROM operators {order}"))

    def name(self, number: int) -> str:
        """The name with this number."""
        return str(self._texts[number])

    def inputs(self, number: int | None) -> TracedInputs | None:
        """The inputs with this number."""
        found = None if number is None else self._texts[number]
        return found if isinstance(found, TracedInputs) else None

    def own(self, owners: Iterable[tuple[int, int]]) -> None:
        """Says for operators, by identity, under which number they count."""
        for some in _batches(owners):
            self._connection.executemany("INSERT OR REPLACE INTO owners VALUES (?, ?)", some)

    def of_owners(self) -> Iterator[tuple[int, TracedTotal]]:
        """What GPUs did for each number, kernel by kernel."""
        rows = self._connection.execute(
            "SELECT owner, kind, name, count(*), sum(us) FROM activities "
            "JOIN owners ON activities.operator = owners.operator "
            "GROUP BY owner, kind, name ORDER BY owner, sum(us) DESC"
        )
        for owner, kind, name, count, us in rows:
            yield owner, TracedTotal(kind=kind, name=self.name(name), count=count, us=us)

    def of_nobody(self) -> list[TracedTotal]:
        """What GPUs did for no operator that is known."""
        return self._totals(
            "SELECT kind, name, count(*), sum(us) FROM activities "
            "WHERE operator IS NULL OR operator NOT IN (SELECT operator FROM owners) "
            "GROUP BY kind, name ORDER BY sum(us) DESC"
        )

    def activities(self) -> list[TracedTotal]:
        """What GPUs did, by kind and name."""
        return self._totals(
            "SELECT kind, name, count(*), sum(us) FROM activities "
            "GROUP BY kind, name ORDER BY sum(us) DESC"
        )

    def launches(self) -> list[TracedTotal]:
        """The host's calls of a GPU's runtime and driver, by name."""
        return self._totals(
            "SELECT 'call', name, count(*), sum(us) FROM launches "
            "GROUP BY name ORDER BY sum(us) DESC"
        )

    def in_graphs_us(self) -> float:
        """What GPUs did in CUDA graphs."""
        (us,) = self._connection.execute("SELECT sum(us) FROM activities WHERE in_graph").fetchone()
        return float(us or 0.0)

    def timed(self) -> Iterator[Timed]:
        """The activities of each device in the order of their starts."""
        rows = self._connection.execute(
            "SELECT kind, name, device, start_us, us, "
            "(SELECT min(start_us) FROM launches WHERE correlation = activities.correlation), "
            "(SELECT max(start_us + us) FROM launches WHERE correlation = activities.correlation) "
            "FROM activities ORDER BY device, start_us, us DESC"
        )
        for kind, name, *rest in rows:
            yield Timed(kind, self.name(name), *rest)

    def span_us(self) -> float:
        """From the first event to the end of the last one."""
        first, last = self._connection.execute(
            "SELECT min(start_us), max(start_us + us) FROM "
            "(SELECT start_us, us FROM operators UNION ALL SELECT start_us, us FROM launches "
            "UNION ALL SELECT start_us, us FROM activities)"
        ).fetchone()
        return 0.0 if first is None else float(last - first)

    def _graph_launches(self) -> list[int]:
        return [
            number
            for name, number in self._numbers.items()
            if isinstance(name, str) and name.startswith(GRAPH_LAUNCHES)
        ]

    def _number(self, text: str | TracedInputs) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self._texts)
            self._texts.append(text)
        return number

    def _totals(self, query: str) -> list[TracedTotal]:
        return [
            TracedTotal(kind=kind, name=self.name(name), count=count, us=us)
            for kind, name, count, us in self._connection.execute(query)
        ]


@contextmanager
def spooled(events: Iterable[Event]) -> Iterator[Spool]:
    """The events of a reader, until the block ends. Raises as the reader does."""
    with (
        tempfile.TemporaryDirectory(prefix="benanza-trace-") as folder,
        closing(sqlite3.connect(Path(folder) / "events.sqlite", isolation_level=None)) as database,
    ):
        # It is of no use after a crash.
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        database.executescript(_TABLES)
        spool = Spool(database)
        database.execute("BEGIN")
        spool.add(events)
        spool.index()
        yield spool


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, _AT_ONCE)):
        yield batch
