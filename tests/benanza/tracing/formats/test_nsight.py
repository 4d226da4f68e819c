"""Reports of Nsight Systems, in tables as it exports them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from benanza.tracing.recording import recording
from benanza.tracing.trace_model import trace_model
from benanza_backbone.errors import BenanzaError
from benanza_ingest.limits import Limits

PROCESS = 7 << 24
THREAD = PROCESS | 3

TABLES = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT);
CREATE TABLE NVTX_EVENTS
    (start INT, end INT, eventType INT, text TEXT, textId INT, globalTid INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME
    (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
(
    start INT, end INT, deviceId INT, streamId INT, correlationId INT, globalPid INT,
    demangledName INT, shortName INT
);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY
    (start INT, end INT, deviceId INT, correlationId INT, globalPid INT, copyKind INT);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'gemm'), (3, 'aten::view'),
    (4, 'ncclDevKernel_AllReduce_Sum_f16'), (5, 'cudaMemcpyAsync_v3020');
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200');
"""


def us(number: float) -> int:
    return round(number * 1_000)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.sqlite"
    ranges = (
        (0, 100, 59, "aten::linear, seq = 4, sizes = [[2, 8], [4, 8]]", None, THREAD),
        (10, 90, 59, "aten::addmm, op_id = 9", None, THREAD),
        (120, 130, 59, None, 3, THREAD),
        (0, 200, 59, "of another thread", None, THREAD + 1),
        (0, 300, 60, "from start to end", None, THREAD),
    )
    launches = ((20, 25, THREAD, 1, 1), (150, 155, THREAD, 2, 1), (160, 165, THREAD + 1, 3, 5))
    kernels = ((40, 70, 0, 7, 1, PROCESS, 2, 2), (170, 200, 0, 7, 2, PROCESS, 4, 4))
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(TABLES)
        for table, rows in (
            ("NVTX_EVENTS", ranges),
            ("CUPTI_ACTIVITY_KIND_RUNTIME", launches),
            ("CUPTI_ACTIVITY_KIND_KERNEL", kernels),
            ("CUPTI_ACTIVITY_KIND_MEMCPY", ((210, 220, 0, 3, PROCESS, 2),)),
        ):
            for start, end, *rest in rows:
                row = (us(start), us(end), *rest)
                places = ", ".join("?" * len(row))
                database.execute(f"INSERT INTO {table} VALUES ({places})", row)
    return path


def test_kernels_belong_to_the_ranges_in_which_they_were_launched(report: Path) -> None:
    found = recording(report)
    assert (found.format, found.device) == ("Nsight Systems", "NVIDIA H200")
    times = {operator.name: operator.gpu_us for operator in found.operators}
    assert times == {"aten::linear": 30.0, "of another thread": 10.0}
    assert [(each.kind, each.us) for each in found.unattributed] == [("collective", 30.0)]
    assert {each.name: each.count for each in found.host_calls} == {
        "cudaLaunchKernel": 2,
        "cudaMemcpyAsync": 1,
    }
    assert found.times.busy_us == 70.0
    assert found.times.host_us == 80.0


def test_shapes_make_layers_where_the_type_is_said(report: Path) -> None:
    linear = recording(report, "fp16").operators[0]
    assert linear.inputs is not None
    assert (linear.inputs.shapes, linear.inputs.dtypes) == (((2, 8), (4, 8)), ("float16",) * 2)
    numbers = msgspec.structs.replace(linear.inputs, shapes=((2, 8), (), ()))
    untyped = recording(report).operators[0].inputs
    named = [(linear.name, linear.inputs), ("aten::softmax", numbers), (linear.name, untyped)]
    product, softmax, unknown = trace_model(named, Limits()).parts
    assert ([layer.op for layer in product.layers], product.precision) == (["MatMul"], "fp16")
    assert softmax.reason.endswith("lacks the numbers and types that aten::softmax needs")
    assert unknown.reason.endswith("say which: --precision")


@pytest.mark.parametrize("sizes", ["[" * 20_000 + "]" * 20_000, "[[1e400]]", "[[[2], 8]]", "[2]"])
def test_sizes_that_are_none_are_left_out(report: Path, sizes: str) -> None:
    with closing(sqlite3.connect(report)) as database, database:
        text = f"aten::linear, seq = 4, sizes = {sizes}"
        database.execute("UPDATE NVTX_EVENTS SET text = ? WHERE text LIKE 'aten::linear%'", (text,))
    linear = recording(report, "fp16").operators[0]
    assert (linear.name, linear.inputs) == ("aten::linear", None)


def test_a_graph_that_was_traced_as_one(report: Path) -> None:
    with closing(sqlite3.connect(report)) as database, database:
        database.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT, "
            "correlationId INT, globalPid INT, graphId INT)"
        )
        row = (us(300), us(390), 0, 4, PROCESS, 1)
        database.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (?, ?, ?, ?, ?, ?)", row
        )
    found = recording(report)
    assert found.in_graphs_us == 90.0
    assert ("graph", "CUDA graph 1") in {(each.kind, each.name) for each in found.unattributed}


def test_a_report_may_lack_tables(report: Path) -> None:
    with closing(sqlite3.connect(report)) as database, database:
        for table in ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_MEMCPY", "TARGET_INFO_GPU"):
            database.execute(f"DROP TABLE {table}")
    found = recording(report)
    assert not found.operators
    assert [each.name for each in found.unattributed] == ["ncclDevKernel_AllReduce_Sum_f16", "gemm"]


def test_kernels_of_a_graph_that_was_traced_by_its_nodes(report: Path) -> None:
    """Also where calls of the runtime weren't traced."""
    with closing(sqlite3.connect(report)) as database, database:
        database.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN graphNodeId INT")
        database.execute(
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET graphNodeId = 9 WHERE shortName = 2"
        )
        database.execute("DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME")
    assert recording(report).in_graphs_us == 30.0


def test_a_version_may_name_tables_otherwise_and_lack_columns(report: Path) -> None:
    """As some exports do: tables with a version behind their names, and no processes."""
    with closing(sqlite3.connect(report)) as database, database:
        database.execute("ALTER TABLE NVTX_EVENTS RENAME TO NVTX_EVENTS_V2")
        database.execute("ALTER TABLE NVTX_EVENTS_V2 DROP COLUMN textId")
        for column in ("globalPid", "demangledName"):
            database.execute(f"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN {column}")
    found = recording(report)
    assert {each.name: each.gpu_us for each in found.operators} == {
        "aten::linear": 30.0,
        "of another thread": 10.0,
    }
    assert [kernel.name for kernel in found.operators[0].kernels] == ["gemm"]


def test_processes_on_their_own_gpus_are_told_apart(report: Path) -> None:
    """Each has correlations of its own."""
    other = 9 << 24
    with closing(sqlite3.connect(report)) as database, database:
        database.execute(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, 'of another process', NULL, ?)",
            (us(0), us(90), other | 3),
        )
        database.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, 1, 1)",
            (us(20), us(25), other | 3),
        )
        database.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 1, 7, 1, ?, 2, 2)",
            (us(40), us(60), other),
        )
    found = recording(report)
    assert {each.name: each.gpu_us for each in found.operators}["of another process"] == 20.0
    assert found.times.devices == 2


def test_a_range_that_had_not_ended_lasts_as_long_as_the_calls(report: Path) -> None:
    with closing(sqlite3.connect(report)) as database, database:
        database.execute("UPDATE NVTX_EVENTS SET end = NULL WHERE text LIKE 'aten::linear%'")
    assert recording(report).operators[0].gpu_us == 60.0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("ALTER TABLE NVTX_EVENTS RENAME COLUMN start TO begin", "NVTX_EVENTS has no column start"),
        ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'x'", "a row that isn't as Nsight Systems"),
    ],
)
def test_tables_of_an_unknown_kind_are_named(report: Path, change: str, reason: str) -> None:
    with closing(sqlite3.connect(report)) as database, database:
        database.execute(change)
    with pytest.raises(BenanzaError, match=reason):
        recording(report)


@pytest.mark.parametrize(
    ("change", "kernels"),
    [
        (
            "UPDATE StringIds SET value = CAST(x'67ff' AS TEXT) WHERE id = 2",
            ["g\N{REPLACEMENT CHARACTER}"],
        ),
        ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 9e999 WHERE shortName = 2", []),
        ("UPDATE TARGET_INFO_GPU SET name = NULL", ["gemm"]),
        (
            "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO k;"
            "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM k",
            ["gemm"],
        ),
    ],
)
def test_what_is_odd_costs_nothing_else(report: Path, change: str, kernels: list[str]) -> None:
    with closing(sqlite3.connect(report)) as database, database:
        database.executescript(change)
    found = recording(report)
    assert [each.name for each in found.operators[0].kernels if each.kind == "kernel"] == kernels
    assert found.left_out == ({"not as a profiler writes them": 1} if not kernels else {})
    assert found.device in ("NVIDIA H200", "")


def test_a_report_that_is_cut_off_is_refused(report: Path) -> None:
    report.write_bytes(report.read_bytes()[:-10])
    with pytest.raises(BenanzaError, match="is cut off; copy or export it again"):
        recording(report)


def test_what_is_no_export_says_how_to_make_one(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "nvprof.sqlite")) as database, database:
        database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (start INT, end INT)")
    (tmp_path / "report.nsys-rep").write_bytes(b"QDSTRM")
    for name in ("nvprof.sqlite", "report.nsys-rep"):
        with pytest.raises(BenanzaError, match="nsys export --type sqlite"):
            recording(tmp_path / name)
