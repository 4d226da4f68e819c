"""What Nsight Systems exports as SQLite: launches, kernels, copies, and ranges of NVTX.

Ranges are the operators: PyTorch marks each of its own within `torch.autograd.profiler.emit_nvtx()`
and names shapes there if asked (`record_shapes=True`), but no types and no numbers. Tables that a
report lacks are empty.
Source: https://docs.nvidia.com/nsight-systems/UserGuide/index.html.
"""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from benanza.tracing.formats.recorded import (
    ActivityKind,
    DeviceActivity,
    Event,
    HostOperator,
    Launch,
    TracedInputs,
    kind_of_kernel,
)
from benanza_backbone.errors import BenanzaError

MAGIC = b"SQLite format 3\0"

_NS = 1_000.0

_PUSHED = 59
"""The type of ranges that are nested within a thread."""

_PROCESS = "{0} & -16777216"
"""A process's id: that of a thread has the thread's number in its lowest 24 bits."""

_OF_DEVICE = {"globalPid": "0", "correlationId": "NULL", "deviceId": "0"}

_COPIES = {1: "Memcpy HtoD", 2: "Memcpy DtoH", 8: "Memcpy DtoD", 10: "Memcpy PtoP"}

_DETAILS = re.compile(r", (?:seq|op_id|sizes|input_op_ids) = .*", re.DOTALL)
"""What PyTorch writes after an operator's name."""

_SHAPES = re.compile(r", sizes = (\[.*?\])(?:, input_op_ids = |$)", re.DOTALL)

_VIEWS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "ranges": (
        "NVTX_EVENTS",
        {"globalTid": "0", "eventType": f"{_PUSHED}", "text": "NULL", "textId": "NULL"},
    ),
    "launches": (
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        {"globalTid": "0", "correlationId": "NULL", "nameId": "NULL"},
    ),
    "kernels": (
        "CUPTI_ACTIVITY_KIND_KERNEL",
        {**_OF_DEVICE, "demangledName": "NULL", "shortName": "NULL", "graphNodeId": "NULL"},
    ),
    "copies": (
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        {**_OF_DEVICE, "copyKind": "0", "graphNodeId": "NULL"},
    ),
    "fills": ("CUPTI_ACTIVITY_KIND_MEMSET", {**_OF_DEVICE, "graphNodeId": "NULL"}),
    "graphs": ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {**_OF_DEVICE, "graphId": "NULL"}),
}
"""What is read, by a name of its own: the table, and its columns besides the start and the end,
each with what stands for it in versions that lack it.
"""

_TIMES = ("start", "end")

_RANGES = f"""
SELECT globalTid, start, coalesce("end", (SELECT max("end") FROM launches), start),
    coalesce(text, (SELECT value FROM StringIds WHERE id = textId))
FROM ranges WHERE eventType = {_PUSHED} ORDER BY 1, 2, 3 DESC
"""
"""A range that hadn't ended when the report did is taken to end with the last call."""

_LAUNCHES = """
SELECT globalTid, {process} AS process, correlationId, start, "end",
    (SELECT value FROM StringIds WHERE id = nameId)
FROM launches ORDER BY globalTid, start
"""

_ACTIVITIES = """
SELECT {process}, correlationId, deviceId, start, "end", {what}, {in_graph} FROM {view}
"""

_IS_NODE = "graphNodeId IS NOT NULL AND graphNodeId != 0"

_NAME_OF_KERNEL = "(SELECT value FROM StringIds WHERE id = coalesce(demangledName, shortName))"


def nsight_devices(path: Path) -> tuple[str, ...]:
    """The names of the GPUs of a report. Raises `BenanzaError` if it is none."""
    with _opened(path) as database:
        if "TARGET_INFO_GPU" not in _tables(database):
            return ()
        names = database.execute("SELECT name FROM TARGET_INFO_GPU WHERE name IS NOT NULL")
        return tuple(str(name) for (name,) in names)


def nsight_events(path: Path, dtype: str = "") -> Iterator[Event]:
    """The events of a report, whose tensors are of this type where it is known. Raises
    `BenanzaError` if it is none, or can't be read.
    """
    with _opened(path) as database:
        told_apart = _make_views(path, database)
        yield from _operators(database, dtype)
        yield from _activities(database, told_apart)


def _make_views(path: Path, database: sqlite3.Connection) -> bool:
    """Makes views of what is read, whatever the version calls it. Returns whether processes can be
    told apart.
    """
    tables, lacking = _tables(database), []
    if not any(_newest(tables, base) for base, _ in _VIEWS.values()):
        raise BenanzaError(
            f"{path} has no table of Nsight Systems; say: nsys export --type sqlite REPORT"
        )
    for view, (base, columns) in _VIEWS.items():
        table = _newest(tables, base)
        there = _columns(database, table) if table else frozenset()
        for column in _TIMES:
            if table and column not in there:
                raise BenanzaError(
                    f"{path} is of a version of Nsight Systems that isn't known: {table} has no "
                    f"column {column}; export it with another version"
                )
        told = [
            f'"{name}"' if name in there else f'{no} AS "{name}"' for name, no in columns.items()
        ]
        times = [f'"{name}"' if table else f'0 AS "{name}"' for name in _TIMES]
        source = f'FROM "{table}"' if table else "WHERE FALSE"
        database.execute(f"CREATE TEMP VIEW {view} AS SELECT {', '.join([*times, *told])} {source}")
        lacking += [
            table for name in ("globalTid", "globalPid") if name in columns.keys() - there and table
        ]
    if "StringIds" not in tables:
        database.execute("CREATE TEMP VIEW StringIds AS SELECT 0 AS id, '' AS value WHERE FALSE")
    return not lacking


def _newest(tables: frozenset[str], base: str) -> str | None:
    """The table of this name, or of it and a version behind it."""
    versions = (re.fullmatch(rf"{base}(?:_V(\d+))?", name) for name in tables)
    found = [(int(match[1] or 0), match[0]) for match in versions if match]
    return max(found)[1] if found else None


def _operators(database: sqlite3.Connection, dtype: str) -> Iterator[Event]:
    for number, (thread, start, end, text) in enumerate(database.execute(_RANGES), start=1):
        name = _DETAILS.sub("", text or "range")
        inputs = _inputs(text or "", dtype)
        yield HostOperator(number, str(thread), start / _NS, (end - start) / _NS, name, inputs)


def _inputs(text: str, dtype: str) -> TracedInputs | None:
    """What a range says of an operator's inputs. One without a shape is no tensor."""
    found = _SHAPES.search(text)
    if found is None:
        return None
    try:
        shapes = tuple(tuple(map(int, shape)) for shape in json.loads(found[1]))
    except (OverflowError, RecursionError, TypeError, ValueError):
        return None
    dtypes = tuple(dtype if shape else "" for shape in shapes)
    return TracedInputs(shapes, dtypes, shapes_alone=True)


def _activities(database: sqlite3.Connection, told_apart: bool) -> Iterator[Event]:
    """Launches, each with the range in which it began, and what they started."""
    of_thread, of_activity = (
        _PROCESS.format(column) if told_apart else "0" for column in ("globalTid", "globalPid")
    )
    database.execute("CREATE TEMP TABLE started (process, correlation, operator)")
    ranges = _Ranges(database)
    launches = database.execute(_LAUNCHES.format(process=of_thread))
    for thread, process, correlation, start, end, name in launches:
        operator = ranges.around(thread, start)
        if operator is not None:
            row = (process, correlation, operator)
            database.execute("INSERT INTO started VALUES (?, ?, ?)", row)
        duration_us = (end - start) / _NS
        yield Launch(f"{process} {correlation}", start / _NS, duration_us, _api(name))
    database.execute("CREATE INDEX temp.started_by ON started (process, correlation)")
    for kind, view, what, in_graph in _ON_GPU:
        query = _ACTIVITIES.format(process=of_activity, what=what, in_graph=in_graph, view=view)
        for process, correlation, device, start, end, said, is_node in database.execute(query):
            operator = database.execute(
                "SELECT operator FROM started WHERE process = ? AND correlation = ?",
                (process, correlation),
            ).fetchone()
            name = _name(kind, said)
            yield DeviceActivity(
                kind_of_kernel(name) if kind == "kernel" else kind,
                name,
                str(device),
                start / _NS,
                (end - start) / _NS,
                f"{process} {correlation}",
                operator and operator[0],
                bool(is_node),
            )


class _Ranges:
    """The innermost range of a thread at moments that ascend within each thread."""

    def __init__(self, database: sqlite3.Connection) -> None:
        rows = enumerate(database.execute(_RANGES), start=1)
        self._rows = ((thread, start, end, number) for number, (thread, start, end, _) in rows)
        self._next = next(self._rows, None)
        self._thread: int | None = None
        self._open: list[tuple[int, int]] = []

    def around(self, thread: int, moment: int) -> int | None:
        """The number of the range, `None` outside of all."""
        if thread != self._thread:
            self._thread, self._open = thread, []
        while self._next is not None and self._next[:2] <= (thread, moment):
            of_thread, start, end, number = self._next
            if of_thread == thread:
                self._open = [*_unended(self._open, start), (end, number)]
            self._next = next(self._rows, None)
        self._open = _unended(self._open, moment)
        return self._open[-1][1] if self._open else None


def _unended(ranges: list[tuple[int, int]], moment: int) -> list[tuple[int, int]]:
    return [(end, number) for end, number in ranges if end >= moment]


_ON_GPU: tuple[tuple[ActivityKind, str, str, str], ...] = (
    ("kernel", "kernels", _NAME_OF_KERNEL, _IS_NODE),
    ("copy", "copies", "copyKind", _IS_NODE),
    ("fill", "fills", "NULL", _IS_NODE),
    ("graph", "graphs", "graphId", "TRUE"),
)
"""What a GPU did: its kind, the view that has it, what of it names it, and whether it was in a CUDA
graph.
"""


def _name(kind: ActivityKind, said: int | str | None) -> str:
    if kind == "copy":
        return _COPIES.get(int(said or 0), "Memcpy")
    if kind == "graph":
        return "CUDA graph" if said is None else f"CUDA graph {said}"
    return "Memset" if kind == "fill" else str(said or "kernel")


def _api(name: str | None) -> str:
    """The name of a call without the version that CUPTI puts behind it."""
    return re.sub(r"_v\d+$", "", name or "call")


def _tables(database: sqlite3.Connection) -> frozenset[str]:
    rows = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    return frozenset(name for (name,) in rows)


def _columns(database: sqlite3.Connection, table: str) -> frozenset[str]:
    return frozenset(name for _, name, *_ in database.execute(f'PRAGMA table_info("{table}")'))


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The report, which is never written to."""
    try:
        address = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as database:
            database.execute("PRAGMA schema_version")  # Raises for what is none.
            (page,) = database.execute("PRAGMA page_size").fetchone()
            if path.stat().st_size % page:  # SQLite would take what lacks for zeros.
                raise BenanzaError(f"{path} is cut off; copy or export it again")
            # A program names its ranges by any bytes.
            database.text_factory = partial(str, encoding="utf-8", errors="replace")
            yield database
    except sqlite3.Error as error:
        raise BenanzaError(
            f"{path} is no report of Nsight Systems that can be read ({error}); "
            "say: nsys export --type sqlite REPORT"
        ) from error
