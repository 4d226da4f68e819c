"""What Nsight Systems exports as SQLite: launches, kernels, copies, and ranges of NVTX.

Ranges are the operators: PyTorch marks each of its own within `torch.autograd.profiler.emit_nvtx()`
and names shapes there if asked (`record_shapes=True`), but no types and no numbers. Tables that a
report lacks are empty.
Source: https://docs.nvidia.com/nsight-systems/UserGuide/index.html.
"""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
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

_COPIES = {1: "Memcpy HtoD", 2: "Memcpy DtoH", 8: "Memcpy DtoD", 10: "Memcpy PtoP"}

_DETAILS = re.compile(r", (?:seq|op_id|sizes|input_op_ids) = .*", re.DOTALL)
"""What PyTorch writes after an operator's name."""

_SHAPES = re.compile(r", sizes = (\[.*?\])(?:, input_op_ids = |$)", re.DOTALL)

_RANGES = f"""
SELECT globalTid, start, "end", coalesce(text, (SELECT value FROM StringIds WHERE id = textId))
FROM NVTX_EVENTS WHERE eventType = {_PUSHED} AND "end" IS NOT NULL
ORDER BY globalTid, start, "end" DESC
"""

_LAUNCHES = f"""
SELECT globalTid, {_PROCESS.format("globalTid")} AS process, correlationId, start, "end",
    (SELECT value FROM StringIds WHERE id = nameId)
FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY globalTid, start
"""

_KERNELS = f"""
SELECT {_PROCESS.format("globalPid")}, correlationId, deviceId, start, "end",
    (SELECT value FROM StringIds WHERE id = demangledName)
FROM CUPTI_ACTIVITY_KIND_KERNEL
"""

_MEMORY = """
SELECT {process}, correlationId, deviceId, start, "end", {what} FROM CUPTI_ACTIVITY_KIND_{table}
"""


def nsight_devices(path: Path) -> tuple[str, ...]:
    """The names of the GPUs of a report."""
    with _opened(path) as database:
        if "TARGET_INFO_GPU" not in _tables(database):
            return ()
        return tuple(name for (name,) in database.execute("SELECT name FROM TARGET_INFO_GPU"))


def nsight_events(path: Path, dtype: str = "") -> Iterator[Event]:
    """The events of a report, whose tensors are of this type where it is known. Raises
    `BenanzaError` if it is none, or can't be read.
    """
    with _opened(path) as database:
        tables = _tables(database)
        yield from _operators(database, tables, dtype)
        yield from _activities(database, tables)


def _operators(database: sqlite3.Connection, tables: frozenset[str], dtype: str) -> Iterator[Event]:
    if "NVTX_EVENTS" in tables:
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


def _activities(database: sqlite3.Connection, tables: frozenset[str]) -> Iterator[Event]:
    """Launches, each with the range in which it began, and what they started."""
    database.execute("CREATE TEMP TABLE started (process, correlation, operator)")
    if "CUPTI_ACTIVITY_KIND_RUNTIME" in tables:
        ranges = _Ranges(database if "NVTX_EVENTS" in tables else None)
        for thread, process, correlation, start, end, name in database.execute(_LAUNCHES):
            operator = ranges.around(thread, start)
            if operator is not None:
                row = (process, correlation, operator)
                database.execute("INSERT INTO started VALUES (?, ?, ?)", row)
            duration_us = (end - start) / _NS
            yield Launch(f"{process} {correlation}", start / _NS, duration_us, _api(name))
    database.execute("CREATE INDEX temp.started_by ON started (process, correlation)")
    for kind, query in _on_gpu(tables):
        for process, correlation, device, start, end, what in database.execute(query):
            operator = database.execute(
                "SELECT operator FROM started WHERE process = ? AND correlation = ?",
                (process, correlation),
            ).fetchone()
            name = _name(kind, what)
            yield DeviceActivity(
                kind_of_kernel(name) if kind == "kernel" else kind,
                name,
                str(device),
                start / _NS,
                (end - start) / _NS,
                f"{process} {correlation}",
                operator and operator[0],
            )


class _Ranges:
    """The innermost range of a thread at moments that ascend within each thread."""

    def __init__(self, database: sqlite3.Connection | None) -> None:
        rows = enumerate(database.execute(_RANGES), start=1) if database else iter(())
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


def _on_gpu(tables: frozenset[str]) -> Iterator[tuple[ActivityKind, str]]:
    if "CUPTI_ACTIVITY_KIND_KERNEL" in tables:
        yield "kernel", _KERNELS
    process = _PROCESS.format("globalPid")
    if "CUPTI_ACTIVITY_KIND_MEMCPY" in tables:
        yield "copy", _MEMORY.format(process=process, what="copyKind", table="MEMCPY")
    if "CUPTI_ACTIVITY_KIND_MEMSET" in tables:
        yield "fill", _MEMORY.format(process=process, what="0", table="MEMSET")
    if "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" in tables:
        yield "graph", _MEMORY.format(process=process, what="0", table="GRAPH_TRACE")


def _name(kind: ActivityKind, what: int | str) -> str:
    if kind == "copy":
        return _COPIES.get(int(what), "Memcpy")
    return {"fill": "Memset", "graph": "CUDA graph"}.get(kind, str(what))


def _api(name: str | None) -> str:
    """The name of a call without the version that CUPTI puts behind it."""
    return re.sub(r"_v\d+$", "", name or "call")


def _tables(database: sqlite3.Connection) -> frozenset[str]:
    rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return frozenset(name for (name,) in rows)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The report, which is never written to."""
    try:
        address = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as database:
            yield database
    except sqlite3.Error as error:
        raise BenanzaError(
            f"{path} is no report of Nsight Systems that can be read ({error}); "
            "say: nsys export --type sqlite REPORT"
        ) from error
