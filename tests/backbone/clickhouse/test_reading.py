"""Statements of a user: what they return, and that the engine refuses those that write."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Partition
from tests.backbone.conftest import copy_empty_store

pytestmark = pytest.mark.integration

REFUSED = (
    ("INSERT INTO sink_offsets VALUES ('a', 'b', 0, 1)", "is refused; give one that reads"),
    ("DROP TABLE models", "is refused; give one that reads"),
    ("SELECT 1; DROP TABLE models", "several statements"),
    ("SELECT 1 SETTINGS readonly = 0", "is refused"),
    ("SET readonly = 0", "is refused; give one that reads"),
    ("SYSTEM FLUSH LOGS", "is refused; give one that reads"),
    ("KILL QUERY WHERE 1", "is refused; give one that reads"),
    ("SELECT 1 PARALLEL WITH DROP TABLE models", "is refused; give one that reads"),
    ("SHOW TABLES FORMAT CSV", "without FORMAT"),
    ("SELECT 1 FORMAT CSV", "without FORMAT"),
    (" ;", "the statement is empty"),
    ("SELECT modle FROM current_bounds", "did you mean 'model'?"),
    ("SELECT nothing_like_it FROM current_bounds", "; DESCRIBE TABLE lists columns"),
    ("SELECT * FROM curent_bounds", "did you mean benanza.current_bounds?"),
    ("SELECT * FROM nothing_like_it", "the views are beaten_bounds, best_measurements, "),
    ("SELECT CAST(1 AS Lorry)", "Unknown data type family: Lorry"),
    ("SELEC 1", "can't be read at '1' (position 7)"),
    ("SELECT 1\n AS", "(line 2, col 4)"),
)

WRITING = (
    "SELECT 1 INTO OUTFILE '{}'",
    "SELECT 1 INTO/**/outfile '{}' TRUNCATE FORMAT CSV",
    "SELECT 1 INTO OUTFILE '{}' APPEND",
    "SHOW TABLES INTO OUTFILE '{}' APPEND",
    "EXPLAIN SELECT 1 INTO OUTFILE '{}' APPEND",
    "INSERT INTO FUNCTION file('{}', 'CSV', 'n Int8') SELECT 1",
    "INSERT INTO FUNCTION file('{}', 'CSV', 'n Int8') VALUES (1)",
    "INSERT INTO FUNCTION file('{}', 'CSV', 'n Int8') FORMAT CSV 1",
    "WITH 1 AS n INSERT INTO FUNCTION file('{}', 'CSV', 'n Int8') SELECT n",
    "SELECT 1 PARALLEL WITH INSERT INTO FUNCTION file('{}', 'CSV', 'n Int8') SELECT 1",
    "EXPLAIN PIPELINE INSERT INTO FUNCTION file('{}', 'CSV', 'n Int8') SELECT 1",
    "SELECT 1; INSERT INTO FUNCTION file('{}', 'CSV', 'n Int8') SELECT 1",
)


@pytest.fixture(scope="module", params=["embedded", "server"])
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """A store in this process, and one on a server."""
    folder = tmp_path_factory.mktemp("store") / "store"
    dsn = copy_empty_store(folder)
    if request.param == "embedded":
        with Store.open(dsn) as store:
            yield store
        return
    command = ["-m", "tests.backbone.clickhouse.clickhouse_server", str(folder), "alice", "secret"]
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        port = int(process.stdout.readline())
        try:
            with Store.open(f"clickhouse://alice:secret@127.0.0.1:{port}?compress=false") as store:
                yield store
        finally:
            process.kill()


@pytest.mark.parametrize(("sql", "said"), REFUSED)
def test_a_statement_that_is_wrong_or_writes_has_one_line(
    asked: Store, sql: str, said: str
) -> None:
    with pytest.raises(BenanzaError) as refused, asked.answer(sql, "CSVWithNames"):
        pass
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "DB::Exception" not in str(refused.value)
    assert asked.query("EXISTS TABLE models")[0]["result"] == 1
    assert asked.offsets("a") == {}


@pytest.mark.parametrize("sql", WRITING)
def test_no_statement_writes_a_file(asked: Store, sql: str, tmp_path: Path) -> None:
    file = tmp_path / "file.csv"
    for place in file, tmp_path / "new.csv":
        file.write_text("as it was")
        with (
            pytest.raises(BenanzaError) as refused,
            asked.answer(sql.format(place), "CSVWithNames"),
        ):
            pass
        assert "\n" not in str(refused.value)
        assert [f.read_text() for f in tmp_path.iterdir()] == ["as it was"]


@pytest.mark.parametrize(
    ("sql", "begins"),
    [
        ("SHOW GRANTS", b'"GRANTS'),
        ("DESC TABLE models", b'"name","type"'),
        ("EXPLAIN AST SELECT 1", b'"explain"\n"SelectWithUnionQuery'),
        ("EXPLAIN SELECT count() FROM models", b'"explain"\n'),
        ("EXISTS TABLE models", b'"result"\n1'),
        ("CHECK TABLE models", b'"part_path",'),
        ("(SELECT 1 AS n) UNION ALL SELECT 1", b'"n"\n1\n1\n'),
        ("FROM numbers(1) SELECT number AS n", b'"n"\n0\n'),
        ("WITH 1 AS n SELECT n -- INTO OUTFILE 'x'", b'"n"\n1\n'),
        ("SELECT '\\' INTO OUTFILE \\'x' AS `INSERT INTO x`", b'"INSERT INTO x"\n'),
    ],
)
def test_statements_that_read(asked: Store, sql: str, begins: bytes) -> None:
    with asked.answer(sql, "CSVWithNames") as answer:
        assert answer.read().startswith(begins)


def test_what_reads_is_answered_and_the_store_still_takes_events(asked: Store) -> None:
    with asked.answer("SELECT number AS n FROM numbers(3) -- few\n;", "CSVWithNames") as answer:
        assert answer.read() == b'"n"\n0\n1\n2\n'
    with asked.answer("SELECT 1 AS n SETTINGS max_threads = 1", "Parquet") as answer:
        assert answer.read(4) == b"PAR1"
    asked.set_offsets("b", {Partition("t", 0): 1})
    assert asked.offsets("b") == {Partition("t", 0): 1}


def test_no_more_rows_are_written_than_are_asked_for(asked: Store) -> None:
    with asked.answer("SELECT number AS n FROM numbers(9)", "CSVWithNames", 2) as answer:
        assert answer.read().startswith(b'"n"\n0\n1\n' + b"2\n" * (asked.seal is None))
    within = "SELECT count() AS n FROM (SELECT number FROM numbers(9))"
    with asked.answer(within, "CSVWithNames", 2) as answer:
        assert answer.read() == b'"n"\n9\n'
